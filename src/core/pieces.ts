/** The bytes of every vocabulary entry in one buffer. Knows nothing of how a tokenizer splits text. */

/** Entry n is bytes[offsets[n] .. offsets[n + 1]). */
export interface Pieces {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

export function makePieces(entries: readonly Uint8Array[]): Pieces {
  const offsets = new Uint32Array(entries.length + 1);
  entries.forEach((entry, i) => (offsets[i + 1] = offsets[i]! + entry.length));
  const bytes = new Uint8Array(offsets[entries.length]!);
  entries.forEach((entry, i) => bytes.set(entry, offsets[i]));
  return { offsets, bytes };
}

/** Bytes of one token; empty for an id outside the vocabulary. */
export const pieceOf = (pieces: Pieces, id: number): Uint8Array =>
  id < 0 || id >= pieces.offsets.length - 1
    ? new Uint8Array()
    : pieces.bytes.subarray(pieces.offsets[id], pieces.offsets[id + 1]);

/** Text of a sequence; incomplete UTF-8 becomes U+FFFD. */
export const textOf = (pieces: Pieces, ids: ArrayLike<number>): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOf(pieces, ids));

/** All bytes of a sequence. Copied one by one: a view of each piece would cost more than its few bytes. */
function bytesOf(pieces: Pieces, ids: ArrayLike<number>): Uint8Array {
  const { offsets } = pieces;
  const known = offsets.length - 1;
  let size = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (id >= 0 && id < known) size += offsets[id + 1]! - offsets[id]!;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (id < 0 || id >= known) continue;
    for (let from = offsets[id]!; from < offsets[id + 1]!; from++) bytes[at++] = pieces.bytes[from]!;
  }
  return bytes;
}

/** [token + 1] offsets (UTF-16) into textOf where each token's text begins; a token that only continues a character is empty. */
export function textOffsets(pieces: Pieces, ids: ArrayLike<number>): Uint32Array {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const offsets = new Uint32Array(ids.length + 1);
  let length = 0;
  // A decoder is slow and mostly not needed: ASCII between whole characters is as long as its bytes.
  let isBetween = true;
  for (let i = 0; i < ids.length; i++) {
    const piece = pieceOf(pieces, ids[i]!);
    if (isBetween && piece.every(isAscii)) length += piece.length;
    else {
      length += decoder.decode(piece, { stream: true }).length;
      if (piece.length > 0) isBetween = isAscii(piece.at(-1)!);
    }
    offsets[i + 1] = length;
  }
  offsets[ids.length] = length + decoder.decode().length;
  return offsets;
}

const isAscii = (byte: number): boolean => byte < 0x80;

/** One buffer: count (u32), offsets (u32 each), bytes; little-endian. */
export function encodePieces({ offsets, bytes }: Pieces): Uint8Array {
  const out = new Uint8Array(4 + offsets.byteLength + bytes.length);
  new DataView(out.buffer).setUint32(0, offsets.length - 1, true);
  out.set(new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength), 4);
  out.set(bytes, 4 + offsets.byteLength);
  return out;
}

/** Throws where the buffer is shorter than it says or its offsets do not ascend. */
export function decodePieces(buffer: Uint8Array): Pieces {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  const count = buffer.length < 4 ? -1 : view.getUint32(0, true);
  const head = 4 + 4 * (count + 1);
  if (count < 0 || buffer.length < head)
    throw new Error(`The piece table is ${buffer.length} bytes: too short for its ${count} entries.`);
  const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const bytes = buffer.slice(head);
  if (offsets.some((offset, i) => i > 0 && offset < offsets[i - 1]!) || offsets[count] !== bytes.length)
    throw new Error('The piece table’s offsets do not fit its bytes.');
  return { offsets, bytes };
}

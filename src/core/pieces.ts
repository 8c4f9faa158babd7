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
export function textOf(pieces: Pieces, ids: ArrayLike<number>): string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  for (let i = 0; i < ids.length; i++) text += decoder.decode(pieceOf(pieces, ids[i]!), { stream: true });
  return text + decoder.decode();
}

/** [token + 1] offsets (UTF-16) into textOf where each token's text begins; a token that only continues a character is empty. */
export function textOffsets(pieces: Pieces, ids: ArrayLike<number>): Uint32Array {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const offsets = new Uint32Array(ids.length + 1);
  let length = 0;
  for (let i = 0; i < ids.length; i++) {
    length += decoder.decode(pieceOf(pieces, ids[i]!), { stream: true }).length;
    offsets[i + 1] = length;
  }
  offsets[ids.length] = length + decoder.decode().length;
  return offsets;
}

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

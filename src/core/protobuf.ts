/** Writes fields of protocol buffers as bytes. Knows the wire format, nothing of any message. */

const TEXT = new TextEncoder();

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Negative numbers take ten bytes, as two's complement of 64 bits. */
function varint(value: number): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  while (rest > 127n) {
    out.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return Uint8Array.from(out);
}

/** Wire types: 0 varint, 1 of 64 bits, 2 bytes behind their number, 5 of 32 bits. */
const tag = (field: number, wire: number): Uint8Array => varint((field << 3) | wire);

export const integer = (field: number, value: number): Uint8Array => concat([tag(field, 0), varint(value)]);
export const bytes = (field: number, value: Uint8Array): Uint8Array =>
  concat([tag(field, 2), varint(value.length), value]);
export const string = (field: number, value: string): Uint8Array => bytes(field, TEXT.encode(value));
export const message = (field: number, parts: readonly Uint8Array[]): Uint8Array =>
  bytes(field, concat(parts));

export function float(field: number, value: number): Uint8Array {
  const four = new Uint8Array(4);
  new DataView(four.buffer).setFloat32(0, value, true);
  return concat([tag(field, 5), four]);
}

export function double(field: number, value: number): Uint8Array {
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setFloat64(0, value, true);
  return concat([tag(field, 1), eight]);
}

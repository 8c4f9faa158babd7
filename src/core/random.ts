/** Random numbers by key and counter, so that a number depends on where it is used and never on when. */

/** A stream's name, folded to 53 bits. */
export type StreamKey = number;

/** Folds names and numbers into one key: `streamKey(seed, 'sample', step, task, path)`. */
export function streamKey(...parts: readonly (string | number)[]): StreamKey {
  let high = 0x9e3779b9;
  let low = 0x243f6a88;
  for (const character of parts.join('\u0000')) {
    const code = character.codePointAt(0) ?? 0;
    low = Math.imul(low ^ code, 0x85ebca6b) ^ (high >>> 15);
    high = Math.imul(high ^ code ^ (low >>> 13), 0xc2b2ae35);
  }
  return (mix(high ^ low) & 0x1fffff) * 0x100000000 + mix(low + Math.imul(high, 0x27d4eb2f));
}

/** The counter-th uniform number of a stream, in [0, 1), with 53 bits. */
export function uniform(key: StreamKey, counter: number): number {
  const low = key >>> 0;
  const high = Math.floor(key / 0x100000000) >>> 0;
  const a = mix(low ^ mix(counter + 0x6a09e667));
  const b = mix(high ^ mix(a + counter + 0x3c6ef372));
  return ((b >>> 5) * 67108864 + (mix(a ^ b) >>> 6)) / 9007199254740992;
}

/** A uniform integer in [0, size). */
export const below = (key: StreamKey, counter: number, size: number): number =>
  Math.floor(uniform(key, counter) * size);

/** A seeded permutation of 0..size-1 (Fisher-Yates). */
export function permutation(key: StreamKey, size: number): number[] {
  const order = Array.from({ length: size }, (_, i) => i);
  for (let i = size - 1; i > 0; i--) {
    const j = below(key, i, i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/** Finaliser of MurmurHash3: every input bit flips every output bit with probability about a half. */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

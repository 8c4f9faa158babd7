/** Finds stop strings in the bytes of drawn tokens. Knows nothing of tokenizers or of how tokens are drawn. */
import { pieceOf, type Pieces } from '../../../core/pieces.ts';

/** Watches one continuation. */
export interface StopWatch {
  /** Takes the next token; returns the stop string that its bytes complete, the one that ends first. */
  push(id: number): string | undefined;
}

/** `drawn` are tokens of the same draw that came before, so that a stop string may begin in them. */
export function watchStops(pieces: Pieces, stops: readonly string[], drawn: Int32Array): StopWatch {
  const patterns = stops
    .map(stop => ({ stop, bytes: Buffer.from(stop, 'utf8') }))
    .filter(({ bytes }) => bytes.length > 0);
  const reach = Math.max(1, ...patterns.map(({ bytes }) => bytes.length)) - 1;
  let tail: Buffer = Buffer.alloc(0);
  const append = (id: number): Buffer => Buffer.concat([tail, pieceOf(pieces, id)]);
  const keep = (bytes: Buffer): void => void (tail = bytes.subarray(Math.max(0, bytes.length - reach)));
  for (const id of drawn.subarray(Math.max(0, drawn.length - reach))) keep(append(id));
  return {
    push(id) {
      const bytes = append(id);
      const found = firstEnd(bytes, tail.length, patterns);
      keep(bytes);
      return found;
    },
  };
}

/** Only ends behind `from` count: those before it were seen with an earlier token. */
function firstEnd(
  bytes: Buffer,
  from: number,
  patterns: readonly { stop: string; bytes: Buffer }[],
): string | undefined {
  let best: { end: number; stop: string } | undefined;
  for (const { stop, bytes: pattern } of patterns) {
    const start = bytes.indexOf(pattern, Math.max(0, from - pattern.length + 1));
    const end = start + pattern.length;
    if (start >= 0 && (best === undefined || end < best.end)) best = { end, stop };
  }
  return best?.stop;
}

/** A stream of random draws: the counter that src/core/random leaves to its caller. Knows nothing of what is drawn. */
import { below, streamKey, uniform } from '../../../src/core/random.ts';

export interface Draws {
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** A whole number in [low, high]. */
  between(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
}

export function draws(...name: (string | number)[]): Draws {
  const key = streamKey('sample', ...name);
  let counter = 0;
  return {
    chance: probability => uniform(key, counter++) < probability,
    between: (low, high) => low + below(key, counter++, high - low + 1),
    pick: list => list[below(key, counter++, list.length)]!,
  };
}

/** Integers below a limit from a seed, for property tests. */
export function intStream(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return limit => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The one file that tells the time. Knows nothing of who asks. */

let read: () => number = () => Date.now();

/** Milliseconds since 1970. */
export const now = (): number => read();

let lastStamp = { at: NaN, text: '' };

/** ISO 8601 with milliseconds, UTC. Many facts are told in the same millisecond. */
export function timestamp(): string {
  const at = read();
  if (at !== lastStamp.at) lastStamp = { at, text: new Date(at).toISOString() };
  return lastStamp.text;
}

/** Milliseconds from an arbitrary start that never go backwards, for durations. */
export const elapsed = (): number => performance.now();

/**
 * Says, each time it is asked, by how many milliseconds the time of day ran ahead of (or, negative, fell behind) the time that
 * passed since it was last asked: 0 but for rounding, unless somebody set the clock or the machine slept.
 */
export function watchJumps(): () => number {
  let difference = read() - elapsed();
  return () => {
    const before = difference;
    difference = read() - elapsed();
    return difference - before;
  };
}

/** For tests: tells another time until the returned function is called. */
export function setClock(clock: () => number): () => void {
  const before = read;
  read = clock;
  return () => (read = before);
}

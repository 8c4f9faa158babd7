/** The one file that tells the time. Knows nothing of who asks. */

let read: () => number = () => Date.now();

/** Milliseconds since 1970. */
export const now = (): number => read();

let lastSecond = { at: NaN, text: '' };

/** ISO 8601 with milliseconds, UTC. Many facts are told in the same second. */
export function timestamp(): string {
  const at = Math.floor(read());
  const milliseconds = ((at % 1000) + 1000) % 1000;
  const second = at - milliseconds;
  if (second !== lastSecond.at)
    lastSecond = { at: second, text: new Date(second).toISOString().slice(0, 20) };
  return `${lastSecond.text}${String(milliseconds).padStart(3, '0')}Z`;
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

/** Waits for work that may be called off. Knows nothing of what is done, and does not end it. */

/** Rejects with `called` when the signal is given, so that nobody waits for what an engine or a program is still computing. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, called: Error): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(called);
    signal.addEventListener('abort', () => reject(called), { once: true });
  });
  return Promise.race([aborted, work]);
}

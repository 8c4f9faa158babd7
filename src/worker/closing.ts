/** Closes several things, whatever becomes of one of them. Knows nothing of what they are. */

/** Calls all of them, the last first; then throws the first failure, if any. */
export async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Does the work and then closes all that it opened; where both fail, the work's failure is thrown. */
export async function closingAfter<T>(work: (closers: (() => unknown)[]) => Promise<T>): Promise<T> {
  const closers: (() => unknown)[] = [];
  let result: T;
  try {
    result = await work(closers);
  } catch (error) {
    await Promise.allSettled([closeAll(closers)]);
    throw error;
  }
  await closeAll(closers);
  return result;
}

/** Does something again while nobody says that it is enough. Knows nothing of what that is. */

/** Does it after every `patience` milliseconds, `tries` times in all at most, until what is returned is called. */
export function untilStopped(
  again: () => void,
  { patience, tries }: { patience: number; tries: number },
): () => void {
  let left = tries;
  const timer = setInterval(() => {
    if (--left === 0) clearInterval(timer);
    again();
  }, patience);
  return () => clearInterval(timer);
}

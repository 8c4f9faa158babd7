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

/** Waits so for what begins anew whenever it is shown. `shown` hears whether it is, as often as anybody looks; `started` that it began. */
export function whileShown(
  again: () => void,
  limits: { patience: number; tries: number },
): { shown(isShown: boolean): void; started(): void } {
  let wasShown = false;
  let stop = (): void => undefined;
  return {
    shown(isShown) {
      if (isShown === wasShown) return;
      wasShown = isShown;
      stop();
      if (isShown) stop = untilStopped(again, limits);
    },
    started: () => stop(),
  };
}

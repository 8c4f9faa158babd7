/** Waits for changes of a folder. Network file systems tell none, so that looking is needed beside watching. */
import * as fs from 'node:fs';

/** Waits until the folder has changed since `arm`, a poll interval has passed, or the signal was given. */
export function watchFolder(
  folder: string,
  pollMs: () => number,
): {
  arm(): void;
  wait(signal: AbortSignal): Promise<void>;
  close(): void;
} {
  let isChanged = false;
  let wake: () => void = () => undefined;
  const changed = (): void => {
    isChanged = true;
    wake();
  };
  let watcher: fs.FSWatcher | undefined;
  try {
    watcher = fs.watch(folder, { persistent: false }, changed);
    watcher.on('error', () => watcher?.close());
  } catch {
    // Where a folder cannot be watched (too many watchers, some network drives) polling alone finds the changes.
    watcher = undefined;
  }
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      if (isChanged || signal.aborted) return resolve();
      const timer = setTimeout(changed, pollMs());
      signal.addEventListener('abort', changed, { once: true });
      wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', changed);
        resolve();
      };
    });
  return { arm: () => (isChanged = false), wait, close: () => watcher?.close() };
}

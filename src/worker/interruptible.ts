/** What commands share that ask something of a run beside its training: signals that call it off, and words that say how far it is. Knows nothing of what is asked. */
import type { Io } from './commandLine.ts';
import { stopOnSignals } from './signals.ts';

export interface Asking {
  signal: AbortSignal;
  /** Says what is being done; the same words are not said twice in a row. */
  progress(words: string): void;
}

/** Does the work; the first signal to end calls it off. */
export async function interruptible<T>(io: Io, work: (asking: Asking) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const unlisten = stopOnSignals(() => ending.abort());
  let said = '';
  const progress = (words: string): void => {
    if (words !== said) io.err.write(`${words}\n`);
    said = words;
  };
  try {
    return await work({ signal: ending.signal, progress });
  } finally {
    unlisten();
  }
}

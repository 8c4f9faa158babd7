/** Turns the first signal to end into a request, and the second into an end. Knows nothing of what is asked to stop. */
import { elapsed } from '../run/clock.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal signals a launcher and its child, and the launcher passes the signal on: two so close together are one. */
const SAME_SIGNAL_MS = 500;

/** Calls `stop` at the first signal; returns what stops listening. */
export function stopOnSignals(stop: () => void): () => void {
  let first: number | undefined;
  const heed = (signal: NodeJS.Signals): void => {
    if (first !== undefined && elapsed() - first < SAME_SIGNAL_MS) return;
    if (first !== undefined) process.exit(signal === 'SIGINT' ? 130 : 143);
    first = elapsed();
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, heed);
  return () => SIGNALS.forEach(signal => process.off(signal, heed));
}

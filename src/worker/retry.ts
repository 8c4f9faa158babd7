/** Tries again what failed for a passing reason, later each time. Knows nothing of what is tried. */
import { setTimeout as sleep } from 'node:timers/promises';
import { uniform, type StreamKey } from '../core/random.ts';

/** A failure that may be gone at the next attempt: a busy server, a lost connection, a program that ended. */
export class PassingError extends Error {
  override readonly name = 'PassingError';
}

export interface RetryOptions {
  /** Attempts after the first one. */
  retries: number;
  /** Jitter is drawn from this stream, so that the same run waits for the same times. */
  key: StreamKey;
  signal: AbortSignal;
  /** For tests. */
  wait?(ms: number, signal: AbortSignal): Promise<unknown>;
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8_000;

/** Milliseconds after the attempt (from 0): twice as long each time, less up to a half so that callers do not come back together. */
export const delayAfter = (attempt: number, key: StreamKey): number =>
  Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (1 - 0.5 * uniform(key, attempt));

/** The first result; rejects with the last error, and with any that does not pass. */
export async function retrying<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, key, signal, wait = (ms, stop) => sleep(ms, undefined, { signal: stop }) } = options;
  for (let failed = 0; ; failed++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof PassingError) || failed >= retries || signal.aborted) throw error;
      await wait(delayAfter(failed, key), signal);
    }
  }
}

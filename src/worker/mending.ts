/** Which failures a person can mend while a run waits, and the waiting. Knows nothing of what failed or of how it goes on. */
import type { Event, Fact } from '../core/events.ts';
import type { Failure } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import { attributed } from '../run/disk.ts';
import type { Journal } from '../run/journal.ts';
import type { Control } from './status.ts';

/** Between two attempts to write what the disk refused. */
const RETRY_MS = 1000;

/** A full disk, a folder without rights, a file that is gone, a dead tool; not a bug, an engine's death or a broken reward. */
export const canBeMended = ({ where }: Failure): boolean => ['store', 'tool', 'config'].includes(where);

/** The failure that an error is, errors of the file system included. */
export const failureOf = (error: unknown, where?: Failure['where']): Failure =>
  toFailure(attributed(error), where);

/**
 * Says that the run is paused, and why, and waits until it is told to go on or to stop. The fact waits in memory where the disk
 * refuses it; the status on the socket says the same at once.
 */
export async function waitForMending(
  failure: Failure,
  { control, journal, announce }: { control: Control; journal: Journal; announce(event: Event): void },
): Promise<'go' | 'stop'> {
  const reason = failure.fix === undefined ? failure.message : `${failure.message} ${failure.fix}`;
  const paused: Fact = { type: 'paused', reason };
  control.verbs.pause();
  control.settle('paused');
  announce(journal.note(paused, control.status.step));
  control.phase(`paused: ${failure.message}`);
  const retry = setInterval(() => journal.attempt(), RETRY_MS);
  try {
    return await control.released();
  } finally {
    clearInterval(retry);
  }
}

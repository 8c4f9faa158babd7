/** What a journal says once its resumed steps have voided what they repeat. Knows nothing of files or summaries. */
import type { Event } from './events.ts';

/**
 * The events that still hold, in order. `resumed` with step s says that the run went on from the end of step s: facts of
 * later steps told before it are void, and so is an end of the run, for it did not end. Sequence numbers keep their gaps.
 */
export function withoutVoided(events: readonly Event[]): Event[] {
  let valid: Event[] = [];
  for (const event of events) {
    if (event.type === 'resumed')
      valid = valid.filter(({ type, step }) => step <= event.step && type !== 'run-ended');
    valid.push(event);
  }
  return valid;
}

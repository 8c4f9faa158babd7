/** A resumed run says the same as one that was never interrupted. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Event, Fact } from '../../src/core/events.ts';
import { withoutVoided } from '../../src/core/journalOrder.ts';

const journal = (...facts: [Fact['type'], number][]): Event[] =>
  facts.map(([type, step], seq) => ({ type, step, seq, at: '2026-01-01T00:00:00.000Z' }) as Event);
const said = (events: Event[]): string[] => withoutVoided(events).map(({ type, step }) => `${type} ${step}`);

describe('journalOrder', () => {
  it('voids the unfinished step that a resumed run repeats', () => {
    const events = journal(
      ['run-started', 0],
      ['step-started', 1],
      ['step-finished', 1],
      ['checkpoint-saved', 1],
      ['step-started', 2],
      ['tree-finished', 2],
      ['warned', 2],
      ['resumed', 1],
      ['step-started', 2],
      ['tree-finished', 2],
      ['step-finished', 2],
    );
    assert.deepEqual(said(events), [
      'run-started 0',
      'step-started 1',
      'step-finished 1',
      'checkpoint-saved 1',
      'resumed 1',
      'step-started 2',
      'tree-finished 2',
      'step-finished 2',
    ]);
  });

  it('voids finished steps after an older checkpoint, and an earlier end', () => {
    const events = journal(
      ['run-started', 0],
      ['step-finished', 1],
      ['step-finished', 2],
      ['run-ended', 2],
      ['resumed', 1],
    );
    assert.deepEqual(said(events), ['run-started 0', 'step-finished 1', 'resumed 1']);
  });

  it('voids an earlier resumption that went further', () => {
    const events = journal(
      ['run-started', 0],
      ['step-finished', 3],
      ['resumed', 3],
      ['step-started', 4],
      ['resumed', 2],
    );
    assert.deepEqual(said(events), ['run-started 0', 'resumed 2']);
  });

  it('leaves a run that was paused and went on as it is', () => {
    const events = journal(
      ['run-started', 0],
      ['step-finished', 1],
      ['paused', 1],
      ['resumed', 1],
      ['step-started', 2],
    );
    assert.equal(withoutVoided(events).length, events.length);
  });
});

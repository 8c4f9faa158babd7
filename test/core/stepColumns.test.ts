import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { alarms } from '../../src/core/alarms.ts';
import type { Event } from '../../src/core/events.ts';
import { fold } from '../../src/core/fold.ts';
import { glance, packSteps, unpackSteps } from '../../src/core/stepColumns.ts';
import { variedJournal } from '../fakes/variedJournal.ts';

/** Over a wire that keeps arrays of numbers, as VS Code's does. */
const sent = (events: readonly Event[]): Event[] => {
  const packed = structuredClone(packSteps(events));
  return unpackSteps(packed.events, packed.steps);
};

describe('finished steps in columns', () => {
  const events = variedJournal(60);

  it('are 60 facts fewer in a message, and all of them again on the other side', () => {
    const { events: rest, steps } = packSteps(events);
    assert.equal(rest.length, events.length - 60);
    assert.equal(steps!.seqs.length, 60);
    const facts = sent(events).map(event =>
      event.type === 'step-finished'
        ? { seq: event.seq, at: event.at, step: event.step, type: event.type, summary: event.summary }
        : event,
    );
    assert.deepEqual(facts, events);
  });

  it('fold to the same state, and raise the same alarms', () => {
    const [plain, packed] = [fold(events), fold(sent(events))];
    const steps = packed.summaries.map(({ step, at, summary }) => ({ step, at, summary }));
    assert.deepEqual({ ...packed, summaries: steps }, plain);
    assert.equal(steps.length, 60 - 5, 'the resumption voids five of them');
    assert.deepEqual(alarms(packed), alarms(plain));
  });

  it('are told at a glance without being unpacked, each its own', () => {
    const packed = fold(sent(events)).summaries;
    assert.deepEqual(
      packed.map(step => glance(step).reward.mean),
      packed.map(({ step }) => step / 7),
    );
    const [third, fifth] = [packed[2]!, packed[4]!];
    assert.equal(glance(fifth).entropy.all, undefined);
    assert.equal(glance(third).entropy.all, 1 / 3);
    assert.equal(glance(packed[3]!).branches, undefined);
    assert.equal(glance(third).branches?.taken, 3);
  });

  it('stay as they are where they are few, or hold what is no number', () => {
    assert.equal(packSteps(events.slice(0, 10)).steps, undefined);
    const strange = events.map(event =>
      event.step === 50 && event.type === 'step-finished'
        ? { ...event, summary: { ...event.summary, note: 'later versions may say more' } }
        : event,
    );
    assert.equal(packSteps(strange).steps, undefined);
    assert.deepEqual(packSteps(strange).events, strange);
  });
});

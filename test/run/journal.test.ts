/** The journal keeps every fact in order, whatever the disk does. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, it } from 'mocha';
import type { Event, Fact } from '../../src/core/events.ts';
import { FailureError } from '../../src/core/types.ts';
import { setClock } from '../../src/run/clock.ts';
import { interceptWrites } from '../../src/run/disk.ts';
import { Journal } from '../../src/run/journal.ts';
import { STARTED, finished, inFolder } from './fixtures.ts';

const lines = (folder: string): Event[] =>
  readFileSync(join(folder, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Event);
const begun = (step: number): Fact => ({ type: 'step-started', tasks: [`t${step}`] });

describe('journal', () => {
  it('stamps facts with number, time and step', () =>
    inFolder(folder => {
      const restore = setClock(() => Date.UTC(2026, 0, 2));
      const journal = Journal.open(folder);
      const event = journal.tell(STARTED, 0);
      journal.tell(begun(1), 1);
      restore();
      journal.close();
      assert.deepEqual([event.seq, event.at, event.step], [0, '2026-01-02T00:00:00.000Z', 0]);
      assert.deepEqual(
        lines(folder).map(({ seq, type, step }) => [seq, type, step]),
        [
          [0, 'run-started', 0],
          [1, 'step-started', 1],
        ],
      );
    }));

  it('stamps with milliseconds, also where the clock goes back', () =>
    inFolder(folder => {
      const start = Date.UTC(2026, 0, 2, 3, 4, 5);
      let at = start;
      const restore = setClock(() => at);
      const journal = Journal.open(folder);
      for (const ms of [0, 7, 999, 1000, 61_234, -1, -86_400_000, 7]) {
        at = start + ms;
        assert.equal(journal.tell(begun(1), 1).at, new Date(at).toISOString());
      }
      restore();
      journal.close();
    }));

  it('writes by itself soon after a fact was told', () =>
    inFolder(async folder => {
      const journal = Journal.open(folder);
      journal.tell(STARTED, 0);
      while (lines(folder).length === 0) await wait(5);
      journal.close();
    }));

  it('continues after the last whole line and cuts a torn one off', () =>
    inFolder(folder => {
      const first = Journal.open(folder);
      for (let step = 0; step < 5; step++) first.tell(begun(step), step);
      first.close();
      appendFileSync(join(folder, 'events.jsonl'), '{"seq":5,"at":"2026-');
      const second = Journal.open(folder);
      assert.equal(second.nextSeq, 5);
      second.tell(begun(5), 5);
      second.close();
      assert.deepEqual(
        lines(folder).map(({ seq }) => seq),
        [0, 1, 2, 3, 4, 5],
      );
    }));

  it('finds the last line also where it is longer than the window that is looked at first', () =>
    inFolder(folder => {
      const first = Journal.open(folder);
      first.tell(begun(0), 0);
      first.tell({ type: 'step-started', tasks: Array.from({ length: 20_000 }, (_, i) => `task-${i}`) }, 1);
      first.close();
      const second = Journal.open(folder);
      assert.equal(second.nextSeq, 2);
      second.close();
    }));

  it('refuses to continue what is not a journal', () =>
    inFolder(folder => {
      writeFileSync(join(folder, 'events.jsonl'), 'hello\n');
      assert.throws(() => Journal.open(folder), /events\.jsonl, byte 0: the line is not JSON/);
    }));

  it('leaves out numbers that are not finite, and refuses a fact that needs them', () =>
    inFolder(folder => {
      const journal = Journal.open(folder);
      journal.tell(finished(0.5), 1);
      assert.throws(
        () => journal.tell(finished(NaN), 1),
        /step-finished\.summary\.reward\.mean should be a number/,
      );
      journal.close();
      assert.equal(lines(folder).length, 1);
      assert.ok(!('gradientNorm' in (lines(folder)[0] as Extract<Event, { type: 'step-finished' }>).summary));
    }));

  it('loses nothing and no order when the disk fails for a while, and says so', () =>
    inFolder(async folder => {
      const journal = Journal.open(folder);
      journal.tell(begun(0), 0);
      journal.flush();
      let failures = 0;
      const restore = interceptWrites(operation => {
        if (operation !== 'append') return;
        failures++;
        throw new Error('ENOSPC: no space left on device');
      });
      journal.tell(begun(1), 1);
      while (failures === 0) await wait(5);
      assert.throws(
        () => journal.tell(begun(2), 2),
        (error: unknown) =>
          error instanceof FailureError && error.failure.where === 'store' && /ENOSPC/.test(error.message),
      );
      restore();
      journal.tell(begun(3), 3);
      journal.close();
      assert.deepEqual(
        lines(folder).map(({ seq, step }) => [seq, step]),
        [0, 1, 2, 3].map(i => [i, i]),
      );
    }));

  it('refuses facts after it was closed', () =>
    inFolder(folder => {
      const journal = Journal.open(folder);
      journal.close();
      journal.close();
      assert.throws(() => journal.tell(begun(1), 1), /after the journal was closed/);
    }));
});

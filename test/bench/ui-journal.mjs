/**
 * How quickly the host reads the journal of a long run for a view that opens: `ui-journal.mjs [--steps 1000] [--json]`. The journal
 * is that of the recorded sample, its steps over and over. `headlinesMs`: what a dashboard follows, and `allMs`: every fact, both in
 * processor time, the best of five; `packMs`: 10,000 finished steps made into columns for the wire.
 */
/* global AbortController */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packSteps } from '../../src/core/stepColumns.ts';
import { openRun } from '../../src/run/reader.ts';
import { longJournal } from './longJournal.mjs';
import { longRun } from './longRun.mjs';

const { values } = parseArgs({
  options: { steps: { type: 'string', default: '1000' }, json: { type: 'boolean', default: false } },
});
const steps = Number(values.steps);
const folder = longJournal(steps);

async function best(work) {
  let least = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return Math.round(least * 10) / 10;
}

async function follow(end, headlines) {
  const stop = new AbortController();
  for await (const { next } of openRun(folder).follow(0, stop.signal, { headlines })) if (next >= end) return;
}

try {
  const { size } = statSync(join(folder, 'events.jsonl'));
  const long = longRun(10_000);
  const result = {
    bench: 'ui-journal',
    steps,
    journalMiB: Math.round(size / 2 ** 20),
    headlinesMs: await best(() => follow(size, true)),
    allMs: await best(() => follow(size, false)),
    packMs: await best(() => {
      for (let from = 0; from < long.length; from += 2000) packSteps(long.slice(from, from + 2000));
    }),
  };
  console.log(
    values.json
      ? JSON.stringify(result)
      : Object.entries(result)
          .map(([name, value]) => `${name} ${value}`)
          .join('\n'),
  );
} finally {
  rmSync(folder, { recursive: true });
}

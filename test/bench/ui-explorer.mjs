/**
 * How quickly a list of many runs is there: `ui-explorer.mjs [--runs 1000] [--steps 1000] [--json]`. Every run has the journal of the
 * sample's recorded run. `firstMs`: until the first rows have their words; `allMs`: until all have; `allComputedMs`: the same in processor
 * time; `againMs`: all once more where nothing changed; `groupedMs`: the known runs filtered, grouped and put in order. `expandComputedMs`: in processor time, until a run
 * of so many steps has shown what stands under it and its newest steps.
 */
/* global performance -- of Node */
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fold } from '../../src/core/fold.ts';
import { rowsUnder } from '../../src/extension/explorerRows.ts';
import { runLabel, runRowDescription, stepDescription, stepLabel } from '../../src/extension/rows.ts';
import { listRuns } from '../../src/extension/runList.ts';
import { openRun } from '../../src/run/reader.ts';
import { glanceAtAll } from '../../src/run/runs.ts';
import { longJournal } from './longJournal.mjs';
import { printResult } from './print.mjs';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    steps: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
});
const count = Number(values.runs);
const sample = join(import.meta.dirname, '../../media/sample/run');
const long = longJournal(Number(values.steps));
const parent = mkdtempSync(join(tmpdir(), 'branchpoint-runs-'));
try {
  const journal = join(parent, 'events.jsonl');
  writeFileSync(journal, readFileSync(join(sample, 'events.jsonl')));
  const manifest = readFileSync(join(sample, 'run.json'));
  const folders = Array.from({ length: count }, (_, i) => join(parent, `many-${count - i}`));
  folders.forEach((folder, i) => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'run.json'), manifest);
    linkSync(journal, join(folder, 'events.jsonl'));
    if (i % 3 === 0)
      writeFileSync(
        join(folder, 'label.json'),
        JSON.stringify({ label: `Seed ${i}`, tags: ['paper', `seed ${i % 5}`] }),
      );
  });
  const known = new Map();
  let words = 0;
  const look = async () => {
    const began = performance.now();
    const used = process.cpuUsage();
    let firstMs;
    await glanceAtAll(folders, known, (folder, glance) => {
      known.set(folder, glance);
      words += runLabel(glance.summary).length + runRowDescription(glance.summary).length;
      if (known.size >= Math.min(count, 40)) firstMs ??= performance.now() - began;
    });
    const { user, system } = process.cpuUsage(used);
    return { firstMs, allMs: performance.now() - began, computedMs: (user + system) / 1000 };
  };
  const cold = await look();
  const warm = await look();
  const began = performance.now();
  const { groups } = listRuns(
    [...known.values()].map(({ summary }) => summary),
    'seed',
    'tag',
  );
  const groupedMs = performance.now() - began;
  if (words === 0 || known.size !== count || groups.length !== 6) throw new Error('Runs were not read.');
  const expandComputedMs = await expand();
  const round = value => Math.round(value * 10) / 10;
  const result = {
    bench: 'ui-explorer',
    runs: count,
    firstMs: round(cold.firstMs),
    allMs: round(cold.allMs),
    allComputedMs: round(cold.computedMs),
    againMs: round(warm.allMs),
    groupedMs: round(groupedMs),
    steps: Number(values.steps),
    expandComputedMs: round(expandComputedMs),
  };
  printResult(result, values.json);
} finally {
  for (const folder of [parent, long]) rmSync(folder, { recursive: true, force: true });
}

/** As the explorer does: the state that the run's facts fold to, the rows under the run and under its steps, and their words. */
async function expand() {
  const used = process.cpuUsage();
  const state = fold(await openRun(long).events({ headlines: true }));
  const run = { kind: 'run', runFolder: long, key: long };
  const parts = await rowsUnder(run, state, { results: () => undefined });
  const steps = await rowsUnder(
    parts.find(({ kind }) => kind === 'steps'),
    state,
    { results: () => undefined },
  );
  const shown = steps.flatMap(({ kind, step }) => (kind === 'step' ? state.summaries[step - 1] : []));
  const words = shown.map(finished => stepDescription(finished) + stepLabel(finished));
  if (words.length === 0 || state.summaries.length !== Number(values.steps))
    throw new Error('Steps were not read.');
  const { user, system } = process.cpuUsage(used);
  return (user + system) / 1000;
}

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  filterMessage,
  listDescription,
  listRuns,
  matches,
  stepList,
  tagsOf,
} from '../../src/extension/runList.ts';
import type { RunSummary } from '../../src/run/runs.ts';

const run = (name: string, change: Partial<RunSummary> = {}): RunSummary => ({
  folder: `/runs/${name}`,
  name,
  tags: [],
  config: name.replace(/-\d+$/, ''),
  status: 'finished',
  isPaused: false,
  created: '2026-11-30T12:00:00.000Z',
  step: 4,
  steps: 4,
  ...change,
});

const runs = [
  run('arpo-3', { status: 'live', created: '2026-11-30T13:00:00.000Z', tags: ['seed 1', 'paper'] }),
  run('grpo-2', { label: 'Baseline', tags: ['paper'] }),
  run('arpo-1', { status: 'failed', created: '2026-11-29T12:00:00.000Z' }),
  run('verl-run', { source: 'verl', config: '', created: '' }),
  run('torn-1', { status: 'unreadable', config: '', created: '' }),
];

const names = ({ plain, groups }: ReturnType<typeof listRuns>): unknown => [
  plain.map(({ name }) => name),
  Object.fromEntries(groups.map(({ name, runs }) => [name, runs.map(({ name }) => name)])),
];

describe('the list of runs', () => {
  it('shows runs with every word of the filter in name, label, tags, status, configuration or source', () => {
    const shown = (filter: string): string[] =>
      runs.filter(run => matches(run, filter)).map(({ name }) => name);
    assert.deepEqual(shown(''), ['arpo-3', 'grpo-2', 'arpo-1', 'verl-run', 'torn-1']);
    assert.deepEqual(shown('ARPO'), ['arpo-3', 'arpo-1']);
    assert.deepEqual(shown('base'), ['grpo-2']);
    assert.deepEqual(shown('  paper   running '), ['arpo-3']);
    assert.deepEqual(shown('failed'), ['arpo-1']);
    assert.deepEqual(shown('verl'), ['verl-run']);
    assert.deepEqual(shown('arpo paper failed'), []);
  });

  it('keeps what was imported under a heading of its own', () => {
    assert.deepEqual(names(listRuns(runs, '', 'none')), [
      ['arpo-3', 'grpo-2', 'arpo-1', 'torn-1'],
      { 'Imported (verl)': ['verl-run'] },
    ]);
  });

  it('groups by status, tag, configuration and day, what has none last', () => {
    assert.deepEqual(names(listRuns(runs, '', 'status')), [
      [],
      {
        running: ['arpo-3'],
        failed: ['arpo-1'],
        finished: ['grpo-2', 'verl-run'],
        unreadable: ['torn-1'],
      },
    ]);
    const byTag = listRuns(runs, '', 'tag');
    assert.deepEqual(
      byTag.groups.map(({ name, runs }) => [name, runs.length]),
      [
        ['paper', 2],
        ['seed 1', 1],
        ['Without a tag', 3],
      ],
    );
    assert.deepEqual(
      listRuns(runs, '', 'config').groups.map(({ name }) => name),
      ['arpo', 'grpo', 'Imported (verl)', 'Configuration cannot be read'],
    );
    const days = listRuns(runs, '', 'day').groups.map(({ name, runs }) => [name, runs.length]);
    assert.equal(days.length, 3);
    assert.match(String(days[0]), /^2026-1[12]-\d\d,2$/);
    assert.deepEqual(days[2], ['Day not known', 2]);
  });

  it('says what it leaves out and how it is ordered', () => {
    assert.equal(listDescription('', 'none'), undefined);
    assert.equal(listDescription('seed', 'tag'), '“seed” · by tag');
    const message = (filter: string): string | undefined =>
      filterMessage(filter, listRuns(runs, filter, 'tag'), runs.length);
    assert.equal(message('arpo'), '2 of 5 runs match “arpo”');
    assert.deepEqual([message(''), message('nothing')], [undefined, undefined]);
  });

  it('takes tags from a text with commas', () => {
    assert.deepEqual(tagsOf(' paper, seed 1,,paper '), ['paper', 'seed 1']);
  });
});

describe('the list of a run’s steps', () => {
  const steps = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

  it('is newest first, the step under way before the finished ones', () => {
    assert.deepEqual(stepList([1, 2, 3], 4), { steps: [4, 3, 2, 1], ranges: [] });
    assert.deepEqual(stepList([], 1), { steps: [1], ranges: [] });
    assert.deepEqual(stepList([], undefined), { steps: [], ranges: [] });
  });

  it('shows the newest 500 one by one and every older one in a hundred', () => {
    const { steps: shown, ranges } = stepList(steps(1234), undefined);
    assert.deepEqual([shown.length, shown[0], shown.at(-1)], [500, 1234, 735]);
    assert.deepEqual(ranges[0], { from: 701, to: 734 });
    assert.deepEqual(ranges.at(-1), { from: 1, to: 100 });
    const held = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
    assert.equal(held + shown.length, 1234);
    assert.deepEqual(stepList(steps(500), undefined).ranges, []);
  });
});

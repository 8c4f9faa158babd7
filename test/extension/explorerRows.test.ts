import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { CheckResult } from '../../src/core/checkup.ts';
import { emptyState, fold, type RunState } from '../../src/core/fold.ts';
import type { CheckSource, PartRow, Row } from '../../src/extension/explorerRows.ts';
import { rowsUnder, runsUnder, topRows } from '../../src/extension/explorerRows.ts';
import { listRuns } from '../../src/extension/runList.ts';
import { openRun } from '../../src/run/reader.ts';
import { summarizeRun } from '../../src/run/runs.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';

describe('the rows of the explorer', () => {
  let parent: string;
  let folder: string;
  let state: RunState;
  const results: CheckResult[] = [
    { id: 'a', status: 'ok', message: 'Good.' },
    { id: 'b', status: 'error', message: 'Bad.' },
  ];
  const unchecked: CheckSource = { results: () => undefined };

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'branchpoint-rows-'));
    ({ folder } = await makeTinyRun(parent, { steps: 1 }));
    state = fold(await openRun(folder).events());
  });
  after(() => rmSync(parent, { recursive: true, force: true }));

  const kinds = (rows: readonly Row[]): string[] => rows.map(({ kind }) => kind);
  const only = async (rows: Row[], checks = unchecked): Promise<Row[]> =>
    rowsUnder(rows[0] as PartRow, state, checks);

  it('lead from a run of one step to its trees, and each knows its parent', async () => {
    const summary = await summarizeRun(folder);
    const top = topRows(listRuns([summary], '', 'none'));
    const parts = await only(top);
    assert.deepEqual(kinds(parts), ['steps', 'checkpoints', 'evaluations', 'checks', 'config', 'log', 'git']);
    const steps = await only(parts);
    assert.deepEqual(kinds(steps), ['step']);
    const trees = await only(steps);
    assert.deepEqual(kinds(trees), ['tree', 'tree', 'tree', 'tree']);
    assert.deepEqual(
      [trees[0]!.parent, steps[0]!.parent, parts[0]!.parent, top[0]!.parent],
      [steps[0], parts[0], top[0], undefined],
    );
    const all = [...top, ...parts, ...steps, ...trees].map(({ key }) => key);
    assert.equal(new Set(all).size, all.length);
  });

  it('are told apart where a run is under two headings', async () => {
    const summary = { ...(await summarizeRun(folder)), tags: ['a', 'b'] };
    const list = listRuns([summary], '', 'tag');
    const groups = topRows(list);
    const runs = groups.flatMap(group => (group.kind === 'group' ? runsUnder(group, list) : []));
    assert.deepEqual(kinds(runs), ['run', 'run']);
    assert.notEqual(runs[0]!.key, runs[1]!.key);
    const [first, second] = await Promise.all(runs.map(run => only([run])));
    assert.ok(first!.every((row, i) => row.key !== second![i]!.key));
  });

  it('of a run without a fact offer what is there without one', async () => {
    const top = topRows(listRuns([await summarizeRun(folder)], '', 'none'));
    const parts = await rowsUnder(top[0] as PartRow, emptyState(), unchecked);
    assert.deepEqual(kinds(parts), ['checks', 'config', 'log', 'git']);
  });

  it('show what is wrong before what is as it should be, or that nobody has looked', async () => {
    const top = topRows(listRuns([await summarizeRun(folder)], '', 'none'));
    const checks = (await only(top)).filter(({ kind }) => kind === 'checks');
    const shown = async (found: ReturnType<CheckSource['results']>): Promise<string[]> =>
      (await only(checks, { results: () => found })).map(row =>
        row.kind === 'check' ? row.result.id : row.kind === 'note' ? row.text : '',
      );
    assert.deepEqual(await shown(results), ['b', 'a']);
    assert.deepEqual(await shown('running'), ['Being checked …']);
    assert.deepEqual(await shown(undefined), ['Not checked yet']);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { CheckResult } from '../../src/core/checkup.ts';
import { emptyState, fold, type RunState } from '../../src/core/fold.ts';
import type { CheckSource, PartRow, Row } from '../../src/extension/explorerRows.ts';
import { evaluationCount, rowsUnder, runsUnder, topRows } from '../../src/extension/explorerRows.ts';
import { listRuns } from '../../src/extension/runList.ts';
import { readEvaluation, writeEvaluation } from '../../src/run/evaluations.ts';
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
    assert.deepEqual(kinds(parts), ['evaluations', 'checks', 'config', 'log', 'git']);
  });

  it('list an evaluation that was made while a worker wrote the journal, and one that cannot be read', async () => {
    const top = topRows(listRuns([await summarizeRun(folder)], '', 'none'));
    const evaluations = (await only(top)).filter(({ kind }) => kind === 'evaluations');
    const listed = async (): Promise<unknown[]> =>
      (await only(evaluations)).map(row =>
        row.kind === 'evaluation' ? [row.evaluation, row.step, row.summary?.accuracy] : row.kind,
      );
    const before = await listed();
    assert.equal(evaluationCount(state, folder), before.length);
    const { summary, outcomes } = await readEvaluation(folder, state.evaluations[0]!.summary.id);
    writeEvaluation(folder, { summary: { ...summary, id: 'step-1-again-1', accuracy: 0.875 }, outcomes });
    writeFileSync(join(folder, 'evaluations', 'step-9.json'), '{');
    const after = await listed();
    assert.deepEqual(after.slice(0, 2), [
      ['step-9', 9, undefined],
      ['step-1-again-1', 1, 0.875],
    ]);
    assert.deepEqual(after.slice(2), before);
    assert.equal(evaluationCount(state, folder), before.length + 2);
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

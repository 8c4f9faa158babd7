/** Runs side by side: what is counted, what is repeated, and what is refused. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { fold } from '../../src/core/fold.ts';
import { readEvaluation } from '../../src/run/evaluations.ts';
import { openRun } from '../../src/run/reader.ts';
import {
  callsToReach,
  compareRuns,
  measureRun,
  type Comparison,
  type MeasuredRun,
} from '../../src/worker/comparison.ts';
import { tableOf } from '../../src/worker/comparisonTable.ts';
import { runCommand as run, TINY_ROLLOUT, writeConfig, writeTasks } from '../fakes/commandLine.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';

let parent: string;
const started: ChildProcess[] = [];

const configured = (name: string, change: Record<string, unknown>): string =>
  writeConfig(parent, name, { evaluation: { tasks: 3, samples: 1, every: 1 }, ...change });

const measured = (config: string, seed: number, calls: number, accuracies: number[]): MeasuredRun => ({
  config,
  seed,
  folder: `${config}-${seed}`,
  tasks: accuracies.map((_, task) => `task#${task}`),
  accuracies,
  rewards: accuracies.map(accuracy => 2 * accuracy - 1),
  trajectories: 128,
  toolCalls: calls,
  training: [{ step: 2, toolCalls: calls, accuracy: 0.9 }],
  heldOut: [
    { step: 0, toolCalls: 0, accuracy: 0.2 },
    { step: 1, toolCalls: calls / 2, accuracy: 0.4 },
    { step: 2, toolCalls: calls, accuracy: 0.6 },
  ],
});

describe('comparison', () => {
  it('has no number at equal calls where one run calls no tool and others have no accuracy before their first', () => {
    const withoutEvaluations = ({ heldOut: _, ...run }: MeasuredRun): MeasuredRun => run;
    const runs = [measured('plain', 1, 0, [1]), measured('grpo', 1, 500, [1])].map(withoutEvaluations);
    const comparison = compareRuns(runs, 'grpo');
    assert.deepEqual(
      comparison.results.map(({ atEqualCalls: { mean } }) => mean),
      [0.9, NaN],
    );
    const [, plain, grpo] = tableOf(comparison);
    assert.match(plain!, / 90\.0 % +not logged$/);
    assert.match(grpo!, / not logged +–$/);
  });

  it('finds the calls at which a curve first meets a target', () => {
    const curve = measured('a', 1, 1000, [1]).heldOut!;
    assert.ok(Math.abs(callsToReach(curve, 0.3)! - 250) < 1e-9);
    assert.equal(callsToReach(curve, 0.6), 1000);
    assert.equal(callsToReach(curve, 0.1), 0);
    assert.equal(callsToReach(curve, 0.7), null);
    assert.equal(callsToReach([], 0.7), null);
  });

  it('compares by the same seeds and tasks, and counts calls until the baseline’s rise is done, and what equal calls came to', () => {
    const runs = [
      measured('arpo', 2, 520, [1, 1, 0, 1]),
      measured('grpo', 1, 1000, [1, 0, 0, 1]),
      measured('arpo', 1, 480, [1, 1, 0, 1]),
      measured('grpo', 2, 1000, [1, 0, 0, 1]),
    ];
    const comparison = compareRuns(runs, 'grpo');
    const [arpo, grpo] = comparison.results;
    // From 0.2 the baseline rises to 0.6.
    assert.ok(Math.abs(comparison.target - (0.2 + 0.95 * 0.4)) < 1e-12, `${comparison.target}`);
    assert.equal(comparison.equalCalls, 480);
    assert.deepEqual([arpo!.accuracy.mean, grpo!.accuracy.mean, arpo!.reward.mean], [0.75, 0.5, 0.5]);
    assert.deepEqual(arpo!.seeds, [1, 2]);
    assert.equal(arpo!.versusBaseline.mean, 0.25);
    // Task 1 alone differs, by 1 under both seeds: 0.25 ± 3.18 · 0.25, and not beyond 1.
    assert.ok(
      Math.abs(arpo!.versusBaseline.interval[0] + 0.5456) < 1e-3,
      `${arpo!.versusBaseline.interval.join()}`,
    );
    assert.equal(arpo!.versusBaseline.interval[1], 1);
    assert.deepEqual(grpo!.versusBaseline, { mean: 0, interval: [0, 0] });
    assert.deepEqual(
      arpo!.callsToTarget.map(calls => Math.round(calls!)),
      [456, 494],
    );
    // 480 calls take arpo's seeds to 0.6 and 0.5692, and grpo's to 0.392, on straight lines from 0.2.
    assert.ok(Math.abs(arpo!.atEqualCalls.mean - (0.4 + 0.3846153846) / 2) < 1e-9);
    assert.ok(Math.abs(grpo!.atEqualCalls.mean - 0.296) < 1e-9, `${grpo!.atEqualCalls.mean}`);
    assert.ok(Math.abs(arpo!.atEqualCallsVersusBaseline.mean - 0.0963076923) < 1e-9);
    assert.ok(Math.abs(arpo!.shareOfBaseline! - 0.5) < 1e-12);
    const table = tableOf(comparison);
    assert.match(
      table[1]!,
      /^arpo +2 +75\.0 % \[.*\] +– +\+\.500 \[.*\] +500 \[246, 754\] +\+25\.0 \[.*\] +475 \(2 of 2 seeds\) +\.50 +39\.2 % \[.*\] +\+9\.6 \[.*\]$/,
    );
  });

  it('measures a finished run: its last evaluation, and its calls and curves up to every step', async function () {
    this.timeout(30_000);
    const parent = mkdtempSync(join(tmpdir(), 'measured-'));
    const { folder } = await makeTinyRun(parent, { change: config => void (config.evaluation.every = 1) });
    const { summaries, evaluations } = fold(await openRun(folder).events());
    const run = await measureRun(folder, 'tiny');
    const calls = summaries.map((_, i) =>
      summaries.slice(0, i + 1).reduce((sum, { summary }) => sum + summary.toolCalls.total, 0),
    );
    assert.deepEqual(
      [run.config, run.seed, run.toolCalls, run.trajectories],
      ['tiny', 1, calls[3], 4 * 4 * 6],
    );
    assert.deepEqual(
      run.heldOut!.map(({ step, toolCalls }) => [step, toolCalls]),
      [0, ...calls].map((made, step) => [step, made]),
    );
    const last = evaluations.find(({ step }) => step === 4)!.summary;
    assert.equal(run.accuracies.length, last.tasks);
    assert.ok(
      Math.abs(run.accuracies.reduce((sum, each) => sum + each, 0) / last.tasks - last.accuracy) < 1e-12,
    );
    assert.equal(run.greedy, last.greedyAccuracy);
    rmSync(parent, { recursive: true });
  });

  it('pairs tasks by their names, whatever their places, and leaves out those that not all runs have', () => {
    const more = measured('more', 1, 1000, [0, 1, 0, 1]);
    more.tasks = ['task#3', 'task#1', 'task#0', 'task#2'];
    const runs = [measured('grpo', 1, 1000, [0, 1, 1]), more];
    const comparison = compareRuns(runs, 'grpo');
    const result = comparison.results.find(({ config }) => config === 'more')!;
    // No task differs, so that there is nothing between them; by their places two would.
    assert.deepEqual(result.versusBaseline, { mean: 0, interval: [0, 0] });
    assert.deepEqual(
      comparison.results.map(({ accuracy }) => accuracy.mean),
      [2 / 3, 2 / 3],
    );
    assert.equal(comparison.left, 1);
    assert.match(tableOf(comparison).join('\n'), /\n1 held-out tasks are left out/);
    more.tasks = ['a', 'b', 'c', 'd'];
    assert.throws(() => compareRuns(runs, 'grpo'), /none of which all of them have/);
  });

  it('goes by the accuracy in training where not all runs were evaluated on the way', () => {
    const { heldOut: _, ...bare } = measured('bare', 1, 800, [1, 1]);
    const comparison = compareRuns([measured('grpo', 1, 1000, [1, 1]), bare], 'grpo');
    assert.equal(comparison.curve, 'training');
    assert.equal(comparison.target, 0.9);
    assert.deepEqual(comparison.results[1]!.callsToTarget, [800]);
  });

  it('says how many seeds never reached the target instead of a share', () => {
    const slow = measured('slow', 1, 900, [0, 0]);
    slow.heldOut = slow.heldOut!.slice(0, 2);
    const comparison = compareRuns(
      [
        measured('grpo', 1, 1000, [1, 1]),
        measured('grpo', 2, 1000, [1, 1]),
        slow,
        measured('slow', 2, 800, [1, 1]),
      ],
      'grpo',
    );
    const result = comparison.results.find(({ config }) => config === 'slow')!;
    assert.deepEqual(
      result.callsToTarget.map(calls => calls && Math.round(calls)),
      [null, 760],
    );
    assert.equal(result.shareOfBaseline, undefined);
    assert.equal(result.meanCallsToTarget, undefined);
    assert.match(tableOf(comparison).join('\n'), /never \(1 of 2 seeds\)/);
  });
});

describe('branchpoint compare', () => {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'compare-'));
    await makeTinyModel(join(parent, 'model'));
    writeTasks(parent);
  });
  after(() => {
    for (const child of started) child.kill('SIGKILL');
    rmSync(parent, { recursive: true });
  });

  it('trains every config under every seed once, and answers the same when asked again', async () => {
    const files = [
      configured('plain', { preset: 'grpo', rollout: { ...TINY_ROLLOUT, initialRollouts: 4 } }),
      configured('tree', {}),
    ];
    const out = join(parent, 'out');
    const argv = [
      'compare',
      ...files,
      '--seeds',
      '2,1',
      '--steps',
      '1',
      '--tasks',
      '2',
      '--samples',
      '3',
      '--out',
      out,
      '--jobs',
      '2',
      '--json',
    ];
    const first = await run(...argv);
    assert.equal(first.code, 0, first.out + first.err);
    const comparison = JSON.parse(first.out.trim().split('\n').at(-1)!) as Comparison;
    assert.equal(comparison.baseline, 'plain');
    assert.deepEqual(
      comparison.results.map(({ config, seeds, trajectories }) => ({ config, seeds, trajectories })),
      ['plain', 'tree'].map(config => ({ config, seeds: [1, 2], trajectories: 8 })),
    );
    const folders = readdirSync(out).sort();
    assert.deepEqual(folders, ['plain-seed-1-1', 'plain-seed-2-1', 'tree-seed-1-1', 'tree-seed-2-1']);
    const evaluations = await Promise.all(
      folders.map(async name => (await readEvaluation(join(out, name), 'step-1')).outcomes),
    );
    // Two tasks of eight, each with a greedy trajectory beside three samples.
    for (const outcomes of evaluations)
      assert.deepEqual(
        outcomes.map(({ trajectories }) => trajectories.length),
        [4, 4],
      );
    const journals = folders.map(name => readFileSync(join(out, name, 'events.jsonl'), 'utf8'));
    const second = await run(...argv);
    assert.equal(second.out.match(/has finished already/g)?.length, 4);
    assert.deepEqual(JSON.parse(second.out.trim().split('\n').at(-1)!), comparison);
    assert.deepEqual(
      folders.map(name => readFileSync(join(out, name, 'events.jsonl'), 'utf8')),
      journals,
    );
  });

  it('stops at Ctrl-C with what was done saved, and goes on from there', async () => {
    const file = configured('long', { steps: 500, evaluation: { tasks: 0 } });
    const out = join(parent, 'stopped');
    const main = join(import.meta.dirname, '../../src/worker/main.ts');
    const child = spawn(process.execPath, [main, 'compare', file, '--seeds', '1', '--out', out]);
    started.push(child);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = once(child, 'close');
    const folder = join(out, 'long-seed-1-1');
    const events = (): Promise<{ type: string }[]> => openRun(folder).events();
    while (!readable(folder) || !(await events()).some(({ type }) => type === 'step-finished')) {
      assert.equal(child.exitCode, null, said);
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    child.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    assert.match(said, /0 of 1 runs have finished; the same command goes on/);
    const types = (await events()).map(({ type }) => type);
    assert.deepEqual(types.slice(-2), ['checkpoint-saved', 'run-ended']);
    assert.deepEqual(readdirSync(out), ['long-seed-1-1']);
  });

  it('refuses what cannot be compared', async () => {
    writeFileSync(join(parent, 'other.jsonl'), JSON.stringify({ question: 'q', answer: 'a' }));
    const one = configured('one', {});
    const other = configured('two', { data: { train: 'other.jsonl', heldOut: 'tasks.jsonl' } });
    const blind = configured('blind', { data: { train: 'tasks.jsonl' }, evaluation: { tasks: 0 } });
    const slow = configured('slow', { steps: 4, optimizer: { warmupSteps: 3 } });
    const twin = configured('three', { name: 'one' });
    mkdirSync(join(parent, 'none'), { recursive: true });
    const wrong: [string[], RegExp][] = [
      [['compare'], /compare needs CONFIG…/],
      [
        ['compare', one, other],
        /two\.branchpoint\.json and one\.branchpoint\.json name different files in data\.train/,
      ],
      [['compare', one, twin], /both have the name one/],
      [['compare', one, '--seeds', '1,1'], /--seeds must be different whole numbers/],
      [['compare', one, '--baseline', 'best'], /--baseline must be one of one, not "best"/],
      [['compare', one, '--tasks', '0'], /--tasks must be a whole number of at least 1, not "0"/],
      [['compare', one, '--samples', '2000'], /--samples must be .* 1024/],
      [['compare', blind, '--tasks', '3'], /--tasks: An evaluation of 3 tasks needs held-out tasks/],
      [
        ['compare', slow, '--steps', '2'],
        /: optimizer\.warmupSteps: The learning rate would rise over 3 steps/,
      ],
    ];
    for (const [argv, message] of wrong) {
      const { code, err } = await run(...argv);
      assert.equal(code, 2, argv.join(' '));
      assert.match(err, message);
    }
  });
});

function readable(folder: string): boolean {
  try {
    openRun(folder);
    return true;
  } catch {
    // Not yet made, or not yet whole.
    return false;
  }
}

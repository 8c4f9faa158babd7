import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { StepSummary } from '../../src/core/events.ts';
import { fold } from '../../src/core/fold.ts';
import { evaluationIds, readEvaluation } from '../../src/run/evaluations.ts';
import { interceptWrites } from '../../src/run/disk.ts';
import { connectWorker, liveLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import { runCommand as run, TINY_ROLLOUT, writeConfig, writeTasks } from '../fakes/commandLine.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';

let parent: string;
let config: string;
const started: ChildProcess[] = [];

/** The program as a process of its own. */
function program(...argv: string[]): ChildProcess {
  const main = join(import.meta.dirname, '../../src/worker/main.ts');
  const child = spawn(process.execPath, [main, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  started.push(child);
  return child;
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; out: string }> {
  let out = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out };
}

/** Waits for a fact of a run. */
async function told(folder: string, type: string, step = 0): Promise<void> {
  for await (const { events } of openRun(folder).follow(0, AbortSignal.timeout(30_000)))
    if (events.some(event => event.type === type && event.step >= step)) return;
  assert.fail(`${type} was not told.`);
}

/** Waits until there is no such process; the test's own time limit is the limit. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
      return;
    }
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

describe('branchpoint', () => {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'main-'));
    await makeTinyModel(join(parent, 'model'));
    writeTasks(parent);
    config = writeConfig(parent, 'tiny');
  });
  after(() => {
    for (const child of started) child.kill('SIGKILL');
    const runs = join(parent, 'runs');
    for (const name of existsSync(runs) ? readdirSync(runs) : []) {
      const worker = liveLock(join(runs, name));
      if (worker) process.kill(worker.pid, 'SIGKILL');
    }
    rmSync(parent, { recursive: true });
  });

  it('says what it was asked wrongly, and exits with 2', async () => {
    const wrong: [string[], RegExp][] = [
      [['fly'], /There is no command "fly"\. Commands: train, /],
      [['train'], /train needs CONFIG: branchpoint train CONFIG/],
      [['train', config, 'again'], /train does not take "again"/],
      [['train', config, '--speed', '3'], /Unknown option '--speed'. Options of train: --out, /],
      [['train', config, '--steps', 'many'], /--steps must be a whole number of at least 1, not "many"/],
      [['train', config, '--name', 'a/b'], /--name must be /],
      [['train', join(parent, 'none.json')], /There is no file .*none\.json/],
    ];
    for (const [argv, message] of wrong) {
      const { code, err } = await run(...argv);
      assert.equal(code, 2, argv.join(' '));
      assert.match(err, message);
    }
  });

  it('tries one step of a config, tells its numbers and keeps nothing', async () => {
    const folder = join(parent, 'tried');
    mkdirSync(folder);
    await makeTinyModel(join(folder, 'model'));
    writeTasks(folder);
    const own = writeConfig(folder, 'tiny', {
      optimizer: { warmupSteps: 2 },
      tools: { cassette: { mode: 'replay-or-record', file: 'recording.jsonl' } },
    });
    const files = readdirSync(folder);
    const { code, out, err } = await run('train', own, '--dry-run', '--json');
    assert.equal(code, 0, err);
    const { dryRun } = JSON.parse(out.trimEnd().split('\n').at(-1)!) as { dryRun: StepSummary };
    assert.equal(dryRun.trajectories, 8);
    assert.ok(dryRun.seconds!.total > 0);
    assert.ok(dryRun.memory!.worker > 1e7);
    assert.deepEqual(readdirSync(folder), files);
    assert.match((await run('train', own, '--dry-run')).out, /A step takes .* s: .*\n.*8 trajectories/);
    assert.equal((await run('train', own, '--dry-run', '--detach')).code, 2);
  });

  it('shows rollouts of another program, and does nothing in their folder', async () => {
    const folder = join(parent, 'rollouts');
    mkdirSync(folder);
    const row = { input: 'What is 2+2?', output: '<answer>4</answer>', gts: '4', score: 1, step: 7 };
    writeFileSync(join(folder, '7.jsonl'), `${JSON.stringify(row)}\n`);
    utimesSync(join(folder, '7.jsonl'), 1_700_000_000, 1_700_000_000);
    const steps = await run('show', folder);
    assert.match(steps.out, /^rollouts: imported from verl, 1 step, 1 tree\n.*\n7 +\+1\.000 +100\.0 %/);
    const tree = await run('show', folder, '--tree', '7.0');
    assert.match(tree.out, /which logged no branches and no tokens/);
    assert.doesNotMatch(tree.out, /0 tokens/);
    for (const command of ['resume', 'branch', 'rescore']) {
      const { code, err } = await run(command, folder);
      assert.equal(code, 1, command);
      assert.match(err, /was imported from verl/, command);
    }
    assert.deepEqual(readdirSync(folder), ['7.jsonl']);
  });

  it('names file, line, key and fix of a config’s mistake', async () => {
    const folder = join(parent, 'mistaken');
    mkdirSync(folder);
    const file = writeConfig(folder, 'tiny', { rollout: { groupSiz: 4 } });
    const line =
      readFileSync(file, 'utf8')
        .split('\n')
        .findIndex(text => text.includes('groupSiz')) + 1;
    const { code, err } = await run('train', file);
    assert.equal(code, 2);
    assert.match(
      err,
      new RegExp(
        `tiny\\.branchpoint\\.json:${line}:\\d+ rollout\\.groupSiz is not a key .* Did you mean rollout\\.groupSize\\?`,
      ),
    );
  });

  it('trains from a config to a last line of JSON, and shows what happened', async () => {
    const { code, out } = await run('train', config, '--seed', '7', '--json');
    assert.equal(code, 0, out);
    const result = JSON.parse(out.trim().split('\n').at(-1)!) as Record<string, unknown>;
    assert.deepEqual(Object.keys(result), [
      ...['run', 'seed', 'steps', 'accuracyBefore', 'accuracyAfter', 'greedyBefore', 'greedyAfter'],
      ...['toolCalls', 'branches', 'seconds'],
    ]);
    assert.deepEqual(
      { ...result, run: '', seconds: 0 },
      {
        ...{
          run: '',
          seed: 7,
          steps: 2,
          accuracyBefore: 0,
          accuracyAfter: 0,
          greedyBefore: 0,
          greedyAfter: 0,
        },
        ...{ toolCalls: 0, branches: 0, seconds: 0 },
      },
    );
    const folder = result['run'] as string;
    const shown = await run('show', folder);
    assert.match(shown.out, /finished, 2 of 2 steps, 4 trees/);
    assert.match((await run('show', folder, '--step', '2')).out, /tree 2\.0 .*\n.*tasks#/);
    assert.match(
      (await run('show', folder, '--step', '9')).err,
      /has no trees of step 9\.\nIts last step with trees is 2\./,
    );
    const page = join(folder, 'report.html');
    const restore = interceptWrites((operation, at) => {
      if (operation === 'write' && at === folder)
        throw Object.assign(new Error('EACCES: denied'), { code: 'EACCES', syscall: 'access' });
    });
    const refused = await run('eval', folder).finally(restore);
    assert.deepEqual([refused.code, refused.out], [1, ''], 'nobody waits for what cannot be kept');
    assert.match(refused.err, /^branchpoint: EACCES: denied\n.*rights, then try again\.\n$/);
    rmSync(join(folder, 'worker.log'));
    const measured = await run('eval', folder, '--tasks', '2', '--json', '--html', page);
    const { accuracy, tasks } = JSON.parse(measured.out.trim().split('\n').at(-1)!) as Record<string, number>;
    assert.deepEqual({ accuracy, tasks }, { accuracy: 0, tasks: 2 });
    const again = fold(await openRun(folder).events()).evaluations.at(-1)!;
    assert.equal(again.summary.id, 'step-2-again-1');
    const { provenance, outcomes } = await readEvaluation(folder, 'step-2-again-1');
    assert.equal(provenance!.command, `branchpoint eval ${folder} --tasks 2 --json --html ${page}`);
    assert.match(provenance!.weights.hash, /^[0-9a-f]{64}$/);
    const [own] = evaluationIds(folder).filter(id => id === 'step-2');
    if (own !== undefined)
      assert.equal(provenance!.weights.hash, (await readEvaluation(folder, own)).provenance!.weights.hash);
    const { text, pieces, stop } = outcomes[0]!.trajectories[0]!;
    assert.equal(
      pieces!.reduce((sum, { length }) => sum + length, 0),
      text.length,
    );
    assert.ok(stop);
    assert.match(readFileSync(page, 'utf8'), /<h2>Failures by reason<\/h2>/);
    assert.match(measured.err, /^2\/2 tasks$/m);
    assert.equal(existsSync(join(folder, 'worker.log')), false);
  });

  it('detaches, answers while it works, pauses, resumes and stops, each by its command', async () => {
    const { code, out } = await outputOf(program('train', config, '--steps', '5000', '--detach'));
    assert.equal(code, 0);
    const folder = out.trim();
    const { pid } = liveLock(folder)!;
    assert.match((await run('resume', folder)).out, /already/);
    await told(folder, 'step-finished');
    assert.match((await run('pause', folder)).out, /pauses after the step/);
    await told(folder, 'paused');
    const { remote, close } = await connectWorker(folder);
    assert.equal((await remote.status()).state, 'paused');
    close();
    assert.match((await run('resume', folder)).out, /goes on/);
    await told(folder, 'resumed');
    assert.match((await run('stop', folder)).out, /Stopped after step \d+/);
    assert.equal(liveLock(folder), undefined);
    await gone(pid);
    assert.equal(fold(await openRun(folder).events()).status, 'stopped');
  });

  it('saves and stops at the first Ctrl-C', async () => {
    const child = program('train', config, '--steps', '5000');
    const ended = outputOf(child);
    const first = (await once(child.stdout!, 'data')) as [string];
    const folder = / in (.*)\n/.exec(first[0])![1]!;
    await told(folder, 'step-finished', 1);
    child.kill('SIGINT');
    const { code, out } = await ended;
    assert.equal(code, 0);
    assert.match(out, /Stopping: the step is finished and saved first/);
    const state = fold(await openRun(folder).events());
    assert.equal(state.status, 'stopped');
    assert.equal(state.checkpoints.at(-1)!.step, state.summaries.at(-1)!.step);
  });

  it('goes on from the last checkpoint after its worker was killed', async () => {
    const { out } = await outputOf(program('train', config, '--steps', '5000', '--detach'));
    const folder = out.trim();
    await told(folder, 'checkpoint-saved', 2);
    process.kill(liveLock(folder)!.pid, 'SIGKILL');
    const again = program('resume', folder);
    const ended = outputOf(again);
    await told(folder, 'resumed', 1);
    const resumedAt = (await openRun(folder).events()).find(({ type }) => type === 'resumed')!.step;
    await told(folder, 'step-finished', resumedAt + 1);
    again.kill('SIGTERM');
    assert.equal((await ended).code, 0);
    const { summaries } = fold(await openRun(folder).events());
    assert.deepEqual(
      summaries.map(({ step }) => step),
      summaries.map((_, i) => i + 1),
    );
  });

  it('fine-tunes on demonstrations, and goes on where it ended', async () => {
    const rows = Array.from({ length: 12 }, (_, i) => ({
      messages: [
        { role: 'user', content: `What is ${i} + 1?` },
        { role: 'assistant', content: `<think>So.</think><answer>\\boxed{${i + 1}}</answer>` },
      ],
    }));
    const demonstrations = join(parent, 'demonstrations.jsonl');
    writeFileSync(demonstrations, rows.map(row => JSON.stringify(row)).join('\n'));
    const out = join(parent, 'tuned');
    const wide = { ...TINY_ROLLOUT, maxResponseTokens: 64 };
    const folder = join(parent, 'sft');
    mkdirSync(folder);
    writeTasks(folder);
    const file = writeConfig(folder, 'tiny', { rollout: wide, policy: { path: '../model' } });
    const sft = (tokens: number) =>
      run(
        'sft',
        file,
        demonstrations,
        '--out',
        out,
        '--tokens',
        String(tokens),
        '--rows',
        '4',
        '--rate',
        '0.005',
      );
    const lossOf = (text: string): number => Number(/loss (\d+\.\d+)/.exec(text)![1]);
    const first = await sft(6000);
    assert.equal(first.code, 0, first.err);
    const second = await sft(12_000);
    assert.ok(lossOf(second.out) < 0.7 * lossOf(first.out), `${first.out}${second.out}`);
    const { updates } = JSON.parse(readFileSync(join(out, 'sft.json'), 'utf8')) as { updates: number };
    assert.match(second.out, new RegExp(`finished after ${updates} updates`));
    assert.ok(existsSync(join(out, 'tokenizer.json')));
    assert.deepEqual(readdirSync(out).filter(name => name.endsWith('.tmp')), []); // prettier-ignore
  });

  it('shows a tree with decisions, rewards and advantages of both kinds', async () => {
    const { folder } = await makeTinyRun(join(parent, 'shown'));
    const { out } = await run('show', folder, '--step', '3');
    assert.match(
      out,
      /◇ path \d asks: P \.\d\d, drew \.\d\d → refused {3}\(H₀ \d?\.\d{3} {2}Hₜ \d?\.\d{3} {2}ΔH [+−]\d?\.\d{3}\)/,
    );
    assert.match(out, /→ branched into path \d/);
    assert.match(out, /● \d+ model {2}\d+ tokens {2}H \d?\.\d{3} {2}hard [+−]\d?\.\d{3} {2}ends by call/);
    assert.match(
      out,
      /■ path \d \(branch of path \d after segment \d+\) {2}[✓✗] reward [+−]\d?\.\d{3} \(.*\) {2}soft [+−]\d?\.\d{3}/,
    );
  });
});

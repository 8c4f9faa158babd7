import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { Config } from '../../src/core/config.ts';
import type { Event } from '../../src/core/events.ts';
import { fold } from '../../src/core/fold.ts';
import { FailureError } from '../../src/core/types.ts';
import { besideName } from '../../src/run/disk.ts';
import { Journal } from '../../src/run/journal.ts';
import { connectWorker, readLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import type { TreeLine } from '../../src/run/trees.ts';
import type { EmbeddedPolicy } from '../../src/worker/policy/embedded/client.ts';
import { realEquipment, type Equipment } from '../../src/worker/equipment.ts';
import { work, type Watcher } from '../../src/worker/session.ts';
import type { Control } from '../../src/worker/status.ts';
import { openTokenizer } from '../../src/worker/tokenizer.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { createTinyRun, makeTinyRun, tinyEquipment, workTiny } from '../fakes/tinyRun.ts';

let parent: string;
let model: string;

/** The state of a run without names, numbers of facts and times: equal for two runs that did the same. */
async function timeless(folder: string): Promise<unknown> {
  const { run, ...state } = fold(await openRun(folder).events());
  delete state.last;
  const drop = (key: string, value: unknown): unknown =>
    ['at', 'seconds', 'run', 'span', 'tokens', 'hash'].includes(key) && typeof value !== 'number'
      ? undefined
      : value;
  return JSON.parse(JSON.stringify({ ...state, run: { ...run, run: '' } }, drop), (key, value: unknown) =>
    key === 'seconds' || key === 'memory' ? undefined : value,
  );
}

/** Last line of every tree, and its token columns as bytes. */
async function treesOf(folder: string): Promise<unknown[]> {
  const run = openRun(folder);
  const ids = (await run.trees()).map(({ id }) => id);
  return Promise.all(
    ids.map(async id => {
      const tree: Partial<TreeLine> = await run.tree(id);
      delete tree.tokens;
      return [tree, await run.columns(id)];
    }),
  );
}

const eventsOf = (folder: string): Promise<Event[]> => openRun(folder).events();

/** Does something when a fact is told. */
const when =
  (type: Event['type'], step: number, act: (control: Control) => void) =>
  (control: Control): Watcher => ({
    tell: event => {
      if (event.type === type && event.step === step) act(control);
    },
  });

/** Real weights and engine, with the fakes' data and tools. An entropy bonus gives a gradient where nothing is ever right. */
function realPolicy(opened: EmbeddedPolicy[] = []): Equipment {
  return {
    ...tinyEquipment(),
    openTokenizer,
    openPolicy: async settings => {
      const opening = await realEquipment(() => undefined).openPolicy({ ...settings, threads: 1 });
      opened.push(opening.policy as EmbeddedPolicy);
      return opening;
    },
  };
}

const forRealPolicy = (config: Config): void => {
  config.policy.path = model;
  config.algorithm.entropyBonus = 0.1;
  config.optimizer.learningRate = 1e-3;
  config.checkpoint.every = 1;
  config.evaluation.before = false;
  Object.assign(config.rollout, {
    tasksPerStep: 2,
    groupSize: 4,
    initialRollouts: 2,
    maxPromptTokens: 64,
    maxResponseTokens: 24,
  });
};

describe('session', () => {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'session-'));
    model = await makeTinyModel(join(parent, 'model'));
  });
  after(() => rmSync(parent, { recursive: true }));

  it('tells every fact of a run in order and without gaps, and frees the folder', async () => {
    const { folder, outcome } = await makeTinyRun(join(parent, 'facts'));
    const events = await eventsOf(folder);
    assert.equal(outcome, 'finished');
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => i),
    );
    assert.equal(events[0]!.type, 'run-started');
    assert.deepEqual(
      events.slice(-3).map(({ type }) => type),
      ['checkpoint-saved', 'evaluated', 'run-ended'],
    );
    const state = fold(events);
    assert.equal(state.summaries.length, 4);
    assert.equal(state.trees.length, 16);
    assert.deepEqual(
      state.evaluations.map(({ step }) => step),
      [0, 4],
    );
    assert.ok(state.evaluations[1]!.summary.greedyAccuracy! > state.evaluations[0]!.summary.greedyAccuracy!);
    assert.equal(readLock(folder), undefined);
  });

  it('does the same with the same seed whatever the timing of the tools, and other things with another', async () => {
    const [still, shaky, other] = await Promise.all([
      makeTinyRun(join(parent, 'still')),
      makeTinyRun(join(parent, 'shaky'), { toolDelayMs: 4 }),
      makeTinyRun(join(parent, 'other'), { seed: 2 }),
    ]);
    assert.deepEqual(await timeless(shaky.folder), await timeless(still.folder));
    for (const file of ['trees.jsonl', 'tokens.bin'])
      assert.ok(readFileSync(join(shaky.folder, file)).equals(readFileSync(join(still.folder, file))), file);
    assert.ok(
      !readFileSync(join(other.folder, 'tokens.bin')).equals(readFileSync(join(still.folder, 'tokens.bin'))),
    );
  });

  it('begins by removing what killed writers left, and nothing that a living one may be writing', async () => {
    const folder = await createTinyRun(join(parent, 'leftovers'));
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    const by = (pid: number, name: string, ending: 'new' | 'tmp'): string =>
      besideName(name, ending).replace(`.${process.pid}-`, `.${pid}-`);
    const left = [
      by(dead, 'label.json', 'tmp'),
      by(dead, 'branches/1.0~1.json', 'new'),
      by(dead, 'evaluations/step-1.json', 'tmp'),
      by(dead, 'trajectories/step-1.parquet', 'tmp'),
    ];
    const living = [by(process.ppid, 'branches/1.0~2.json', 'new'), by(process.ppid, 'label.json', 'tmp')];
    const kept = [...living, 'notes.tmp'];
    const files = [...left, ...kept];
    for (const name of files) {
      mkdirSync(join(folder, dirname(name)), { recursive: true });
      writeFileSync(join(folder, name), 'a par');
    }
    await workTiny(folder);
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(found.filter(name => /\.(new|tmp)$/.test(name)).sort(), kept);
  });

  it('refuses a second worker while the first lives', async () => {
    const folder = await createTinyRun(join(parent, 'second'), { toolDelayMs: 2 });
    const first = workTiny(folder);
    await assert.rejects(workTiny(folder), /Another worker \(process \d+, since .*\) owns/);
    assert.equal(await first, 'finished');
  });

  it('answers verbs on its socket: pauses between steps, goes on, and stops with a checkpoint', async () => {
    const folder = await createTinyRun(join(parent, 'verbs'), { steps: 200, toolDelayMs: 2 });
    let hearPause = (): void => undefined;
    const paused = new Promise<void>(resolve => (hearPause = resolve));
    const working = workTiny(folder, { toolDelayMs: 2 }, () => ({
      tell: event => {
        if (event.type === 'paused') hearPause();
      },
    }));
    const { remote } = await connectWorker(folder);
    assert.equal((await remote.status()).steps, 200);
    await remote.pause();
    await paused;
    const status = await remote.status();
    assert.equal(status.state, 'paused');
    await remote.resume();
    await remote.stop();
    assert.equal(await working, 'stopped');
    const events = await eventsOf(folder);
    const types = events.map(({ type }) => type);
    assert.ok(types.lastIndexOf('checkpoint-saved') > types.lastIndexOf('step-finished'));
    assert.deepEqual(
      types.filter(type => ['paused', 'resumed', 'run-ended'].includes(type)),
      ['paused', 'resumed', 'run-ended'],
    );
    assert.equal(events.find(({ type }) => type === 'resumed')!.step, status.step);
  });

  it('ends although somebody who is connected never hangs up, and never reads what he asked for', async () => {
    const folder = await createTinyRun(join(parent, 'deaf'), { steps: 200, toolDelayMs: 2 });
    const working = workTiny(folder, { toolDelayMs: 2 });
    const deaf = connectSocket({ path: readLock(folder)!.socket, allowHalfOpen: true });
    deaf.on('error', () => undefined);
    await once(deaf, 'connect');
    // More answers than the buffers between two processes hold.
    const asks = Array.from({ length: 20_000 }, (_, id) => ({ kind: 'ask', id, verb: 'status', args: [] }));
    deaf.write(asks.map(ask => `${JSON.stringify(ask)}\n`).join(''));
    const { remote } = await connectWorker(folder);
    await remote.stop();
    try {
      assert.equal(await working, 'stopped');
      assert.equal(readLock(folder), undefined);
    } finally {
      deaf.destroy();
    }
  });

  it('tells its own end also where something cannot be closed afterwards', async () => {
    const folder = await createTinyRun(join(parent, 'unclosed'));
    const equipment = tinyEquipment();
    const openTools: Equipment['openTools'] = async config => ({
      ...(await equipment.openTools(config)),
      close: () => Promise.reject(new Error('the tools stay open')),
    });
    const openPolicy: Equipment['openPolicy'] = async settings => {
      const opened = await equipment.openPolicy(settings);
      opened.policy.accumulate = () => Promise.reject(new Error('out of memory'));
      return opened;
    };
    const outcome = await work(folder, { ...equipment, openTools, openPolicy }, () => ({
      tell: () => undefined,
    }));
    assert.equal(outcome, 'failed');
    const state = fold(await eventsOf(folder));
    assert.match(state.failure?.message ?? '', /out of memory/);
    assert.ok(state.warnings.some(({ failure }) => failure.message === 'the tools stay open'));
  });

  it('does an evaluation of its own although one of the same weights was asked for by hand', async () => {
    const folder = await createTinyRun(join(parent, 'byHand'));
    assert.equal(
      await workTiny(
        folder,
        {},
        when('step-finished', 4, control => control.verbs.stop()),
      ),
      'stopped',
    );
    const { summary } = fold(await eventsOf(folder)).evaluations[0]!;
    const journal = Journal.open(folder);
    journal.tell({ type: 'evaluated', summary: { ...summary, id: 'step-4-again-1' } }, 4);
    journal.close();
    assert.equal(await workTiny(folder), 'finished');
    assert.deepEqual(
      fold(await eventsOf(folder)).evaluations.map(evaluation => evaluation.summary.id),
      ['step-0', 'step-4-again-1', 'step-4'],
    );
  });

  it('warns of an evaluation whose checkpoint is broken, and goes on without it', async () => {
    const folder = await createTinyRun(join(parent, 'brokenWeights'), {
      change: config => void (config.evaluation.every = 2),
    });
    const equipment = tinyEquipment();
    const openPolicy: Equipment['openPolicy'] = settings => {
      if (!settings.folder.endsWith('step-000002')) return equipment.openPolicy(settings);
      throw new FailureError({ where: 'store', message: 'The file ends too early.' });
    };
    const outcome = await work(folder, { ...equipment, openPolicy }, () => ({ tell: () => undefined }));
    assert.equal(outcome, 'finished');
    const state = fold(await eventsOf(folder));
    assert.deepEqual(
      state.evaluations.map(({ step }) => step),
      [0, 4],
    );
    assert.ok(
      state.warnings.some(({ failure }) => /after step 2 are not evaluated: The file/.test(failure.message)),
    );
  });

  it('tells the checkpoint that its last worker saved and could not tell any more', async () => {
    const folder = await createTinyRun(join(parent, 'untold'));
    const stop = when('step-finished', 3, control => control.verbs.stop());
    assert.equal(await workTiny(folder, {}, stop), 'stopped');
    const path = join(folder, 'events.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    const told = lines.findLastIndex(line => line.includes('"checkpoint-saved"'));
    writeFileSync(path, `${lines.slice(0, told).join('\n')}\n`);
    const before = fold(await eventsOf(folder)).checkpoints.map(({ step }) => step);
    assert.deepEqual(before, [2]);
    assert.equal(await workTiny(folder), 'finished');
    const { checkpoints } = fold(await eventsOf(folder));
    assert.deepEqual(
      checkpoints.map(({ step, folder }) => [step, folder]),
      [2, 3, 4].map(step => [step, `checkpoints/step-00000${step}`]),
    );
  });

  it('says which checkpoint it passed over, and why, when it goes on from an older one', async () => {
    const folder = await createTinyRun(join(parent, 'passed'), {
      change: ({ checkpoint }) => Object.assign(checkpoint, { every: 1, keep: 3 }),
    });
    const stop = when('step-finished', 3, control => control.verbs.stop());
    assert.equal(await workTiny(folder, {}, stop), 'stopped');
    appendFileSync(join(folder, 'checkpoints/step-000003/model.safetensors'), 'x');
    assert.equal(await workTiny(folder), 'finished');
    const events = await eventsOf(folder);
    assert.ok(events.some(event => event.type === 'resumed' && event.from === 'checkpoints/step-000002'));
    const { warnings } = fold(events);
    assert.match(
      warnings[0]!.failure.message,
      /^checkpoints\/step-000003 is passed over: model\.safetensors has 9 bytes/,
    );
  });

  it('does not save again what it has just loaded', async () => {
    const folder = await createTinyRun(join(parent, 'loaded'));
    const saved = async (): Promise<number> =>
      (await eventsOf(folder)).filter(({ type }) => type === 'checkpoint-saved').length;
    const stop = when('step-finished', 3, control => control.verbs.stop());
    assert.equal(await workTiny(folder, {}, stop), 'stopped');
    const before = await saved();
    const atOnce = when('resumed', 3, control => control.verbs.stop());
    assert.equal(await workTiny(folder, {}, atOnce), 'stopped');
    assert.equal(await saved(), before);
  });

  it('goes on after a stop as if it had never stopped', async () => {
    const unbroken = await createTinyRun(join(parent, 'unbroken'), { change: forRealPolicy });
    assert.equal(await work(unbroken, realPolicy(), () => ({ tell: () => undefined })), 'finished');
    const broken = await createTinyRun(join(parent, 'broken'), { change: forRealPolicy });
    const stop = when('step-started', 2, control => control.verbs.stop());
    assert.equal(await work(broken, realPolicy(), stop), 'stopped');
    assert.equal(await work(broken, realPolicy(), () => ({ tell: () => undefined })), 'finished');

    const weights = (folder: string): Buffer =>
      readFileSync(join(folder, 'checkpoints/step-000004/model.safetensors'));
    assert.ok(weights(broken).equals(weights(unbroken)), 'the weights differ');
    assert.ok(
      !weights(unbroken).equals(readFileSync(join(model, 'model.safetensors'))),
      'nothing was learned',
    );
    assert.deepEqual(await treesOf(broken), await treesOf(unbroken));
    assert.deepEqual(await timeless(broken), await timeless(unbroken));
  });

  it('ends as failed where its engine is killed, and does the lost step again when resumed', async () => {
    const folder = await createTinyRun(join(parent, 'killed'), { change: forRealPolicy });
    const engines: EmbeddedPolicy[] = [];
    const kill = when('step-started', 3, () => process.kill(engines[0]!.pid, 'SIGKILL'));
    assert.equal(await work(folder, realPolicy(engines), kill), 'failed');
    const last = (await eventsOf(folder)).at(-1)!;
    assert.ok(last.type === 'run-ended' && last.failure?.where === 'policy');
    assert.match(last.failure.message, /was killed \(SIGKILL\)/);
    assert.equal(await work(folder, realPolicy(), () => ({ tell: () => undefined })), 'finished');
    assert.deepEqual(
      fold(await eventsOf(folder)).summaries.map(({ step }) => step),
      [1, 2, 3, 4],
    );
    assert.deepEqual(await treesOf(folder), await treesOf(join(parent, 'unbroken', 'tiny-1')));
  });
});

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { after, before, describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import { fold } from '../../src/core/fold.ts';
import { openRun } from '../../src/run/reader.ts';
import { sizeText, usageOf, usageText } from '../../src/run/usage.ts';
import { isKept, keepsWeights, scalarsOf } from '../../src/worker/keeper.ts';
import { createTinyRun, makeTinyRun, workTiny } from '../fakes/tinyRun.ts';

describe('what a run keeps', () => {
  let parent: string;
  before(() => (parent = mkdtempSync(join(tmpdir(), 'keeper-'))));
  after(() => rmSync(parent, { recursive: true }));

  const thin = (config: Config): void => {
    Object.assign(config.record, { keepTrees: 3, parquet: true, tensorboard: true });
    Object.assign(config.checkpoint, { every: 1, keep: 1, keepEvery: 3 });
    config.evaluation.every = 4;
  };

  it('is every n-th step’s trees, and those of the first and the last', () => {
    const config = { ...defaults(), steps: 10 };
    config.record = { ...config.record, keepTrees: 4 };
    const kept = Array.from({ length: 10 }, (_, i) => i + 1).filter(step => isKept(config, step));
    assert.deepEqual(kept, [1, 4, 8, 10]);
  });

  it('is every m-th checkpoint’s weights, and those that an evaluation is due for', () => {
    const config = defaults();
    Object.assign(config.checkpoint, { every: 2, keepEvery: 3 });
    config.evaluation.every = 5;
    const kept = Array.from({ length: 14 }, (_, i) => i + 1).filter(step => keepsWeights(config, step));
    assert.deepEqual(kept, [5, 6, 10, 12]);
    config.checkpoint.keepEvery = 0;
    assert.deepEqual(
      [5, 6, 10, 12].filter(step => keepsWeights(config, step)),
      [5, 10],
    );
  });

  it('is decided before it is written: dropped trees are told and not on the disk', async function () {
    this.timeout(30_000);
    const { folder } = await makeTinyRun(join(parent, 'a'), { steps: 7, change: thin });
    const run = openRun(folder);
    const state = fold(await run.events());
    assert.deepEqual([...new Set((await run.trees()).map(({ step }) => step))], [1, 3, 6, 7]);
    assert.equal(state.trees.length, 28);
    assert.deepEqual(state.trees.filter(({ span }) => span).length, 16);
    assert.equal(
      state.trees.every(({ rewards }) => rewards.length === 6),
      true,
    );
    await assert.rejects(run.tree('2.0'), /has no tree 2\.0/);
    assert.deepEqual(readdirSync(join(folder, 'checkpoints')), [
      'step-000003',
      'step-000004',
      'step-000006',
      'step-000007',
    ]);
    assert.deepEqual(
      readdirSync(join(folder, 'trajectories')),
      [1, 2, 3, 4, 5, 6, 7].map(step => `step-00000${step}.parquet`),
    );
    const file = await asyncBufferFromFile(join(folder, 'trajectories/step-000002.parquet'));
    const rows = await parquetReadObjects({ file, compressors });
    const mean = rows.reduce((sum, row) => sum + (row['reward'] as number), 0) / rows.length;
    assert.ok(Math.abs(mean - state.summaries[1]!.summary.reward.mean) < 1e-9);
    const usage = usageOf(folder);
    const { total, ...parts } = usage;
    assert.equal(
      Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
      total,
    );
    assert.equal(
      usage.trees,
      ['trees.jsonl', 'trees.index', 'tokens.bin'].reduce(
        (sum, name) => sum + statSync(join(folder, name)).size,
        0,
      ),
    );
    assert.equal(usage.optimizer, 8);
    const [scalars] = readdirSync(join(folder, 'tensorboard'));
    const told = readFileSync(join(folder, 'tensorboard', scalars!), 'latin1');
    for (const tag of ['reward/mean', 'evaluation/accuracy', 'evaluation/byAbility/even'])
      assert.ok(told.includes(tag), tag);
    assert.match(usageText(usage), /^[\d.]+ kB on disk: /);
  });

  it('is the same after a resume, and what exports say of voided steps is replaced', async function () {
    this.timeout(30_000);
    const options = { steps: 4, change: thin };
    const whole = (await makeTinyRun(join(parent, 'whole'), options)).folder;
    const folder = await createTinyRun(join(parent, 'broken'), options);
    const stopped = await workTiny(folder, options, control => ({
      tell: event => {
        if (event.type === 'step-finished' && event.step === 2) void control.verbs.stop();
      },
    }));
    assert.equal(stopped, 'stopped');
    assert.equal(await workTiny(folder, options), 'finished');
    for (const name of readdirSync(join(whole, 'trajectories')))
      assert.deepEqual(
        readFileSync(join(folder, 'trajectories', name)).length,
        readFileSync(join(whole, 'trajectories', name)).length,
      );
    assert.equal(readdirSync(join(folder, 'tensorboard')).length >= 1, true);
    assert.deepEqual(
      (await openRun(folder).trees()).map(({ id, reward }) => [id, reward]),
      (await openRun(whole).trees()).map(({ id, reward }) => [id, reward]),
    );
  });

  it('is nothing beside trees where the config asks for nothing', async function () {
    this.timeout(30_000);
    const { folder } = await makeTinyRun(join(parent, 'plain'), { steps: 1 });
    assert.equal(existsSync(join(folder, 'trajectories')) || existsSync(join(folder, 'tensorboard')), false);
  });

  it('has a scalar for every number of a step, by its place', () => {
    assert.deepEqual(
      scalarsOf({ a: 1, b: { c: 2, d: { e: 3 } }, f: undefined, g: 'text', h: [4, null] }, 'x/'),
      {
        'x/a': 1,
        'x/b/c': 2,
        'x/b/d/e': 3,
        'x/h/0': 4,
      },
    );
  });

  it('has a size for people', () => {
    assert.deepEqual([0, 999, 1000, 1_234_567, 999_999, 5e9, 5e16].map(sizeText), [
      '0 B',
      '999 B',
      '1 kB',
      '1.23 MB',
      '1000 kB',
      '5 GB',
      '50000 TB',
    ]);
  });
});

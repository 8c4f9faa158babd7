/** A checkpoint is whole or not there. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import {
  lastCheckpoint,
  listCheckpoints,
  pruneCheckpoints,
  saveCheckpoint,
} from '../../src/run/checkpoint.ts';
import type { FailureError } from '../../src/core/types.ts';
import { interceptWrites } from '../../src/run/disk.ts';
import { inFolder } from './fixtures.ts';

const save = (run: string, step: number, weights = 'weights') =>
  saveCheckpoint(
    run,
    step,
    async folder => {
      await Promise.resolve();
      writeFileSync(join(folder, 'model.safetensors'), weights);
      writeFileSync(join(folder, 'optimizer.safetensors'), `state ${step}`);
    },
    { step, seed: 7, journalSeq: step * 100 },
  );

describe('checkpoint', () => {
  it('is found again with its state', () =>
    inFolder(async run => {
      assert.equal(await lastCheckpoint(run), undefined);
      const saved = await save(run, 3);
      await save(run, 12);
      assert.equal(saved.folder, 'checkpoints/step-000003');
      assert.match(saved.hash, /^[0-9a-f]{64}$/);
      const last = await lastCheckpoint(run);
      assert.equal(last?.name, 'checkpoints/step-000012');
      assert.deepEqual(last.state, { step: 12, seed: 7, journalSeq: 1200 });
      assert.deepEqual(last.skipped, []);
      assert.deepEqual(readdirSync(join(run, 'checkpoints')), ['step-000003', 'step-000012']);
    }));

  it('has a hash that depends on its files only', () =>
    inFolder(async run => {
      const [first, again, other] = [await save(run, 1), await save(run, 1), await save(run, 1, 'others')];
      assert.equal(first.hash, again.hash);
      assert.notEqual(first.hash, other.hash);
    }));

  it('replaces one of the same step', () =>
    inFolder(async run => {
      await save(run, 1);
      await save(run, 1, 'better');
      assert.deepEqual(readdirSync(join(run, 'checkpoints')), ['step-000001']);
      assert.equal((await lastCheckpoint(run))?.state.step, 1);
    }));

  it('leaves nothing behind where it cannot be written', () =>
    inFolder(async run => {
      await save(run, 1);
      for (const broken of ['write', 'sync', 'rename'] as const) {
        const restore = interceptWrites(operation => {
          if (operation === broken) throw new Error('EIO');
        });
        await assert.rejects(save(run, 2), /EIO/);
        restore();
        assert.deepEqual(readdirSync(join(run, 'checkpoints')), ['step-000001']);
      }
      await assert.rejects(
        saveCheckpoint(run, 2, () => Promise.reject(new Error('out of memory')), {
          step: 2,
          seed: 1,
          journalSeq: 0,
        }),
        /out of memory/,
      );
      assert.deepEqual(readdirSync(join(run, 'checkpoints')), ['step-000001']);
    }));

  it('is passed over where a file was changed, and the one before it is taken', () =>
    inFolder(async run => {
      for (const step of [1, 2, 3, 4]) await save(run, step);
      writeFileSync(join(run, 'checkpoints/step-000004/model.safetensors'), 'weighty');
      appendFileSync(join(run, 'checkpoints/step-000003/model.safetensors'), 'x');
      writeFileSync(join(run, 'checkpoints/step-000002/checkpoint.json'), '{');
      const last = await lastCheckpoint(run);
      assert.equal(last?.state.step, 1);
      assert.match(
        last.skipped[0] ?? '',
        /step-000004 is passed over: model\.safetensors is not what was written/,
      );
      assert.match(last.skipped[1] ?? '', /step-000003 .* has 8 bytes instead of 7/);
      assert.match(last.skipped[2] ?? '', /step-000002 .* checkpoint\.json cannot be read/);
    }));

  it('is passed over where what it says of itself was changed', () =>
    inFolder(async run => {
      for (const step of [1, 2]) await save(run, step);
      const path = join(run, 'checkpoints/step-000002/checkpoint.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"journalSeq": 200', '"journalSeq": 201'));
      const last = await lastCheckpoint(run);
      assert.equal(last?.state.step, 1);
      assert.match(
        last.skipped.join(),
        /step-000002 .*checkpoint\.json is not what was written \(checksum\)/,
      );
    }));

  it('is missed with all the reasons where there are only broken ones, and none is begun again without', () =>
    inFolder(async run => {
      for (const step of [1, 2]) await save(run, step);
      rmSync(join(run, 'checkpoints/step-000002/optimizer.safetensors'));
      appendFileSync(join(run, 'checkpoints/step-000001/model.safetensors'), 'x');
      await assert.rejects(lastCheckpoint(run), ({ failure }: FailureError) => {
        assert.match(failure.message, /step-000002 has no optimiser state.*step-000001 is passed over/);
        return failure.fix === 'Restore one of them from a copy, or start a new run.';
      });
    }));

  it('keeps all weights but only the newest optimiser states', () =>
    inFolder(async run => {
      for (const step of [1, 2, 3, 4]) await save(run, step);
      mkdirSync(join(run, 'checkpoints/.step-000005.99.tmp'));
      pruneCheckpoints(run, 0);
      assert.ok(existsSync(join(run, 'checkpoints/step-000001/optimizer.safetensors')));
      pruneCheckpoints(run, 2);
      const has = (file: string) => listCheckpoints(run).map(name => existsSync(join(run, name, file)));
      assert.deepEqual(has('optimizer.safetensors'), [false, false, true, true]);
      assert.deepEqual(has('model.safetensors'), [true, true, true, true]);
      assert.equal(readdirSync(join(run, 'checkpoints')).length, 4);
      assert.equal((await lastCheckpoint(run))?.state.step, 4);
    }));

  it('does not lose what it can be gone on from to later checkpoints that were passed over', () =>
    inFolder(async run => {
      for (const step of [1, 2, 5, 6]) await save(run, step);
      for (const broken of [5, 6])
        appendFileSync(join(run, `checkpoints/step-00000${broken}/model.safetensors`), 'x');
      assert.equal((await lastCheckpoint(run))?.state.step, 2);
      await save(run, 3);
      pruneCheckpoints(run, 1, () => false, 3);
      assert.equal((await lastCheckpoint(run))?.state.step, 3);
      assert.deepEqual(listCheckpoints(run).length, 3);
    }));
});

/** What an evaluation says that it was made with. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import type { Provenance } from '../../src/core/evaluation.ts';
import { saveCheckpoint } from '../../src/run/checkpoint.ts';
import { provenanceOf } from '../../src/worker/provenance.ts';
import { inFolder } from '../run/fixtures.ts';

const WEIGHTS = 'model.safetensors';

describe('the provenance of an evaluation', () => {
  const made = (folder: string, weights: string, tasksHash?: string): Promise<Provenance> => {
    const config = structuredClone(defaults('arpo'));
    config.data.heldOut = join(folder, 'tasks.jsonl');
    return provenanceOf({ config, weights, tasksHash, template: undefined, tools: [], versions: {} });
  };

  it('names the same weights alike, whether they lie in a checkpoint or not', () =>
    inFolder(async folder => {
      writeFileSync(join(folder, 'tasks.jsonl'), '{}');
      mkdirSync(join(folder, 'policy'));
      writeFileSync(join(folder, 'policy', WEIGHTS), 'weights');
      const save = (text: string, step: number): Promise<{ folder: string }> =>
        saveCheckpoint(
          folder,
          step,
          into => {
            writeFileSync(join(into, WEIGHTS), text);
            writeFileSync(join(into, 'optimizer.safetensors'), `moments of ${step}`);
            return Promise.resolve();
          },
          { step, seed: 0, journalSeq: 0 },
        );
      const hashOf = async (weights: string): Promise<string> =>
        (await made(folder, join(folder, weights))).weights.hash;
      const first = await hashOf('policy');
      assert.equal(await hashOf((await save('weights', 1)).folder), first);
      const second = (await save('others', 2)).folder;
      assert.notEqual(await hashOf(second), first);
      writeFileSync(join(folder, second, 'checkpoint.json'), '{"format"');
      await assert.rejects(hashOf(second), /checkpoint\.json cannot be read/);
    }));

  it('says whether the reward is a module of one’s own, a command or the paper’s', () =>
    inFolder(async folder => {
      mkdirSync(join(folder, 'policy'));
      const named = async (custom: object): Promise<Pick<Provenance, 'reward' | 'isModule'>> => {
        const config = structuredClone(defaults('arpo'));
        Object.assign(config.reward.custom, custom);
        const measuring = { config, weights: join(folder, 'policy'), tasksHash: 'ab', template: undefined };
        const { reward, isModule } = await provenanceOf({ ...measuring, tools: [], versions: {} });
        return { reward, ...(isModule !== undefined && { isModule }) };
      };
      assert.deepEqual(await named({}), { reward: 'paper' });
      assert.deepEqual(await named({ command: ['python3', 'mine.py'] }), { reward: 'python3 mine.py' });
      const module = join(folder, 'mine.mjs');
      assert.deepEqual(await named({ module }), { reward: module, isModule: true });
    }));

  it('needs the file of the tasks only where nobody hashed it when it was read', () =>
    inFolder(async folder => {
      mkdirSync(join(folder, 'policy'));
      assert.equal((await made(folder, join(folder, 'policy'), 'ab')).dataset.hash, 'ab');
      await assert.rejects(made(folder, join(folder, 'policy')), /ENOENT/);
    }));
});

/** No evaluation takes the place of another that was asked for by hand, and all of them can be moved with their project. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { interceptWrites } from '../../src/run/disk.ts';
import { addEvaluation, readEvaluation, writeEvaluation } from '../../src/run/evaluations.ts';
import { evaluationOf, provenance, right, wrong } from '../fakes/evaluations.ts';
import { inFolder } from './fixtures.ts';

describe('evaluations of one step', () => {
  it('are kept beside each other, also where two are done at the same time', () =>
    inFolder(async folder => {
      const first = addEvaluation(folder, 8, evaluationOf([[right()]]));
      assert.equal(first.summary.id, 'step-8-again-1');
      const restore = interceptWrites((operation, path) => {
        // Another process was quicker.
        if (operation === 'link' && path.endsWith('again-2.json')) writeFileSync(path, '{}');
      });
      const third = addEvaluation(folder, 8, evaluationOf([[wrong()]]));
      restore();
      assert.equal(third.summary.id, 'step-8-again-3');
      assert.deepEqual(
        readdirSync(join(folder, 'evaluations')).sort(),
        [1, 2, 3].map(n => `step-8-again-${n}.json`),
      );
      for (const { summary } of [first, third])
        assert.deepEqual((await readEvaluation(folder, summary.id)).summary, summary);
    }));
});

describe('an evaluation', () => {
  it('names its files from the run folder, so that it finds them where the project is moved', () =>
    inFolder(async project => {
      const [here, there] = [join(project, 'here'), join(project, 'there')];
      const made = provenance({
        weights: { folder: join(here, 'run', 'checkpoints', 'step-000008'), hash: 'aa' },
        dataset: { path: join(here, 'held-out.parquet'), hash: 'bb' },
        ...{ reward: join(here, 'own', 'reward.mjs'), isModule: true },
      });
      writeEvaluation(join(here, 'run'), evaluationOf([[right()]], { made }));
      const stored = readFileSync(join(here, 'run', 'evaluations', 'step-8.json'), 'utf8');
      assert.match(stored, /"folder":"checkpoints\/step-000008"/);
      assert.match(stored, /"path":"\.\.\/held-out\.parquet"/);
      assert.match(stored, /"reward":"\.\.\/own\/reward\.mjs"/);
      assert.ok(!stored.includes(project));
      cpSync(here, there, { recursive: true });
      assert.deepEqual((await readEvaluation(join(here, 'run'), 'step-8')).provenance, made);
      const moved = (await readEvaluation(join(there, 'run'), 'step-8')).provenance!;
      assert.equal(moved.weights.folder, join(there, 'run', 'checkpoints', 'step-000008'));
      assert.equal(moved.dataset.path, join(there, 'held-out.parquet'));
      assert.equal(moved.reward, join(there, 'own', 'reward.mjs'));
    }));

  it('keeps what earlier versions said of the reward, and a command as it was given', () =>
    inFolder(async folder => {
      for (const reward of ['paper', '/elsewhere/reward.mjs', './judge --strict']) {
        writeEvaluation(folder, evaluationOf([[right()]], { made: provenance({ reward }) }));
        assert.equal((await readEvaluation(folder, 'step-8')).provenance!.reward, reward);
      }
    }));
});

/** No evaluation takes the place of another that was asked for by hand. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { interceptWrites } from '../../src/run/disk.ts';
import { addEvaluation, readEvaluation } from '../../src/run/evaluations.ts';
import { evaluationOf, right, wrong } from '../fakes/evaluations.ts';
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

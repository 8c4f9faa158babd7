import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { advantages, credit } from '../../src/core/advantage.ts';
import { pathsThrough } from '../../src/core/tree.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { randomTree } from '../fakes/randomTree.ts';
import { goldenRows } from '../golden/read.ts';

const near = (actual: number, expected: number, what = ''): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${what} ${actual}, expected ${expected}`);

describe('advantage', () => {
  for (const row of goldenRows<{ rewards: number[]; advantages: number[] }>('advantage'))
    it(`standardises [${row.rewards.join(', ')}]`, () => {
      const found = advantages(row.rewards, 'group-std');
      row.advantages.forEach((expected, i) => near(found[i]!, expected));
    });

  it('only centres without a scale', () => {
    assert.deepEqual(advantages([1, 0], 'none'), [0.5, -0.5]);
    assert.deepEqual(advantages([0.1, 0.1, 0.1], 'none'), [0, 0, 0]);
  });

  it('gives a shared segment the mean of the paths below it (V5.3)', () => {
    const { tree } = attributionTree();
    const { soft, hard } = credit(tree, { credit: 'hard', scale: 'group-std', trainForced: false });
    [0.83802, -0.27934, -1.295121, 0.736442].forEach((expected, path) => near(soft[path]!, expected));
    assert.equal(hard[0], null, 'the prompt is not trained');
    near(hard[1]!, -0.228551, 'shared segment');
    assert.equal(hard[2], null, 'the result is not trained');
    near(hard[3]!, 0.83802);
    near(hard[5]!, -1.295121);
  });

  it('refuses a path that was not judged', () => {
    const { tree } = attributionTree();
    delete tree.paths[2]!.reward;
    const settings = { credit: 'soft', scale: 'group-std', trainForced: false } as const;
    assert.throws(() => credit(tree, settings), /Path 2 .* no reward/);
  });

  it('sums to 0 over a group, and hard is the mean over the paths below, on random trees', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { tree } = await randomTree(seed);
      const { soft, hard } = tree.credit!;
      const sum = soft.reduce((a, b) => a + b, 0);
      if (soft.length > 1) assert.ok(Math.abs(sum) < 1e-9, `seed ${seed}: soft sums to ${sum}`);
      pathsThrough(tree).forEach((paths, segment) => {
        const { kind } = tree.segments[segment]!;
        const isTrained = kind === 'model' || (kind === 'forced' && seed % 2 === 0);
        const mean = paths.reduce((total, path) => total + soft[path]!, 0) / paths.length;
        if (!isTrained) assert.equal(hard[segment], null, `seed ${seed}, segment ${segment}`);
        else assert.ok(Math.abs(hard[segment]! - mean) < 1e-12, `seed ${seed}, segment ${segment}`);
      });
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { advantages, credit, creditAll, hasNoVariance, isFlat } from '../../src/core/advantage.ts';
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

  it('compares a reward with the mean of the others in its group (RLOO)', () => {
    const { tree } = attributionTree();
    const settings = {
      credit: 'soft',
      baseline: 'leave-one-out',
      scale: 'none',
      trainForced: false,
    } as const;
    // [1.1, 0, −1, 1]: 1.1 − (0 − 1 + 1)/3, 0 − 1.1/3, −1 − 2.1/3, 1 − 0.1/3.
    [1.1, -1.1 / 3, -1.7, 1 - 0.1 / 3].forEach((expected, path) =>
      near(credit(tree, settings).soft[path]!, expected),
    );
    assert.ok(isFlat(credit(attributionTree([1, 1, 1, 1]).tree, settings)));
  });

  it('has a mean of 0 in every group under RLOO, and G/(G − 1) times the distance from the mean', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { tree } = await randomTree(seed);
      const rewards = tree.paths.map(({ reward }) => reward!.total);
      if (rewards.length === 1) continue;
      const settings = { credit: 'soft', scale: 'none', trainForced: false } as const;
      const { soft } = credit(tree, { ...settings, baseline: 'leave-one-out' });
      assert.ok(Math.abs(soft.reduce((a, b) => a + b, 0)) < 1e-9, `seed ${seed}`);
      soft.forEach((advantage, path) => {
        const others = rewards.filter((_, other) => other !== path);
        near(advantage, rewards[path]! - others.reduce((a, b) => a + b, 0) / others.length, `seed ${seed}`);
      });
    }
  });

  it('compares with the whole step, or with nothing', () => {
    const trees = [attributionTree([1, 1, 1, 1]).tree, attributionTree([1, 0, 0, 0]).tree];
    const settings = { credit: 'soft', scale: 'none', trainForced: false } as const;
    const [right, mixed] = creditAll(trees, { ...settings, baseline: 'batch-mean' });
    assert.deepEqual(right!.soft, [0.375, 0.375, 0.375, 0.375]);
    assert.deepEqual(mixed!.soft, [0.375, -0.625, -0.625, -0.625]);
    assert.deepEqual(creditAll(trees, { ...settings, baseline: 'none' })[1]!.soft, [1, 0, 0, 0]);
    assert.deepEqual(trees.map(hasNoVariance), [true, false]);
  });

  it('leaves what was lost for length aside when it looks for variance', () => {
    const { tree } = attributionTree([1, 0.7, 1, 1]);
    assert.equal(hasNoVariance(tree), false);
    tree.paths[1]!.reward!.parts = { length: -0.3 };
    assert.equal(hasNoVariance(tree), true);
  });

  it('whitens over the trained tokens of the step (Reinforce++)', () => {
    // Trained tokens of the paths: 7, 5, 5, 6; rewards 1 for the first path of the first tree, else 0.
    const trees = [attributionTree([1, 0, 0, 0]).tree, attributionTree([0, 0, 0, 0]).tree];
    const settings = { credit: 'soft', scale: 'batch-std', trainForced: false } as const;
    const [first, second] = creditAll(trees, { ...settings, baseline: 'batch-mean' });
    // 7 of 46 tokens have 1: mean 7/46, sample variance (7·39/46)/45.
    const mean = 7 / 46;
    const std = Math.sqrt((7 * 39) / 46 / 45);
    near(first!.soft[0]!, (1 - mean) / std);
    near(first!.soft[1]!, -mean / std);
    near(second!.soft[3]!, -mean / std);
    const tokens = [7, 5, 5, 6, 7, 5, 5, 6];
    const values = [...first!.soft, ...second!.soft];
    near(
      values.reduce((sum, value, i) => sum + tokens[i]! * value, 0),
      0,
    );
    near(values.reduce((sum, value, i) => sum + tokens[i]! * value ** 2, 0) / 45, 1);
    // Reinforce++-baseline: the group's mean is taken off before, [.75, −.25, −.25, −.25] and zeros.
    const [based] = creditAll(trees, { ...settings, baseline: 'group-mean' });
    const center = (7 * 0.75 - 16 * 0.25) / 46;
    const squares = 7 * (0.75 - center) ** 2 + 16 * (0.25 + center) ** 2 + 23 * center ** 2;
    near(based!.soft[0]!, (0.75 - center) / Math.sqrt(squares / 45));
    assert.ok(creditAll([trees[1]!], settings).every(isFlat));
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

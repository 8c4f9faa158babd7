import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit, isFlat, type CreditSettings } from '../../src/core/advantage.ts';
import { collate } from '../../src/core/batch.ts';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { randomTree } from '../fakes/randomTree.ts';

const SETTINGS: CreditSettings = {
  credit: 'step',
  scale: 'none',
  trainForced: false,
  stepWeight: 0.5,
  stepDiscount: 0.5,
};
const near = (actual: number, expected: number, what = ''): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${what} ${actual}, expected ${expected}`);

describe('step-level credit', () => {
  it('compares the turns after the prompt, and the turns after the same result (GiGPO)', () => {
    // Paths: [1 tool 3], [4], [1 tool 5], [6]; rewards 1.1, 0, −1, 1; γ ½, ω ½.
    const { tree } = attributionTree();
    const { soft, hard, steps } = credit(tree, SETTINGS);
    // After the prompt: returns .55, 0, −.5, 1, mean .2625; after the result: 1.1 and −1, mean .05.
    const expected = [[], [0.14375, -0.38125], [], [0.525], [-0.13125], [-0.525], [0.36875]];
    expected.forEach((values, segment) => {
      assert.equal(steps![segment]!.length, values.length);
      values.forEach((value, i) => near(steps![segment]![i]!, value, `segment ${segment}`));
    });
    near(hard[1]!, (soft[0]! + 0.14375 + soft[2]! - 0.38125) / 2);
  });

  it('divides by the standard deviation of the returns where advantages are scaled', () => {
    const { steps } = credit(attributionTree().tree, { ...SETTINGS, scale: 'group-std' });
    near(steps![3]![0]!, 0.5 * Math.SQRT1_2);
    near(steps![5]![0]!, -0.5 * Math.SQRT1_2);
  });

  it('puts turns of different branches into one group where they saw the same, whenever they did', () => {
    const { tree } = attributionTree();
    const again: Tree = {
      ...tree,
      segments: tree.segments.map((segment, index) => (index === 6 ? { ...segment, parent: 7 } : segment)),
    };
    const call = { tool: 'search', outcome: 'ok', latencyMs: 1, shared: false } as const;
    // Path 3 gets a result of its own before its turn: the same text is the same state, another text is not.
    const withResult = (text: string): Tree => ({
      ...again,
      segments: [
        ...tree.segments.slice(0, 2),
        { ...tree.segments[2]!, call: { ...call, argument: 'one' } },
        ...tree.segments.slice(3, 6),
        { parent: 0, kind: 'tool', start: 0, count: 0, text, turn: 1, call: { ...call, argument: 'other' } },
        { ...tree.segments[6]!, parent: 6 },
      ],
      paths: tree.paths.map((path, index) => (index === 3 ? { ...path, leaf: 7 } : path)),
    });
    // 1.1, −1 and 1: mean 1.1/3. What was asked for does not matter, only what came back.
    near(credit(withResult(''), SETTINGS).steps![7]![0]!, 0.5 * (1 - 1.1 / 3));
    assert.deepEqual(credit(withResult('other'), SETTINGS).steps![7], [0]);
  });

  it('teaches where all earned the same, but one of them in fewer turns', () => {
    const { tree } = attributionTree([1, 1, 1, 1]);
    const judged = credit(tree, SETTINGS);
    assert.deepEqual(judged.soft, [0, 0, 0, 0]);
    // After the prompt: returns .5, 1, .5, 1 of two turns and of one.
    near(judged.steps![4]![0]!, 0.125);
    assert.equal(isFlat(judged), false);
    assert.equal(isFlat(credit(tree, { ...SETTINGS, stepDiscount: 1 })), true);
  });

  it('reaches the batch as one term per trajectory, and adds to 0 over each state', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const grown = await randomTree(seed);
      const { tree } = grown;
      const trainForced = seed % 2 === 0;
      tree.credit = credit(tree, { ...SETTINGS, trainForced });
      const through = pathsThrough(tree);
      const first = tree.segments.flatMap(({ kind, parent }, segment) =>
        kind === 'model' && parent === 0 ? tree.credit!.steps![segment]! : [],
      );
      near(
        first.reduce((sum, value) => sum + value, 0),
        0,
        `seed ${seed}`,
      );
      assert.deepEqual(
        tree.credit.steps!.map(({ length }) => length),
        tree.segments.map(({ kind }, i) =>
          kind === 'model' || (kind === 'forced' && trainForced) ? through[i]!.length : 0,
        ),
      );
      const settings = { credit: 'step', aggregation: 'token-mean', temperature: 1 } as const;
      const limits = { maxResponseTokens: 400, trainForced, skipZeroAdvantage: true };
      const [packed] = collate([grown], { ...settings, ...limits }).trees;
      assert.equal(packed === undefined, isFlat(tree.credit), `seed ${seed}`);
      const { soft, steps } = tree.credit;
      const expected = tree.segments.flatMap(({ count }, segment) =>
        steps![segment]!.map((value, i) => count * (soft[through[segment]![i]!]! + value)),
      );
      const total = (values: Iterable<number>) => Array.from(values).reduce((sum, value) => sum + value, 0);
      if (packed) assert.ok(Math.abs(total(packed.termAdvantage) - total(expected)) < 1e-3, `seed ${seed}`);
    }
  });
});

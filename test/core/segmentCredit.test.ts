import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit, type CreditSettings } from '../../src/core/advantage.ts';
import { advantageOf, isInLoss, prefixWeights, segmentCredit } from '../../src/core/segmentCredit.ts';
import type { Tree } from '../../src/core/types.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

const credited = (used: CreditSettings['credit']): Tree => {
  const { tree } = attributionTree();
  const settings = { scale: 'none', trainForced: false, stepWeight: 0.5, stepDiscount: 0.5 } as const;
  return { ...tree, credit: credit(tree, { ...settings, credit: used }) };
};
const text = (values: readonly number[]): string => values.map(value => value.toFixed(4)).join(' ');

describe('a segment’s credit', () => {
  it('is as many numbers as trajectories under soft credit, and their mean under hard', () => {
    // Advantages .825, −.275, −1.275, .725; segment 1 is shared by the first and the third.
    const tree = credited('soft');
    assert.equal(text(segmentCredit(tree, 'soft')[1]!), '0.8250 -1.2750');
    assert.equal(text(segmentCredit(tree, 'hard')[1]!), '-0.2250');
    assert.deepEqual([segmentCredit(tree, 'soft')[0], segmentCredit(tree, 'hard')[2]], [[], []]);
  });

  it('as trained is what the update used, the comparison of turns included', () => {
    assert.equal(text(segmentCredit(credited('soft'), 'trained')[1]!), '0.8250 -1.2750');
    assert.equal(text(segmentCredit(credited('hard'), 'trained')[1]!), '-0.2250');
    assert.equal(text(segmentCredit(credited('step'), 'trained')[1]!), '0.9688 -1.6563');
    assert.equal(text(segmentCredit(credited('step'), 'soft')[1]!), '0.8250 -1.2750');
  });

  it('needs rewards only where it compares siblings', () => {
    const { credit: _, ...tree } = credited('soft');
    assert.equal(text(segmentCredit(tree, 'sibling')[3]!), '2.1000');
    assert.deepEqual(segmentCredit(tree, 'trained')[3], []);
  });

  it('weighs a shared prefix by the sum over the trajectories below it', () => {
    for (const used of ['soft', 'hard'] as const) {
      const [prompt, shared, tool, single] = prefixWeights(credited(used));
      assert.deepEqual([prompt, tool], [undefined, undefined]);
      assert.deepEqual([shared!.times, shared!.sum.toFixed(4)], [2, '-0.4500'], used);
      assert.deepEqual([single!.times, single!.sum.toFixed(4)], [1, '0.8250'], used);
    }
  });

  it('on a trajectory is what the update used of it, or the kind that is asked for', () => {
    const step = credited('step');
    const shown = (tree: Tree, choice: 'used' | 'soft' | 'hard') =>
      [0, 2].map(path => advantageOf(tree, path, 1, choice)!.toFixed(4)).join(' ');
    assert.equal(shown(step, 'used'), '0.9688 -1.6563', 'the turn’s own comparison included');
    assert.equal(shown(step, 'soft'), '0.8250 -1.2750');
    assert.equal(shown(credited('soft'), 'used'), '0.8250 -1.2750');
    assert.equal(shown(credited('hard'), 'used'), '-0.2250 -0.2250');
    assert.equal(shown(credited('soft'), 'hard'), '-0.2250 -0.2250');
    assert.equal(advantageOf(step, 0, 2, 'used'), undefined, 'a result has none');
    const { credit: _, ...uncredited } = step;
    assert.equal(advantageOf(uncredited, 0, 1, 'used'), undefined);
  });

  it('belongs to what the loss saw: forced text only where it was trained, and nothing of a counterfactual', () => {
    const { tree } = attributionTree();
    const segments = tree.segments.map((segment, i) =>
      i === 6 ? { ...segment, kind: 'forced' as const } : segment,
    );
    const forced = (trainForced: boolean): Tree => ({
      ...{ ...tree, segments },
      credit: credit({ ...tree, segments }, { credit: 'soft', scale: 'none', trainForced }),
    });
    assert.deepEqual([isInLoss(forced(true), 6), isInLoss(forced(false), 6)], [true, false]);
    assert.deepEqual([isInLoss(tree, 1), isInLoss(tree, 2), isInLoss(tree, 0)], [true, false, false]);
    assert.equal(isInLoss({ ...tree, id: '3.0~1' }, 1), false);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit, type CreditSettings } from '../../src/core/advantage.ts';
import { prefixWeights, segmentCredit } from '../../src/core/segmentCredit.ts';
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
});

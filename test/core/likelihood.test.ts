import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { changeAt, pathAlone, summarizeChange, type PathChange } from '../../src/core/likelihood.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

/** Of path 0: a prompt of 2, a turn of 3, a result of 2 and a turn of 4. */
const NOTHING = NaN;
const change: PathChange = {
  names: ['initial', 'step-000004'],
  before: {
    logProbs: [NOTHING, NOTHING, -1, -1, -1, NOTHING, NOTHING, -2, -2, -2, -2],
    entropies: [NOTHING, NOTHING, 1, 1, 1, NOTHING, NOTHING, 1, 1, 1, 1],
  },
  after: {
    logProbs: [NOTHING, NOTHING, -1, -0.5, -3, NOTHING, NOTHING, -1, -2, -2.25, -1.75],
    entropies: [NOTHING, NOTHING, 1, 1, 1, NOTHING, NOTHING, 2, 1, 1, 1],
  },
};

describe('a trajectory under two sets of weights', () => {
  it('sums what became likelier by turn, and lists the tokens that rose and fell most', () => {
    const {
      turns,
      tokens,
      raised,
      lowered,
      change: total,
    } = summarizeChange(attributionTree().tree, 0, change);
    assert.equal(tokens, 7);
    assert.equal(total, -0.5);
    assert.deepEqual(turns, [
      { segment: 1, turn: 0, tokens: 3, change: -1.5, entropyChange: 0 },
      { segment: 3, turn: 1, tokens: 4, change: 1, entropyChange: 0.25 },
    ]);
    assert.deepEqual(raised, [7, 3, 10]);
    assert.deepEqual(lowered, [4, 9]);
    assert.equal(changeAt(change, 4), -2);
    assert.ok(Number.isNaN(changeAt(change, 0)));
  });

  it('is cut out of its tree with its own tokens in reading order', () => {
    const whole = attributionTree();
    for (const path of whole.tree.paths.keys()) {
      const { tree, columns } = pathAlone(whole, path);
      const ids = segmentsOf(whole.tree, path).flatMap(index => {
        const { start, count } = whole.tree.segments[index]!;
        return [...whole.columns.ids.subarray(start, start + count)];
      });
      assert.deepEqual([...columns.ids], ids);
      assert.deepEqual(segmentsOf(tree, 0), [...tree.segments.keys()]);
      assert.equal(tree.segments.at(-1)!.start + tree.segments.at(-1)!.count, ids.length);
    }
  });
});

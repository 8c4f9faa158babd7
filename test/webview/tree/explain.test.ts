import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit } from '../../../src/core/advantage.ts';
import type { Tree } from '../../../src/core/types.ts';
import { creditText, factsOf, segmentLines, valueSentence } from '../../../webview/tree/explain.ts';
import { attributionTree } from '../../fakes/attributionTree.ts';
import { decision } from './fixture.ts';

const settings = { scale: 'none', trainForced: false, stepWeight: 0.5, stepDiscount: 0.5 } as const;
function credited(): Tree {
  const { tree } = attributionTree();
  return { ...tree, credit: credit(tree, { ...settings, credit: 'step' }) };
}

describe('what a segment says of itself', () => {
  it('has every view of its credit, and how hard its tokens are pushed', () => {
    const lines = segmentLines(credited(), 1, [0, 2]).map(({ term, value }) => `${term}: ${value}`);
    assert.deepEqual(lines, [
      'tokens: 3, trained',
      'on: 2 trajectories',
      'R: .05',
      'A trained: +.97, −1.66',
      'A hard: −.34',
      'A step: +.14, −.38',
      'A soft: +.83, −1.27',
      'A sibling: −.45',
      'prefix weight: −.69, 2×',
    ]);
  });

  it('has no credit where it is not trained', () => {
    const lines = segmentLines(credited(), 2, [0, 2]).map(({ term }) => term);
    assert.deepEqual(lines, ['tokens', 'on', 'R']);
  });

  it('shows the range of its advantages where there is room, else their mean', () => {
    assert.equal(creditText([1.25, -0.5], 20), '−.50 … +1.25');
    assert.equal(creditText([1.25, -0.5], 9), 'ø +.38');
    assert.equal(creditText([0.5, 0.5], 0), '+.50');
    assert.equal(creditText([], 20), undefined);
  });
});

describe('what a branch says of its worth', () => {
  it('is what it earned against what it left, its calls, and what it did not have to do again', () => {
    assert.equal(
      valueSentence(credited(), { ...decision(2, 'branch'), path: 0 }),
      'The branch earned −1, the trajectory that it left 1.10: value −2.10. 0 extra calls; shared: 1 call, 5 tokens.',
    );
    assert.equal(valueSentence(credited(), { ...decision(2, 'refuse'), path: 1 }), undefined);
  });
});

describe('a tree in a line', () => {
  it('says how far it is', () => {
    const { tree } = attributionTree();
    assert.ok(factsOf(credited()).endsWith('update used step credit'));
    assert.ok(factsOf({ ...tree, isDropped: true }).endsWith('left out of learning'));
    const paths = tree.paths.map(({ reward: _, ...path }) => path);
    assert.match(factsOf({ ...tree, paths }), /4 of 4 trajectories, 3 from the prompt .* still growing$/);
  });
});

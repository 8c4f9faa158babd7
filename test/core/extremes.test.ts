import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { extremes } from '../../src/core/extremes.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

describe('extremes', () => {
  it('finds the trajectories that are worth a look first', () => {
    const one = attributionTree([1.1, 0, -1, 1]);
    // Segment 3 (path 0) is calm, segment 5 (path 2) unsure; segment 6 (path 3) has the token that differs most.
    one.columns.entropies.set([1, 1, 1], 2);
    one.columns.entropies.set([0, 0, 0, 0], 7);
    one.columns.entropies.set([3, 5], 16);
    one.columns.samplerLogProbs.set([-1, -1], 18);
    one.columns.trainerLogProbs.set([-1.25, -3], 18);
    const found = Object.fromEntries(extremes([one]).map(({ kind, ...rest }) => [kind, rest]));
    assert.deepEqual(found, {
      best: { tree: '1.0', path: 0, value: 1.1 },
      median: { tree: '1.0', path: 1, value: 0 },
      worst: { tree: '1.0', path: 2, value: -1 },
      uncertain: { tree: '1.0', path: 2, value: (1 + 1 + 1 + 3 + 5) / 5 },
      longest: { tree: '1.0', path: 0, value: 9 },
      calls: { tree: '1.0', path: 0, value: 1 },
      mismatch: { tree: '1.0', path: 3, value: 2, segment: 6 },
    });
  });

  it('leaves out what was not measured, and finds nothing in no trees', () => {
    const kinds = extremes([attributionTree()]).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['best', 'median', 'worst', 'longest', 'calls']);
    assert.deepEqual(extremes([]), []);
  });
});

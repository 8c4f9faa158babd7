import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { nearestSibling } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import { path, segment, SMALL } from '../webview/tree/fixture.ts';

describe('the nearest sibling of a trajectory', () => {
  it('is the one that goes with it the longest', () => {
    // Three trajectories: 0 and 2 part at the second step, 1 at the prompt.
    const tree: Tree = {
      ...SMALL,
      segments: [
        segment(-1, 'prompt', 1),
        ...[segment(0, 'model', 1), segment(0, 'model', 1), segment(1, 'model', 1), segment(1, 'model', 1)],
      ],
      paths: [path(3), path(2), path(4, { path: 0, segment: 1 })],
    };
    assert.deepEqual(
      [0, 1, 2].map(one => nearestSibling(tree, one)),
      [2, 0, 0],
    );
  });

  it('is none where there is no other', () => {
    assert.equal(nearestSibling({ ...SMALL, paths: SMALL.paths.slice(0, 1) }, 0), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Trajectory } from '../../src/extension/overlay.ts';
import {
  nextOf,
  parentBranch,
  segmentAt,
  siblingOf,
  uncertainSteps,
} from '../../src/extension/trajectoryMoves.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { bytePieces, smallTree } from './fixture.ts';

function small(path: number): Trajectory {
  const { tree, columns } = smallTree();
  return { tree, path, columns, layout: layOut(tree, path, { ids: columns.ids, pieces: bytePieces }) };
}

describe('moves in a trajectory', () => {
  it('goes over the runs of uncertain tokens, round and round', () => {
    const trajectory = small(1);
    trajectory.columns.entropies.fill(0);
    const [first] = trajectory.layout.segments.filter(({ kind }) => kind === 'model');
    for (const token of [2, 3, 4, 9])
      trajectory.columns.entropies[trajectory.layout.tokens[first!.from + token]!] = 0.7;
    const at = trajectory.layout.starts[first!.from]!;
    assert.deepEqual(
      uncertainSteps(trajectory).map(offset => offset - at),
      [2, 9],
    );
    assert.deepEqual(
      [nextOf([2, 9], 2, 1), nextOf([2, 9], 9, 1), nextOf([2, 9], 2, -1), nextOf([], 2, 1)],
      [9, 2, 9, undefined],
    );
  });

  it('knows the segment of a place from its heading on', () => {
    const { layout } = small(1);
    assert.equal(segmentAt(layout, 0), 0);
    assert.equal(segmentAt(layout, layout.text.indexOf('── turn 2')), 4);
    assert.equal(segmentAt(layout, layout.text.indexOf('Oslo\n</result>')), 2);
  });

  it('finds the sibling at the cursor’s segment, else at the nearest branching point', () => {
    const { tree } = small(0);
    assert.deepEqual(siblingOf(tree, { path: 0, segment: 3 }, 1), { path: 1, segment: 4 });
    assert.deepEqual(siblingOf(tree, { path: 1, segment: 4 }, 1), { path: 0, segment: 3 });
    // The prompt is shared by both: the first branching point below counts.
    assert.deepEqual(siblingOf(tree, { path: 1, segment: 0 }, -1), { path: 0, segment: 3 });
    assert.deepEqual(parentBranch(tree, 1), { path: 0, segment: 2 });
    assert.equal(parentBranch(tree, 0), undefined);
    const alone = { ...tree, segments: tree.segments.slice(0, -1), paths: tree.paths.slice(0, -1) };
    assert.equal(siblingOf(alone, { path: 0, segment: 3 }, 1), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Counterfactual } from '../../../src/core/counterfactual.ts';
import type { Path, Reward, Segment, Tree } from '../../../src/core/types.ts';
import { verdict } from '../../../webview/tree/ghostCard.ts';
import { ghostAt, ghostFacts, graft, ownPlace } from '../../../webview/tree/ghosts.ts';
import { layOut } from '../../../webview/tree/layout.ts';
import { path, segment } from './fixture.ts';

const reward = (total: number): Reward => ({ total, parts: {}, correct: total > 0, reason: '' });
const judged = (leaf: number, total: number): Path => ({ ...path(leaf), reward: reward(total) });

const treeOf = (id: string, segments: Segment[], paths: Path[]): Tree => ({
  ...{ id, step: 1, rule: 'paper', initial: 1, total: 1, decisions: [] },
  task: { id: 't', question: 'q', references: [], ability: '' },
  segments,
  paths,
});

/** A prompt, two trajectories; the first calls a tool and answers. */
const TREE = treeOf(
  '1.0',
  [
    segment(-1, 'prompt', 5),
    segment(0, 'model', 5),
    segment(1, 'tool', 5),
    segment(2, 'model', 5),
    segment(0, 'model', 5),
  ],
  [judged(3, 1), judged(4, 0)],
);

/** Two samples that leave the first trajectory after its result. */
const drawn = (id: string, change: Partial<Counterfactual> = {}): Counterfactual => ({
  ...{
    id,
    trained: false,
    at: '2026-01-01T00:00:00.000Z',
    of: { tree: '1.0', path: 0, segment: 2 },
    prefix: 3,
  },
  ...{ temperature: 1, seed: 1, seconds: 1, versions: {} },
  weights: { checkpoint: 'initial', step: 0, hash: '' },
  tree: treeOf(
    id,
    [
      segment(-1, 'prompt', 5),
      segment(0, 'model', 5),
      segment(1, 'tool', 5),
      segment(2, 'model', 4),
      segment(2, 'model', 6),
    ],
    [judged(3, 1), judged(4, 0)],
  ),
  ...change,
});

describe('ghosts', () => {
  it('stand after the tree’s own numbers, below the trajectory that they left', () => {
    const { tree, untrained, ghosts, notes } = graft(TREE, [drawn('1.0~1')]);
    assert.deepEqual(untrained, { segment: 5, path: 2 });
    assert.deepEqual(
      tree.segments.map(({ parent }) => parent),
      [-1, 0, 1, 2, 0, 2, 2],
    );
    assert.deepEqual(tree.paths.slice(0, 2), TREE.paths);
    assert.deepEqual(tree.paths[3]!.from, { path: 0, segment: 2 });
    assert.equal(ghosts[0]!.difference.difference, -0.5);
    assert.deepEqual([...notes], [[5, '~1 Δ −.50']]);
    const layout = layOut(tree, { mode: 'steps', opened: new Set(), window: 900, zoom: 1 });
    assert.deepEqual(layout.lanes, [0, 2, 3, 1]);
  });

  it('have a result of their own where it was edited or asked for again', () => {
    const { tree, ghosts } = graft(TREE, [drawn('1.0~1', { result: 'edited' })]);
    assert.deepEqual(
      tree.segments.slice(5).map(({ kind, parent }) => [kind, parent]),
      [
        ['tool', 1],
        ['model', 5],
        ['model', 5],
      ],
    );
    assert.equal(ghosts[0]!.kept, 2);
  });

  it('lead back to the counterfactual’s own path and segment, each its own', () => {
    const grafted = graft(TREE, [drawn('1.0~1'), drawn('1.0~2')]);
    assert.equal(ownPlace(grafted, 1, 4), undefined);
    assert.equal(ghostAt(grafted, 4), undefined);
    const own = ownPlace(grafted, 5, 8)!;
    assert.deepEqual([own.ghost.counterfactual.id, own.path, own.segment], ['1.0~2', 1, 4]);
    // From a shared step the sample opens at its end.
    assert.equal(ownPlace(grafted, 4, 1)!.segment, 3);
    assert.equal(ghostAt(grafted, 6)!.counterfactual.id, '1.0~1');
    assert.equal(ghostAt(grafted, 7)!.counterfactual.id, '1.0~2');
    assert.equal(ghostFacts(grafted), ' · 2 counterfactuals with 4 samples, not trained on');
    assert.equal(
      verdict(grafted.ghosts[0]!),
      '2 samples earned .50 on average; the original, trajectory 0, earned 1: difference −.50',
    );
  });

  it('are none for another tree, and then the tree is the tree', () => {
    const grafted = graft(TREE, [drawn('1.0~1', { of: { tree: '2.0', path: 0, segment: 2 } })]);
    assert.equal(grafted.tree, TREE);
    assert.equal(grafted.untrained, undefined);
    assert.equal(ghostFacts(grafted), '');
  });
});

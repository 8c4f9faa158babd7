import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LiveSegment } from '../../src/core/fold.ts';
import { emptyState } from '../../src/core/fold.ts';
import { growingTree } from '../../src/extension/growingTree.ts';
import { smallTree } from './fixture.ts';

const grown = (segment: number, parent: number, kind: LiveSegment['kind'], path: number): LiveSegment => ({
  segment,
  parent,
  kind,
  tokens: 5,
  turn: 0,
  path,
  origin: 'initial',
});

describe('a growing tree', () => {
  it('has its segments in order, and a path that just branched stands where it left', () => {
    const decision = smallTree().tree.decisions[0]!;
    const call = { tool: 'search', outcome: 'ok' as const, latencyMs: 3, shared: true };
    const live = {
      id: '7.1',
      segments: [grown(0, -1, 'prompt', 0), grown(2, 1, 'tool', 0), grown(1, 0, 'model', 0)],
      calls: { 2: call },
      decisions: [decision],
    };
    const tree = growingTree(
      { ...emptyState(), live: { step: 7, at: '', tasks: ['a', 'b'], trees: [live] } },
      '7.1',
    )!;
    assert.deepEqual(
      tree.segments.map(({ kind, start, parent, call }) => [kind, start, parent, call?.shared]),
      [
        ['prompt', 0, -1, undefined],
        ['model', 5, 0, undefined],
        ['tool', 10, 1, true],
      ],
    );
    assert.deepEqual(
      tree.paths.map(({ leaf, origin, from, calls }) => [leaf, origin, from?.path, calls]),
      [
        [2, 'initial', undefined, 1],
        [2, 'branch', 0, 1],
      ],
    );
    assert.deepEqual([tree.step, tree.task.id, tree.initial, tree.total], [7, 'b', 1, 2]);
  });

  it('is nothing where the step has no tree of that name', () => {
    assert.equal(growingTree(emptyState(), '7.1'), undefined);
  });
});

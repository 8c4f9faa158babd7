import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LiveSegment, LiveTree } from '../../src/core/fold.ts';
import { emptyState } from '../../src/core/fold.ts';
import { growingTree, withGrowing } from '../../src/extension/growingTree.ts';
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

  it('leaves out what hangs at a segment that was not told yet', () => {
    const live = {
      id: '7.0',
      segments: [grown(0, -1, 'prompt', 0), grown(1, 0, 'model', 0), grown(3, 2, 'model', 1)],
      calls: {},
      decisions: [{ ...smallTree().tree.decisions[0]!, segment: 2 }],
    };
    const tree = growingTree(
      { ...emptyState(), live: { step: 7, at: '', tasks: [], trees: [live] } },
      '7.0',
    )!;
    assert.deepEqual([tree.segments.length, tree.decisions.length], [2, 0]);
    assert.ok(tree.paths.every(({ leaf }) => leaf < 2));
  });

  it('stands among the written trees in the order of its step', () => {
    const growing = (id: string): LiveTree => ({ id, segments: [], calls: {}, decisions: [] });
    const live = { step: 2, at: '', tasks: ['a', 'b', 'c'], trees: ['2.2', '2.0', '2.1'].map(growing) };
    const written = [
      { id: '1.0', step: 1, question: 'What is a?' },
      { id: '2.1', step: 2, question: 'What is b?', reward: 1 },
    ];
    assert.deepEqual(
      withGrowing(written, { ...emptyState(), live }).map(({ id, question }) => `${id} ${question}`),
      ['1.0 What is a?', '2.0 a', '2.1 What is b?', '2.2 c'],
    );
    assert.deepEqual(withGrowing(written, emptyState()), written);
  });

  it('is nothing where the step has no tree of that name', () => {
    assert.equal(growingTree(emptyState(), '7.1'), undefined);
  });
});

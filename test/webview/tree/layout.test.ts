import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Decision, Path, Segment, Tree } from '../../../src/core/types.ts';
import { fitScale, layOut } from '../../../webview/tree/layout.ts';

const segment = (parent: number, kind: Segment['kind'], count: number): Segment => ({
  parent,
  kind,
  start: 0,
  count,
  text: '',
  turn: 0,
});
const path = (leaf: number, from?: Path['from']): Path => ({
  leaf,
  origin: from ? 'branch' : 'initial',
  calls: 0,
  stop: 'answer',
  ...(from && { from }),
});
const decision = (at: number, outcome: Decision['outcome']): Decision => ({
  segment: at,
  path: 0,
  round: 0,
  rule: 'paper',
  gate: 'bernoulli',
  initialEntropy: 0.2,
  entropy: 0.5,
  entropyDelta: 0.3,
  windowTokens: 10,
  branchProbability: 0.3,
  entropyWeight: 0.5,
  probability: 0.45,
  draw: 0.2,
  made: 2,
  total: 4,
  outcome,
});

/** Prompt → two turns; the first calls a tool (segment 3), goes on (4) and is branched (5). */
const tree: Tree = {
  id: '1.0',
  step: 1,
  task: { id: 'a', question: '', references: [], ability: '' },
  rule: 'paper',
  initial: 2,
  total: 4,
  segments: [
    segment(-1, 'prompt', 10),
    segment(0, 'model', 20),
    segment(0, 'model', 5),
    segment(1, 'tool', 30),
    segment(3, 'model', 8),
    segment(3, 'model', 12),
  ],
  paths: [path(4), path(2), path(5, { path: 0, segment: 3 })],
  decisions: [decision(3, 'branch'), decision(3, 'refuse')],
};

describe('the layout of a rollout tree', () => {
  it('puts a branch into the lane below the trajectory that it left', () => {
    assert.deepEqual(layOut(tree, 1).lanes, [0, 2, 1]);
    assert.deepEqual(
      layOut(tree, 1).boxes.map(box => box?.lane),
      [0, 0, 2, 0, 0, 1],
    );
  });

  it('starts a segment where its parent and the questions asked there end', () => {
    const [prompt, turn, , tool, after] = layOut(tree, 3).boxes;
    assert.equal(turn!.x, prompt!.x + prompt!.width + 16);
    assert.equal(turn!.width, 60);
    assert.equal(after!.x, tool!.x + tool!.width + 16 + 2 * 20);
  });

  it('shares a prefix: its box names every trajectory through it', () => {
    assert.deepEqual(layOut(tree, 1).boxes[3]!.paths, [0, 2]);
  });

  it('scales the longest trajectory into the width, between legible bounds', () => {
    const { width } = layOut(tree, fitScale(tree, 500));
    assert.ok(width <= 500 && width > 495, String(width));
    assert.equal(fitScale(tree, 100_000), 6);
    assert.equal(fitScale(tree, 0), 0.4);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Tree } from '../../../src/core/types.ts';
import { advantageOf, segmentLines } from '../../../webview/tree/explain.ts';

describe('what a segment says of itself', () => {
  it('adds what turns in the same state say to a trajectory’s advantage', () => {
    const tree = {
      segments: [
        { parent: -1, kind: 'prompt' },
        { parent: 0, kind: 'model', count: 3 },
      ],
      credit: { soft: [1.25, -0.5], hard: [null, 0.5], steps: [[], [0.25, 0]], used: 'step' },
    } as unknown as Tree;
    assert.equal(advantageOf(tree, 1, [0, 1], 'soft'), '−0.50 … +1.50');
    assert.ok(
      segmentLines(tree, 1, [0, 1]).some(({ term, value }) => term === 'A step' && value.includes('+0.25')),
    );
  });

  it('shows the range of advantages that a shared turn has under soft credit, and their mean under hard', () => {
    const tree = {
      segments: [
        { parent: -1, kind: 'prompt' },
        { parent: 0, kind: 'model' },
      ],
      credit: { soft: [1.25, -0.5], hard: [null, 0.375], used: 'soft' },
    } as unknown as Tree;
    assert.equal(advantageOf(tree, 1, [0, 1], 'soft'), '−0.50 … +1.25');
    assert.equal(advantageOf(tree, 1, [0, 1], 'hard'), '+0.38');
    assert.equal(advantageOf(tree, 0, [0, 1], 'hard'), undefined);
  });
});

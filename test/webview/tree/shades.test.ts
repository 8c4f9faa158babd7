import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit } from '../../../src/core/advantage.ts';
import type { Tree } from '../../../src/core/types.ts';
import { shadingOf } from '../../../webview/tree/shades.ts';
import { attributionTree } from '../../fakes/attributionTree.ts';

function tinted(): Tree {
  const { tree } = attributionTree();
  const segments = tree.segments.map((segment, i) =>
    segment.kind === 'tool'
      ? {
          ...segment,
          call: { tool: 'search', argument: '', outcome: 'ok' as const, latencyMs: 40, shared: false },
        }
      : { ...segment, ...(segment.kind === 'model' && i !== 5 && { entropy: i / 5 }) },
  );
  return { ...tree, segments, credit: credit(tree, { credit: 'soft', scale: 'none', trainForced: false }) };
}
const levels = (...ask: Parameters<typeof shadingOf>): (string | undefined)[] =>
  shadingOf(...ask).shades.map(shade => shade && `${shade.sign === -1 ? '-' : ''}${shade.level}`);

describe('the tints of a rollout tree', () => {
  it('by entropy tell turns only, up to the highest, and nothing where none was measured', () => {
    const shading = shadingOf(tinted(), 'entropy', 'trained');
    assert.deepEqual(levels(tinted(), 'entropy', 'trained'), [
      undefined,
      '1',
      undefined,
      '4',
      '5',
      undefined,
      '8',
    ]);
    assert.deepEqual(shading.ends, ['0 nats', '1.20 nats']);
  });

  it('by advantage are as strong for a minus as for a plus of the same size', () => {
    // ø −.225 on the shared turn, then .825, −.275, −1.275 and .725.
    assert.deepEqual(levels(tinted(), 'advantage', 'trained'), [
      undefined,
      '-1',
      undefined,
      '5',
      '-2',
      '-8',
      '5',
    ]);
    assert.deepEqual(shadingOf(tinted(), 'advantage', 'trained').ends, ['−1.27', '+1.27']);
    assert.equal(levels(tinted(), 'advantage', 'sibling')[5], '-8');
  });

  it('by reward go from the smallest mean to the largest, of all that passes through', () => {
    // Means .275, .05, .05, 1.1, 0, −1, 1.
    assert.deepEqual(levels(tinted(), 'reward', 'trained'), ['5', '4', '4', '8', '4', '0', '8']);
    assert.deepEqual(shadingOf(tinted(), 'reward', 'trained').ends, ['−1', '1.10']);
  });

  it('by time tell tool calls, and say that nothing was logged where none was made', () => {
    assert.equal(levels(tinted(), 'time', 'trained')[2], '8');
    assert.equal(shadingOf(attributionTree().tree, 'time', 'trained').ends, undefined);
  });
});

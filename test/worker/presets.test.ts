/** Each preset, as a point on the axes, gives the gradient that its paper's formula gives by hand. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit } from '../../src/core/advantage.ts';
import { collate, packedOrder } from '../../src/core/batch.ts';
import { defaults, type Config } from '../../src/core/config.ts';
import { PRESETS, type Preset } from '../../src/core/configKeys.ts';
import { evaluate } from '../../src/core/objective.ts';
import { collateSettings, creditSettings, objectiveSettings } from '../../src/worker/learn.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

/**
 * Derivatives by log p in the tree of V5.3 (rewards 1.1, 0, −1, 1; trained tokens 7, 5, 5, 6), worked out by hand: of a token of
 * path 0 whose ratio is 1, of one of path 3 whose ratios are all 1.25, and of one of path 1 whose ratios are all 0.7.
 */
const ROWS: readonly [Preset, number, number, number][] = [
  ['arpo', -0.0364356, 0, 0],
  ['arpo-upstream', -0.0364356, 0, 0],
  ['grpo', -0.0364356, 0, 0],
  ['aepo', -0.0364356, -0.038423, 0],
  ['aepo-upstream', -0.0364356, -0.038423, 0],
  ['dapo', -0.0364356, -0.040024, 0],
  ['reinforce++', -0.036592, 0, 0],
  ['reinforce++-baseline', -0.036592, 0, 0],
  ['rloo', -0.0478261, 0, 0],
  ['gppo', -0.0364356, -0.038423, 0.0097162],
  ['cispo', -0.0364356, -0.040024, 0.0085017],
  ['gspo', -0.0299293, 0, 0],
  ['gigpo', -0.0671794, 0, 0],
  ['dr-grpo', -0.0128906, 0, 0],
];

function derivatives(config: Config): Float32Array {
  const one = attributionTree();
  const { tree, columns } = one;
  tree.credit = credit(tree, creditSettings(config));
  columns.trainerLogProbs.fill(-1);
  const ratioOf = (token: number): number => {
    const segment = tree.segments.findIndex(({ start, count }) => token >= start && token < start + count);
    return segment === 6 ? 1.25 : segment === 4 ? 0.7 : 1;
  };
  const settings = { ...collateSettings(config), maxResponseTokens: 16 };
  const entropies = new Float32Array(columns.ids.length).fill(0.5);
  const [packed] = collate([one], settings, [entropies]).trees;
  const order = packedOrder(tree);
  const logProbs = Float32Array.from(order, token => -1 + Math.log(ratioOf(token)));
  const { dLogProb } = evaluate(packed!, logProbs, entropies, objectiveSettings(config));
  const found = new Float32Array(order.length);
  order.forEach((token, place) => (found[token] = dLogProb[place]!));
  return found;
}

describe('presets', () => {
  it('are all here', () => {
    assert.deepEqual(ROWS.map(([preset]) => preset).sort(), Object.keys(PRESETS).sort());
  });

  for (const [preset, plain, high, low] of ROWS)
    it(`gives ${preset} its gradient`, () => {
      const { segments } = attributionTree().tree;
      const found = derivatives(defaults(preset));
      for (const [segment, expected] of [
        [3, plain],
        [6, high],
        [4, low],
      ] as const) {
        const value = found[segments[segment]!.start + 1]!;
        assert.ok(Math.abs(value - expected) < 1e-6, `segment ${segment}: ${value}, expected ${expected}`);
      }
    });
});

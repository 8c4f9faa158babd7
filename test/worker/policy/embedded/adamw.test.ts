/** AdamW and clipping against torch.optim.AdamW and clip_grad_norm_. See test/golden/make_tiny_model.py. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'mocha';
import {
  clipFactor,
  emptyState,
  globalNorm,
  updateTensor,
} from '../../../../src/worker/policy/embedded/adamw.ts';
import type { StepSettings } from '../../../../src/worker/policy/policy.ts';

type Tensors = Record<'matrix' | 'vector', number[]>;
interface Golden {
  adamw: {
    settings: StepSettings;
    start: Tensors;
    steps: (Tensors & { gradients: Tensors; norm: number })[];
  };
}
const { adamw } = JSON.parse(
  readFileSync(new URL('../../../golden/engine.json', import.meta.url), 'utf8'),
) as Golden;

describe('AdamW', () => {
  it('takes the steps that PyTorch takes', () => {
    const state = emptyState();
    const weights = {
      matrix: Float32Array.from(adamw.start.matrix),
      vector: Float32Array.from(adamw.start.vector),
    };
    for (const step of adamw.steps) {
      const gradients = {
        matrix: Float32Array.from(step.gradients.matrix),
        vector: Float32Array.from(step.gradients.vector),
      };
      const norm = globalNorm(Object.values(gradients));
      assert.ok(Math.abs(norm - step.norm) < 1e-6 * step.norm);
      state.steps++;
      for (const name of ['matrix', 'vector'] as const) {
        const update = { name, weight: weights[name], gradient: gradients[name], decays: name === 'matrix' };
        updateTensor(state, update, adamw.settings, clipFactor(norm, adamw.settings.maxGradientNorm));
        step[name].forEach((value, i) =>
          assert.ok(
            Math.abs(weights[name][i]! - value) < 1e-6,
            `${name} ${i}: ${weights[name][i]} instead of ${value}`,
          ),
        );
      }
    }
  });

  it('does not clip gradients below the limit, nor where there is none', () => {
    assert.equal(clipFactor(0.5, 1), 1);
    assert.equal(clipFactor(100, 0), 1);
    assert.ok(Math.abs(clipFactor(4, 1) - 0.25) < 1e-6);
  });
});

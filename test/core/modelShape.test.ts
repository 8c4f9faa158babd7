/** What is read from a model's config.json, and what is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { checkWeights, modelTensors, parameterCount, readShape } from '../../src/core/modelShape.ts';
import { randomWeights, TINY } from '../worker/policy/embedded/fixtures.ts';

/** As in HuggingFaceTB/SmolLM2-135M. */
const smol = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 576,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  intermediate_size: 1536,
  vocab_size: 49_152,
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  rope_scaling: null,
  tie_word_embeddings: true,
  max_position_embeddings: 8192,
  hidden_act: 'silu',
};

describe('A model shape', () => {
  it('is read from a Llama config, with defaults where keys are absent', () => {
    const shape = readShape(smol);
    assert.equal(shape.headDim, 64);
    assert.equal(shape.ropeTheta, 100_000);
    assert.equal(parameterCount(shape), 134_515_008);
    assert.equal(readShape({ ...smol, num_key_value_heads: undefined }).keyValueHeads, 9);
    assert.equal(readShape({ ...smol, tie_word_embeddings: undefined }).tiedHead, false);
  });

  it('has biases for Qwen2, head norms and its own head size for Qwen3', () => {
    const qwen2 = readShape({ ...smol, architectures: ['Qwen2ForCausalLM'] });
    assert.ok(modelTensors(qwen2).has('model.layers.29.self_attn.k_proj.bias'));
    const qwen3 = readShape({ ...smol, architectures: ['Qwen3ForCausalLM'], head_dim: 128 });
    assert.deepEqual(modelTensors(qwen3).get('model.layers.0.self_attn.q_norm.weight'), [128]);
    assert.deepEqual(modelTensors(qwen3).get('model.layers.0.self_attn.o_proj.weight'), [576, 9 * 128]);
  });

  it('reads the base of the rotary angles also from rope_parameters', () => {
    const shape = readShape({
      ...smol,
      rope_theta: undefined,
      rope_parameters: { rope_theta: 5e5, rope_type: 'default' },
    });
    assert.equal(shape.ropeTheta, 5e5);
  });

  for (const [what, change, message] of [
    ['another architecture', { architectures: ['GPT2LMHeadModel'] }, /GPT2LMHeadModel is not supported/],
    ['rotary scaling', { rope_scaling: { rope_type: 'yarn', factor: 4 } }, /rotary scaling "yarn"/],
    ['sliding windows', { use_sliding_window: true }, /sliding-window/],
    ['another activation', { hidden_act: 'gelu' }, /"gelu"/],
    ['biases that it does not know', { attention_bias: true }, /attention_bias/],
    ['heads that cannot be shared', { num_key_value_heads: 4 }, /9 attention heads cannot share 4/],
    ['a missing size', { hidden_size: undefined }, /"hidden_size" must be a whole number/],
    ['quantised weights', { quantization_config: { bits: 4 } }, /quantised/],
  ] as const)
    it(`is refused for ${what}`, () => assert.throws(() => readShape({ ...smol, ...change }), message));

  it('names the first tensor that is missing or has the wrong size', () => {
    const weights = randomWeights(TINY, 1);
    checkWeights(TINY, weights);
    weights.set('model.layers.1.mlp.up_proj.weight', new Float32Array(3));
    assert.throws(
      () => checkWeights(TINY, weights),
      /layers\.1\.mlp\.up_proj\.weight should have 20 × 12 numbers, but has 3/,
    );
    weights.delete('model.norm.weight');
    weights.set('model.layers.1.mlp.up_proj.weight', new Float32Array(240));
    assert.throws(
      () => checkWeights(TINY, weights),
      /model\.norm\.weight should have 12 numbers, but is missing/,
    );
  });
});

/** A policy before any training: its configuration and random weights in Hugging Face layout. Knows nothing of engines. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamKey, uniform } from '../../../src/core/random.ts';
import { writeTensors, type Tensor } from '../../../src/run/safetensors.ts';
import { modelTensors, readShape, sizeOf } from '../../../src/core/modelShape.ts';
import { VOCABULARY_SIZE } from './tokenizer.ts';

/** About a million parameters are enough to copy names and figures from results; normed queries and keys learn it sooner. */
const CONFIG = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  vocab_size: VOCABULARY_SIZE,
  hidden_size: 128,
  intermediate_size: 352,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  hidden_act: 'silu',
  max_position_embeddings: 512,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: true,
  attention_bias: false,
  /** Three times the usual: at this width smaller values only delay the start. */
  initializer_range: 0.06,
  bos_token_id: null,
  eos_token_id: 3,
  pad_token_id: 0,
  torch_dtype: 'float32',
} as const;

export const writeConfig = (folder: string): Promise<void> =>
  writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG, null, 2) + '\n');

/** Writes model.safetensors with normal values; what adds to the residual stream is smaller by √(2·layers), norms are 1. */
export async function writeRandomWeights(folder: string, seed: number): Promise<void> {
  const tensors = [...modelTensors(readShape(CONFIG))].map(([name, shape]): [string, Tensor] => [
    name,
    { shape, data: randomTensor(name, sizeOf(shape), seed) },
  ]);
  await writeTensors(join(folder, 'model.safetensors'), tensors);
}

function randomTensor(name: string, size: number, seed: number): Float32Array {
  if (name.includes('norm')) return new Float32Array(size).fill(1);
  const isResidual = name.includes('o_proj') || name.includes('down_proj');
  const deviation = CONFIG.initializer_range / (isResidual ? Math.sqrt(2 * CONFIG.num_hidden_layers) : 1);
  const key = streamKey('init', seed, name);
  // Box and Muller: two uniform numbers give a normal one.
  return Float32Array.from(
    { length: size },
    (_, i) =>
      deviation *
      Math.sqrt(-2 * Math.log(1 - uniform(key, 2 * i))) *
      Math.cos(2 * Math.PI * uniform(key, 2 * i + 1)),
  );
}

/** Copies the tokenizer and the configuration that a folder of weights needs. */
export async function copyPolicyFiles(from: string, to: string): Promise<void> {
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await writeFile(join(to, name), await readFile(join(from, name)));
}

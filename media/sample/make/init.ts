/** A policy before any training: its configuration and random weights in Hugging Face layout. Knows nothing of engines. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamKey, uniform } from '../../../src/core/random.ts';
import { VOCABULARY_SIZE } from './tokenizer.ts';

/** About a million parameters: measured to be enough to copy names and figures from results (see README.md). */
const CONFIG = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
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
  mlp_bias: false,
  initializer_range: 0.02,
  bos_token_id: null,
  eos_token_id: 3,
  pad_token_id: 0,
  torch_dtype: 'float32',
} as const;

export const writeConfig = (folder: string): Promise<void> =>
  writeFile(join(folder, 'config.json'), JSON.stringify(CONFIG, null, 2) + '\n');

/** Writes model.safetensors with N(0, 0.02); what adds to the residual stream is smaller by √(2·layers), norms are 1. */
export async function writeRandomWeights(folder: string, seed: number): Promise<void> {
  const tensors = shapes();
  const header: Record<string, { dtype: 'F32'; shape: number[]; data_offsets: [number, number] }> = {};
  let offset = 0;
  for (const [name, shape] of tensors) {
    const bytes = 4 * sizeOf(shape);
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const json = Buffer.from(JSON.stringify(header));
  const start = 8 + Math.ceil(json.length / 8) * 8;
  const file = Buffer.alloc(start + offset);
  file.writeBigUInt64LE(BigInt(start - 8));
  file.fill(' ', 8, start);
  json.copy(file, 8);
  const values = new Float32Array(file.buffer, file.byteOffset + start, offset / 4);
  for (const [name, shape] of tensors)
    fill(values.subarray(header[name]!.data_offsets[0] / 4), name, { size: sizeOf(shape), seed });
  await writeFile(join(folder, 'model.safetensors'), file);
}

function shapes(): [name: string, shape: number[]][] {
  const {
    hidden_size: width,
    head_dim,
    num_attention_heads,
    num_key_value_heads,
    intermediate_size,
    vocab_size,
  } = CONFIG;
  const layer = (prefix: string): [string, number[]][] => [
    [`${prefix}.input_layernorm.weight`, [width]],
    [`${prefix}.self_attn.q_proj.weight`, [num_attention_heads * head_dim, width]],
    [`${prefix}.self_attn.k_proj.weight`, [num_key_value_heads * head_dim, width]],
    [`${prefix}.self_attn.v_proj.weight`, [num_key_value_heads * head_dim, width]],
    [`${prefix}.self_attn.o_proj.weight`, [width, num_attention_heads * head_dim]],
    [`${prefix}.post_attention_layernorm.weight`, [width]],
    [`${prefix}.mlp.gate_proj.weight`, [intermediate_size, width]],
    [`${prefix}.mlp.up_proj.weight`, [intermediate_size, width]],
    [`${prefix}.mlp.down_proj.weight`, [width, intermediate_size]],
  ];
  return [
    ['model.embed_tokens.weight', [vocab_size, width]],
    ...Array.from({ length: CONFIG.num_hidden_layers }, (_, i) => layer(`model.layers.${i}`)).flat(),
    ['model.norm.weight', [width]],
  ];
}

function fill(values: Float32Array, name: string, { size, seed }: { size: number; seed: number }): void {
  if (name.includes('norm')) {
    values.fill(1, 0, size);
    return;
  }
  const isResidual = name.includes('o_proj') || name.includes('down_proj');
  const deviation = CONFIG.initializer_range / (isResidual ? Math.sqrt(2 * CONFIG.num_hidden_layers) : 1);
  const key = streamKey('init', seed, name);
  // Box and Muller: two uniform numbers give a normal one.
  for (let i = 0; i < size; i++)
    values[i] =
      deviation *
      Math.sqrt(-2 * Math.log(1 - uniform(key, 2 * i))) *
      Math.cos(2 * Math.PI * uniform(key, 2 * i + 1));
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Copies the tokenizer and the configuration that a folder of weights needs. */
export async function copyPolicyFiles(from: string, to: string): Promise<void> {
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await writeFile(join(to, name), await readFile(join(from, name)));
}

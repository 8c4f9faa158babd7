/** Reads a model's shape from a Hugging Face config.json and names its tensors. Knows nothing of graphs or files. */
import { FailureError } from './types.ts';

export type Architecture = 'llama' | 'qwen2' | 'qwen3';

export interface ModelShape {
  architecture: Architecture;
  hidden: number;
  layers: number;
  heads: number;
  /** Key and value heads; divides heads. */
  keyValueHeads: number;
  /** Numbers per head. */
  headDim: number;
  /** Width of the feed-forward network. */
  feedForward: number;
  vocabulary: number;
  /** ε of every RMS norm. */
  epsilon: number;
  /** Base of the rotary angles. */
  ropeTheta: number;
  /** True where the output matrix is the embedding. */
  tiedHead: boolean;
  /** True where query, key and value have biases (Qwen2). */
  attentionBias: boolean;
  /** True where each query and key head is normalised (Qwen3). */
  headNorm: boolean;
  /** Longest sequence that the model was made for. */
  contextLength: number;
}

export const EMBEDDING = 'model.embed_tokens.weight';
export const FINAL_NORM = 'model.norm.weight';
export const HEAD = 'lm_head.weight';

const architectures: Readonly<Record<string, Architecture>> = {
  LlamaForCausalLM: 'llama',
  Qwen2ForCausalLM: 'qwen2',
  Qwen3ForCausalLM: 'qwen3',
};

function refuse(message: string, fix?: string): never {
  throw new FailureError({
    where: 'policy',
    message: `The model's config.json: ${message}`,
    ...(fix && { fix }),
  });
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function count(config: Json, key: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    refuse(`"${key}" must be a whole number above 0, but is ${JSON.stringify(value)}.`);
  return value;
}

function number(config: Json, key: string, fallback: number): number {
  const value = config[key] ?? fallback;
  if (typeof value !== 'number' || !(value > 0))
    refuse(`"${key}" must be a number above 0, but is ${JSON.stringify(value)}.`);
  return value;
}

/** Features that change the computation and that our graphs lack. */
function refuseUnknownFeatures(config: Json): void {
  const scaling = config['rope_scaling'] ?? config['rope_parameters'];
  const kind = isObject(scaling) ? (scaling['rope_type'] ?? scaling['type'] ?? 'default') : 'default';
  if (kind !== 'default')
    refuse(
      `rotary scaling ${JSON.stringify(kind)} is not supported.`,
      'Use a model without rope_scaling, such as Qwen2.5, Qwen3 or SmolLM2.',
    );
  if (isObject(scaling) && (scaling['partial_rotary_factor'] ?? 1) !== 1)
    refuse('partial rotary embeddings are not supported.');
  if ((config['hidden_act'] ?? 'silu') !== 'silu')
    refuse(`activation "${String(config['hidden_act'])}" is not supported, only silu.`);
  if (config['use_sliding_window'] === true) refuse('sliding-window attention is not supported.');
  if (config['mlp_bias'] === true) refuse('biases in the feed-forward network (mlp_bias) are not supported.');
  if (isObject(config['quantization_config']))
    refuse('quantised weights are not supported.', 'Use the unquantised model.');
}

/** Throws a FailureError of `policy` that names the key and what is wrong with it. */
export function readShape(config: unknown): ModelShape {
  if (!isObject(config)) refuse('it is not a JSON object.');
  const names = Array.isArray(config['architectures']) ? config['architectures'].map(String) : [];
  const architecture = names.map(name => architectures[name]).find(known => known);
  if (!architecture)
    refuse(
      `architecture ${names.join(', ') || '(none)'} is not supported.`,
      `Use one of ${Object.keys(architectures).join(', ')}.`,
    );
  refuseUnknownFeatures(config);
  const hidden = count(config, 'hidden_size');
  const heads = count(config, 'num_attention_heads');
  const keyValueHeads = count(config, 'num_key_value_heads', heads);
  if (heads % keyValueHeads !== 0)
    refuse(`${heads} attention heads cannot share ${keyValueHeads} key and value heads.`);
  if (architecture !== 'qwen2' && config['attention_bias'] === true)
    refuse(`attention_bias is not supported for ${architecture}.`);
  const headDim = count(config, 'head_dim', architecture === 'qwen3' ? 128 : hidden / heads);
  if (headDim % 2 !== 0) refuse(`"head_dim" must be even, but is ${headDim}.`);
  const rope = isObject(config['rope_parameters']) ? config['rope_parameters'] : config;
  return {
    architecture,
    hidden,
    layers: count(config, 'num_hidden_layers'),
    heads,
    keyValueHeads,
    headDim,
    feedForward: count(config, 'intermediate_size'),
    vocabulary: count(config, 'vocab_size'),
    epsilon: number(config, 'rms_norm_eps', 1e-6),
    ropeTheta: number(rope, 'rope_theta', number(config, 'rope_theta', 10_000)),
    tiedHead: config['tie_word_embeddings'] === true,
    attentionBias: architecture === 'qwen2',
    headNorm: architecture === 'qwen3',
    contextLength: count(config, 'max_position_embeddings', 2048),
  };
}

/** Tensors of one layer: the part of their name after `model.layers.<n>.`, and their dimensions. */
export function layerTensors(shape: ModelShape): Record<string, readonly number[]> {
  const { hidden, heads, keyValueHeads, headDim, feedForward } = shape;
  const [queries, keys] = [heads * headDim, keyValueHeads * headDim];
  return {
    'input_layernorm.weight': [hidden],
    'self_attn.q_proj.weight': [queries, hidden],
    'self_attn.k_proj.weight': [keys, hidden],
    'self_attn.v_proj.weight': [keys, hidden],
    'self_attn.o_proj.weight': [hidden, queries],
    'post_attention_layernorm.weight': [hidden],
    'mlp.gate_proj.weight': [feedForward, hidden],
    'mlp.up_proj.weight': [feedForward, hidden],
    'mlp.down_proj.weight': [hidden, feedForward],
    ...(shape.attentionBias && {
      'self_attn.q_proj.bias': [queries],
      'self_attn.k_proj.bias': [keys],
      'self_attn.v_proj.bias': [keys],
    }),
    ...(shape.headNorm && { 'self_attn.q_norm.weight': [headDim], 'self_attn.k_norm.weight': [headDim] }),
  };
}

export const layerTensorName = (layer: number, name: string): string => `model.layers.${layer}.${name}`;

/** Every tensor of the model by its Hugging Face name, with its dimensions, in file order. */
export function modelTensors(shape: ModelShape): Map<string, readonly number[]> {
  const tensors = new Map<string, readonly number[]>([[EMBEDDING, [shape.vocabulary, shape.hidden]]]);
  for (let layer = 0; layer < shape.layers; layer++)
    for (const [name, dims] of Object.entries(layerTensors(shape)))
      tensors.set(layerTensorName(layer, name), dims);
  tensors.set(FINAL_NORM, [shape.hidden]);
  if (!shape.tiedHead) tensors.set(HEAD, [shape.vocabulary, shape.hidden]);
  return tensors;
}

export const sizeOf = (dims: readonly number[]): number => dims.reduce((product, dim) => product * dim, 1);

export const parameterCount = (shape: ModelShape): number =>
  [...modelTensors(shape).values()].reduce((sum, dims) => sum + sizeOf(dims), 0);

/** Throws a FailureError of `policy` for the first tensor that is missing or has the wrong size. */
export function checkWeights(shape: ModelShape, weights: ReadonlyMap<string, Float32Array>): void {
  for (const [name, dims] of modelTensors(shape)) {
    const found = weights.get(name)?.length;
    if (found !== sizeOf(dims))
      throw new FailureError({
        where: 'policy',
        message: `The model's weights: ${name} should have ${dims.join(' × ')} numbers, but ${found === undefined ? 'is missing' : `has ${found}`}.`,
      });
  }
}

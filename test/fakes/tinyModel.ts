/** A policy of random weights, small enough to open in milliseconds, with a real tokenizer. Knows nothing of engines. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamKey, uniform } from '../../src/core/random.ts';
import { writeTensors, type Tensor } from '../../src/run/safetensors.ts';

export interface TinyModelOptions {
  /** Default `llama`. */
  architecture?: 'llama' | 'qwen2' | 'qwen3';
  seed?: number;
  hidden?: number;
  layers?: number;
  heads?: number;
  kvHeads?: number;
  headSize?: number;
  ffn?: number;
  /** Default true: the head is the embedding. */
  tied?: boolean;
  /** At least TINY_VOCABULARY; rows above it have no token. */
  vocabulary?: number;
  contextLength?: number;
}

export const TAGS = [
  '<think>',
  '</think>',
  '<search>',
  '</search>',
  '<python>',
  '</python>',
  '<result>',
  '</result>',
  '<answer>',
  '</answer>',
  '\\boxed{',
] as const;
export const SPECIALS = ['<|end|>', '<|user|>', '<|assistant|>', '<|system|>'] as const;
const MERGES = [
  't h',
  'th e',
  'Ġ the',
  'i n',
  'a n',
  'Ġ a',
  'o n',
  'e r',
  'Ġ c',
  'in g',
  'a t',
  'Ġ w',
  'Ġ o',
  'o f',
  'Ġ in',
  'r e',
  '< /',
  '. Ċ',
];

/** The printable stand-in of every byte, as GPT-2's byte-level vocabularies write them. */
function byteCharacters(): string[] {
  let next = 256;
  const isPrintable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}

const BASE = [...byteCharacters(), ...MERGES.map(merge => merge.replace(' ', ''))];
/** Ids of the added tokens, in the order of their names. */
export const TINY_IDS: ReadonlyMap<string, number> = new Map(
  [...TAGS, ...SPECIALS].map((token, i) => [token, BASE.length + i]),
);
export const TINY_VOCABULARY = BASE.length + TINY_IDS.size;
const TEMPLATE =
  '{% for message in messages %}<|{{ message.role }}|> {{ message.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}';

/** Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json into a folder, which is made. */
export async function makeTinyModel(folder: string, options: TinyModelOptions = {}): Promise<string> {
  await mkdir(folder, { recursive: true });
  const shape = {
    architecture: 'llama' as const,
    seed: 1,
    hidden: 32,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    ffn: 48,
    tied: true,
    vocabulary: TINY_VOCABULARY,
    contextLength: 512,
    ...options,
  };
  const full = { headSize: shape.hidden / shape.heads, ...shape };
  await writeJson(folder, 'config.json', configOf(full));
  await writeTensors(join(folder, 'model.safetensors'), weightsOf(full));
  await makeTinyTokenizer(folder);
  return folder;
}

/** Only the tokenizer's two files. */
export async function makeTinyTokenizer(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const added = [...TINY_IDS].map(([content, id]) => ({
    ...{ id, content, special: (SPECIALS as readonly string[]).includes(content) },
    ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true };
  await writeJson(folder, 'tokenizer.json', {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel],
    },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(BASE.map((token, id) => [token, id])),
      merges: MERGES,
    },
  });
  await writeJson(folder, 'tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    eos_token: '<|end|>',
    model_max_length: 512,
    chat_template: TEMPLATE,
  });
}

type Full = Required<TinyModelOptions>;

function configOf(shape: Full): Record<string, unknown> {
  const classes = { llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM', qwen3: 'Qwen3ForCausalLM' };
  return {
    architectures: [classes[shape.architecture]],
    model_type: shape.architecture,
    vocab_size: shape.vocabulary,
    hidden_size: shape.hidden,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headSize,
    intermediate_size: shape.ffn,
    max_position_embeddings: shape.contextLength,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    hidden_act: 'silu',
    tie_word_embeddings: shape.tied,
    eos_token_id: TINY_IDS.get('<|end|>'),
    torch_dtype: 'float32',
  };
}

function* weightsOf(shape: Full): Generator<[string, Tensor]> {
  const { hidden, headSize, ffn, vocabulary } = shape;
  const [q, kv] = [shape.heads * headSize, shape.kvHeads * headSize];
  const near = (name: string, dims: number[], mean: number, spread: number): [string, Tensor] => {
    const stream = streamKey('tiny', shape.seed, name);
    const size = dims.reduce((a, b) => a * b, 1);
    return [
      name,
      {
        shape: dims,
        data: Float32Array.from(
          { length: size },
          (_, i) => mean + spread * Math.sqrt(12) * (uniform(stream, i) - 0.5),
        ),
      },
    ];
  };
  const matrix = (name: string, rows: number, columns: number): [string, Tensor] =>
    near(name, [rows, columns], 0, 1 / Math.sqrt(columns));
  yield near('model.embed_tokens.weight', [vocabulary, hidden], 0, 1.5 / Math.sqrt(hidden));
  for (let l = 0; l < shape.layers; l++) {
    const at = `model.layers.${l}.`;
    yield near(`${at}input_layernorm.weight`, [hidden], 1, 0.1);
    yield matrix(`${at}self_attn.q_proj.weight`, q, hidden);
    yield matrix(`${at}self_attn.k_proj.weight`, kv, hidden);
    yield matrix(`${at}self_attn.v_proj.weight`, kv, hidden);
    yield matrix(`${at}self_attn.o_proj.weight`, hidden, q);
    if (shape.architecture === 'qwen2') {
      yield near(`${at}self_attn.q_proj.bias`, [q], 0, 0.3);
      yield near(`${at}self_attn.k_proj.bias`, [kv], 0, 0.3);
      yield near(`${at}self_attn.v_proj.bias`, [kv], 0, 0.3);
    }
    if (shape.architecture === 'qwen3') {
      yield near(`${at}self_attn.q_norm.weight`, [headSize], 1, 0.1);
      yield near(`${at}self_attn.k_norm.weight`, [headSize], 1, 0.1);
    }
    yield near(`${at}post_attention_layernorm.weight`, [hidden], 1, 0.1);
    yield matrix(`${at}mlp.gate_proj.weight`, ffn, hidden);
    yield matrix(`${at}mlp.up_proj.weight`, ffn, hidden);
    yield matrix(`${at}mlp.down_proj.weight`, hidden, ffn);
  }
  yield near('model.norm.weight', [hidden], 1, 0.1);
  if (!shape.tied) yield near('lm_head.weight', [vocabulary, hidden], 0, 1.5 / Math.sqrt(hidden));
}

const writeJson = (folder: string, name: string, value: unknown): Promise<void> =>
  writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);

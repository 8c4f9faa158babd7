/**
 * Trains the sample's byte-level BPE tokenizer: single digits, protocol tags as whole tokens. Writes the Hugging Face
 * format. Knows nothing of the world that the texts are about.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const VOCABULARY_SIZE = 1024;
export const PAD = '<|pad|>';
export const USER = '<|user|>';
export const ASSISTANT = '<|assistant|>';
export const END = '<|end|>';

const TAGS = ['think', 'search', 'python', 'result', 'answer'].flatMap(tag => [`<${tag}>`, `</${tag}>`]);
const SPECIAL = [PAD, USER, ASSISTANT, END];
const ADDED = [...SPECIAL, ...TAGS, '\\boxed{'];

/** GPT-2's splitting, after digits were split off one by one; as tokenizer.json's pre-tokenizers do it. */
const WORD = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

const CHAT_TEMPLATE = [
  '{%- for message in messages -%}',
  "{%- if message.role == 'assistant' -%}",
  `{{ '${ASSISTANT}' + message.content + '${END}' }}`,
  '{%- else -%}',
  `{{ '${USER} ' + message.content }}`,
  '{%- endif -%}',
  '{%- endfor -%}',
  `{%- if add_generation_prompt -%}{{ '${ASSISTANT}' }}{%- endif -%}`,
].join('');

/** Writes tokenizer.json and tokenizer_config.json, trained on the texts, into the folder. */
export async function writeTokenizer(texts: Iterable<string>, folder: string): Promise<void> {
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizerOf(texts), null, 1) + '\n');
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    pad_token: PAD,
    eos_token: END,
    add_bos_token: false,
    clean_up_tokenization_spaces: false,
    model_max_length: 512,
    chat_template: CHAT_TEMPLATE,
  };
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config, null, 2) + '\n');
}

function tokenizerOf(texts: Iterable<string>): object {
  const alphabet = byteCharacters();
  const merges = learnMerges(countWords(texts, alphabet), VOCABULARY_SIZE - ADDED.length - alphabet.length);
  const entries = [...ADDED, ...[...alphabet].sort(), ...merges.map(([a, b]) => a + b)];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: ADDED.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: SPECIAL.includes(content),
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Digits', individual_digits: true },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(entries.map((entry, id) => [entry, id])),
      merges: merges.map(([a, b]) => `${a} ${b}`),
    },
  };
}

/** [byte] the printable character that stands for it in a byte-level vocabulary. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}

function countWords(texts: Iterable<string>, alphabet: readonly string[]): Map<string, number> {
  const addedToken = new RegExp(`${ADDED.map(token => token.replace(/[\\|{]/g, '\\$&')).join('|')}|\\d`, 'u');
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const stretch of text.split(addedToken)) {
      for (const [word] of stretch.matchAll(WORD)) {
        const spelled = [...new TextEncoder().encode(word)].map(byte => alphabet[byte]!).join('');
        counts.set(spelled, (counts.get(spelled) ?? 0) + 1);
      }
    }
  }
  return counts;
}

/** The most frequent neighbours become one piece, again and again; of equally frequent ones the first in code-point order. */
function learnMerges(counts: ReadonlyMap<string, number>, size: number): [string, string][] {
  const words = [...counts].map(([word, count]) => ({ pieces: [...word], count }));
  const merges: [string, string][] = [];
  while (merges.length < size) {
    const best = mostFrequentPair(words);
    if (!best) throw new Error(`The texts have only ${merges.length} pairs to merge; ${size} are needed.`);
    merges.push(best);
    for (const word of words) word.pieces = merged(word.pieces, best);
  }
  return merges;
}

function mostFrequentPair(
  words: readonly { pieces: string[]; count: number }[],
): [string, string] | undefined {
  const pairs = new Map<string, number>();
  for (const { pieces, count } of words) {
    for (let i = 1; i < pieces.length; i++) {
      const pair = `${pieces[i - 1]!} ${pieces[i]!}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + count);
    }
  }
  let best: string | undefined;
  let most = 0;
  for (const [pair, count] of pairs) {
    if (count > most || (count === most && best !== undefined && pair < best)) [best, most] = [pair, count];
  }
  return best?.split(' ') as [string, string] | undefined;
}

function merged(pieces: string[], [left, right]: readonly [string, string]): string[] {
  if (!pieces.includes(left)) return pieces;
  const out: string[] = [];
  for (const piece of pieces) {
    if (piece === right && out.at(-1) === left) out[out.length - 1] = left + right;
    else out.push(piece);
  }
  return out;
}

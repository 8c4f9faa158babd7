/** A Hugging Face tokenizer: text to ids, chat to ids, ids to bytes. Knows nothing of models or of what the text means. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { makePieces, textOf, type Pieces } from '../core/pieces.ts';
import { FailureError, type Message, errorText } from '../core/types.ts';
import { bySections, type AddedToken } from './sections.ts';

export interface Tokenizer {
  /** No token is added, and control tokens that the text spells are read as plain text: a tool's page cannot end a turn. */
  encode(text: string): Int32Array;
  /** The chat template's rendering, up to where the assistant is to speak. */
  encodePrompt(messages: readonly Message[]): Int32Array;
  /** Incomplete characters become U+FFFD. */
  decode(ids: ArrayLike<number>): string;
  pieces: Pieces;
  /** Ids that end a sequence; at least one. */
  endIds: number[];
  /** One more than the largest id. */
  vocabularySize: number;
  /** Paths of the files that belong into every checkpoint. */
  files: string[];
  /** Source of the chat template; absent where there is none. */
  template?: string;
}

type Json = Readonly<Record<string, unknown>>;

const FILES = [
  ...['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'generation_config.json'],
  ...['special_tokens_map.json', 'added_tokens.json', 'vocab.json', 'merges.txt'],
];

function refuse(message: string, fix?: string): never {
  throw new FailureError({ where: 'policy', message: `The tokenizer: ${message}`, ...(fix && { fix }) });
}

/** Reads tokenizer.json and, beside it, tokenizer_config.json, chat_template.jinja, config.json and generation_config.json. */
export async function openTokenizer(folder: string): Promise<Tokenizer> {
  const definition = await readJson(folder, 'tokenizer.json');
  if (!definition)
    refuse(`there is no tokenizer.json in ${folder}.`, 'Point to a folder in Hugging Face layout.');
  const config = (await readJson(folder, 'tokenizer_config.json')) ?? {};
  const inner = understood(`${folder}: tokenizer.json`, () => new HuggingFaceTokenizer(definition, config));
  const encode = (text: string): number[] =>
    understood(`${folder}: tokenizer.json`, () => inner.encode(text, { add_special_tokens: false }).ids);
  const parts = understood(`${folder}: tokenizer.json`, () => partsWithoutControls(definition));
  const encodeChat = understood(`${folder}: tokenizer.json`, () =>
    bySections(encode, addedTokens(definition)),
  );
  const vocabulary = understood(`${folder}: tokenizer.json`, () => vocabularyOf(definition, inner));
  const pieces = makePieces(vocabulary);
  const source = await templateOf(folder, config);
  const template = openTemplate(folder, config, source);
  return {
    encode: text => Int32Array.from(parts(text).flatMap(encode)),
    encodePrompt: messages => Int32Array.from(encodeChat(template(messages))),
    decode: ids => textOf(pieces, ids),
    pieces,
    endIds: await endIdsOf(folder, config, inner),
    vocabularySize: vocabulary.length,
    files: FILES.map(name => join(folder, name)).filter(existsSync),
    ...(source !== undefined && { template: source }),
  };
}

const addedTokens = (definition: Json): AddedToken[] => (definition['added_tokens'] ?? []) as AddedToken[];

/** Cuts a text so that no part spells a control token (an added token marked `special`) whole. */
function partsWithoutControls(definition: Json): (text: string) => string[] {
  const controls = addedTokens(definition)
    .filter(({ special, content }) => special && content.length > 1)
    .map(({ content }) => content);
  if (controls.length === 0) return text => [text];
  const pattern = new RegExp(
    controls.map(content => content.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'),
  );
  return text => {
    const parts: string[] = [];
    let rest = text;
    for (let found = pattern.exec(rest); found; found = pattern.exec(rest)) {
      const cut = found.index + [...found[0]][0]!.length;
      parts.push(rest.slice(0, cut));
      rest = rest.slice(cut);
    }
    return [...parts, rest];
  };
}

/** What a library makes of a file; what it throws is told with the file's name. */
function understood<T>(place: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof FailureError) throw error;
    return refuse(`${place} is not understood (${errorText(error)}).`, 'Copy or download the file again.');
  }
}

async function readJson(folder: string, name: string): Promise<Json | undefined> {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Json;
  } catch (error) {
    return refuse(`${path} is not JSON (${(error as Error).message}).`, 'Copy or download the file again.');
  }
}

/** [id] bytes; holes in the numbering are empty. */
function vocabularyOf(definition: Json, inner: HuggingFaceTokenizer): Uint8Array[] {
  if (!isByteLevel(definition['decoder']))
    refuse(
      'only byte-level vocabularies are supported, as Qwen, Llama 3 and SmolLM have them.',
      'Use a model with a ByteLevel decoder in tokenizer.json.',
    );
  const byteOf = new Map(byteCharacters().map((character, byte) => [character, byte]));
  const entries: Uint8Array[] = [];
  const text = new TextEncoder();
  const added = inner.get_added_tokens_decoder();
  for (const [token, id] of inner.get_vocab(true)) {
    const bytes = added.has(id) ? undefined : [...token].map(character => byteOf.get(character));
    entries[id] = bytes?.every(byte => byte !== undefined) ? Uint8Array.from(bytes) : text.encode(token);
  }
  for (const [id, token] of added) entries[id] = text.encode(token.content);
  return Array.from(entries, entry => entry ?? new Uint8Array());
}

function isByteLevel(decoder: unknown): boolean {
  const { type, decoders } = (decoder ?? {}) as { type?: unknown; decoders?: unknown };
  return type === 'ByteLevel' || (Array.isArray(decoders) && decoders.some(isByteLevel));
}

/** [byte] the character that stands for it in byte-level vocabularies: printable bytes for themselves, others from U+0100 on. */
function byteCharacters(): string[] {
  let next = 256;
  const isPrintable = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : next++));
}

/** Token texts that templates use. */
const NAMED_TOKENS = ['bos_token', 'eos_token', 'pad_token', 'unk_token'];

const tokenText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  const { content } = (value ?? {}) as { content?: unknown };
  return typeof content === 'string' ? content : undefined;
};

async function templateOf(folder: string, config: Json): Promise<string | undefined> {
  const file = join(folder, 'chat_template.jinja');
  return existsSync(file) ? await readFile(file, 'utf8') : templateText(config['chat_template']);
}

/** The template is only missed when a prompt is rendered: scoring finished text needs none. */
function openTemplate(
  folder: string,
  config: Json,
  source: string | undefined,
): (messages: readonly Message[]) => string {
  const place = `${folder}: the chat template`;
  const template = source === undefined ? undefined : understood(place, () => new Template(source));
  const tokens = Object.fromEntries(NAMED_TOKENS.map(name => [name, tokenText(config[name]) ?? '']));
  return messages => {
    if (!template)
      refuse(
        `there is no chat template in ${folder}.`,
        'Add "chat_template" to tokenizer_config.json, or a chat_template.jinja.',
      );
    // Templates that print a date ask for it by this name; a fixed one keeps prompts the same from day to day.
    return understood(place, () =>
      template.render({ ...tokens, messages, add_generation_prompt: true, date_string: '26 Jul 2024' }),
    );
  };
}

/** A text, or a list of named ones of which `default` counts. */
function templateText(value: unknown): string | undefined {
  if (!Array.isArray(value)) return tokenText(value);
  const named = (value as { name?: unknown; template?: unknown }[]).find(({ name }) => name === 'default');
  return tokenText(named?.template);
}

/** All that the model's files name as an end of sequence. */
async function endIdsOf(folder: string, config: Json, inner: HuggingFaceTokenizer): Promise<number[]> {
  const ids = new Set<number>();
  for (const name of ['generation_config.json', 'config.json']) {
    const value = (await readJson(folder, name))?.['eos_token_id'];
    for (const id of Array.isArray(value) ? value : [value]) if (typeof id === 'number') ids.add(id);
  }
  const named = tokenText(config['eos_token']);
  const id = named === undefined ? undefined : inner.token_to_id(named);
  if (id !== undefined) ids.add(id);
  if (ids.size === 0)
    refuse(
      `no file in ${folder} names an end-of-sequence token.`,
      'Add "eos_token" to tokenizer_config.json.',
    );
  return [...ids];
}

/**
 * Reads demonstrations for fine-tuning: conversations as JSON Lines, tool results masked, in a seeded order epoch after
 * epoch; or a module of the user's own. Knows nothing of tokens or training.
 */
import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { permutation, streamKey } from '../core/random.ts';
import { resultText } from '../core/tags.ts';
import { FailureError, type Message, errorText } from '../core/types.ts';
import type { Demonstration } from './sft.ts';

/** What a module of demonstrations exports. */
export interface DemonstrationModule {
  /** Demonstrations from the given one on; the same ones every time. */
  demonstrations(from: number): Iterable<Demonstration> | AsyncIterable<Demonstration>;
}

export type DemonstrationSource = DemonstrationModule['demonstrations'];

const FIX =
  'Write one JSON object per line: {"messages": [{"role", "content"}, …]} or {"conversations": [{"from", "value"}, …]}, the assistant last; tools answer as {"from": "observation"} or inside <result> tags.';
/** Who speaks in a conversation, and what tools answer. */
type Role = Message['role'] | 'tool';
interface Line {
  role: Role;
  content: string;
}
const ROLES: Readonly<Record<string, Role>> = {
  system: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  gpt: 'assistant',
  function_call: 'assistant',
  tool: 'tool',
  function: 'tool',
  observation: 'tool',
};
/** A tool's answer as the loop inserts it; the blank before it belongs to it. */
const RESULT = / ?<result>[\s\S]*?<\/result>/g;

/** Opens a .jsonl file, or a module (.mjs, .js, .ts) that exports `demonstrations(from)`. Runs the module's code. */
export async function openDemonstrations(path: string, seed: number): Promise<DemonstrationSource> {
  if (['.mjs', '.js', '.ts'].includes(extname(path))) return openModule(path);
  const list = (await linesOf(path)).map(({ line, place }) => demonstrationOf(line, `${path}, row ${place}`));
  if (list.length === 0) throw refusal(`${path} has no demonstrations.`);
  return from => epochs(list, seed, from);
}

async function openModule(path: string): Promise<DemonstrationSource> {
  const module = (await import(pathToFileURL(resolve(path)).href)) as Partial<DemonstrationModule>;
  const source = module.demonstrations;
  if (typeof source !== 'function')
    throw new FailureError({
      where: 'config',
      message: `${path} exports no function demonstrations(from).`,
      fix: 'Export a function that gives demonstrations from the given one on.',
    });
  return source;
}

async function linesOf(path: string): Promise<{ line: string; place: number }[]> {
  try {
    const text = await readFile(path, 'utf8');
    const lines = text.split(/\r?\n/).map((line, i) => ({ line, place: i + 1 }));
    return lines.filter(({ line }) => line.trim() !== '');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = isMissing
      ? `There is no file ${path}.`
      : `The demonstrations ${path} cannot be read (${errorText(error)}).`;
    const fix = 'Name a file of demonstrations, one JSON object per line, or a module that exports them.';
    throw new FailureError({ where: 'config', message, fix });
  }
}

function* epochs(list: readonly Demonstration[], seed: number, from: number): Generator<Demonstration> {
  for (let epoch = Math.floor(from / list.length), start = from % list.length; ; epoch++, start = 0)
    for (const index of permutation(streamKey(seed, 'demonstrations', epoch), list.length).slice(start))
      yield list[index]!;
}

/**
 * What the assistant says after the last user message is learned, but for tool results, whether they stand in its text or in messages of
 * their own; what is before is the prompt.
 */
function demonstrationOf(line: string, where: string): Demonstration {
  const lines = linesOfRow(line, where);
  const start = lines.findLastIndex(({ role }) => role === 'user' || role === 'system') + 1;
  const learned = lines.slice(start);
  if (learned.at(-1)?.role !== 'assistant')
    throw refusal(`${where}: the last message is not the assistant’s.`);
  if (learned[0]?.role !== 'assistant')
    throw refusal(`${where}: a tool answers before the assistant speaks.`);
  if (start === 0) throw refusal(`${where}: there is no prompt before the assistant’s message.`);
  const pieces = learned.flatMap(({ role, content }) =>
    role === 'tool' ? [{ text: asResult(content), trained: false }] : maskResults(content),
  );
  return { messages: asPrompt(lines.slice(0, start), where), pieces };
}

/** A result as the loop inserts it, whether or not its text has the tags already. */
const asResult = (content: string): string => {
  const inner = /^\s*<result>([\s\S]*)<\/result>\s*$/.exec(content)?.[1] ?? content;
  return resultText(inner.trim());
};

/** Earlier turns as messages: what tools answered then belongs to the assistant's message before. */
function asPrompt(lines: readonly Line[], where: string): Message[] {
  const messages: Message[] = [];
  for (const { role, content } of lines) {
    const last = messages.at(-1);
    if (role !== 'tool') messages.push({ role, content });
    else if (last?.role !== 'assistant')
      throw refusal(`${where}: a tool answers before the assistant speaks.`);
    else last.content += asResult(content);
  }
  return messages;
}

/** Cuts an assistant's message into what it wrote and what tools answered. */
export function maskResults(content: string): Demonstration['pieces'] {
  const pieces: { text: string; trained: boolean }[] = [];
  let end = 0;
  for (const match of content.matchAll(RESULT)) {
    if (match.index > end) pieces.push({ text: content.slice(end, match.index), trained: true });
    pieces.push({ text: match[0], trained: false });
    end = match.index + match[0].length;
  }
  if (end < content.length) pieces.push({ text: content.slice(end), trained: true });
  return pieces;
}

function linesOfRow(line: string, where: string): Line[] {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    throw refusal(`${where} is not JSON (${errorText(error)}).`);
  }
  const { messages, conversations, system } = (row ?? {}) as Record<string, unknown>;
  const list = messages ?? conversations;
  if (!Array.isArray(list)) throw refusal(`${where}: neither messages nor conversations is a list.`);
  const read = list.map((message: unknown, i) => messageOf(message, `${where}, message ${i + 1}`));
  return typeof system === 'string' && system !== '' ? [{ role: 'system', content: system }, ...read] : read;
}

function messageOf(message: unknown, where: string): Line {
  const { role, from, content, value } = (message ?? {}) as Record<string, unknown>;
  const name = role ?? from;
  const text = content ?? value;
  if (typeof name !== 'string' || !Object.hasOwn(ROLES, name))
    throw refusal(`${where}: the role is ${JSON.stringify(name) ?? 'missing'}.`);
  if (typeof text !== 'string') throw refusal(`${where}: the content is not text.`);
  return { role: ROLES[name]!, content: text };
}

const refusal = (message: string): FailureError => new FailureError({ where: 'config', message, fix: FIX });

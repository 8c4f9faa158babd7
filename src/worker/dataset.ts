/**
 * Reads tasks from parquet in the verl schema or from JSON Lines, and says which tasks a step takes. Knows nothing of
 * tokens, tools or how tasks are answered.
 */
import { createReadStream } from 'node:fs';
import { basename, extname } from 'node:path';
import { createInterface } from 'node:readline';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { Config } from '../core/config.ts';
import { permutation, streamKey } from '../core/random.ts';
import { FailureError, type Failure, type Message, type Task } from '../core/types.ts';

export interface Dataset {
  /** File name without its ending. */
  name: string;
  /** In the file's order; at least one. */
  tasks: readonly Task[];
  /** What was repaired, or cannot be learned from; one entry per kind of trouble. */
  warnings: readonly Failure[];
}

type Row = Readonly<Record<string, unknown>>;

const COLUMNS = ['data_source', 'prompt', 'ability', 'reward_model'];
const FIELDS = 'prompt and reward_model.ground_truth (verl), or question and answer';
/** What became of `\boxed` in ARPO's released system prompts: `\b` was read as a backspace (quirk Q10). */
const BROKEN_BOXED = '\u0008oxed';

/** Throws a FailureError that names file, row, field and fix where a row is no task. */
export async function openDataset(path: string): Promise<Dataset> {
  const name = basename(path, extname(path));
  const rows = await readRows(path);
  if (rows.length === 0) throw refusal(`${path} has no rows.`, `Put at least one task into it: ${FIELDS}.`);
  const tasks = rows.map(({ row, place }) => taskOf(row, `${name}#${place}`, `${path}, row ${place}`));
  return { name, tasks: tasks.map(withBoxed), warnings: warningsOf(path, tasks) };
}

/**
 * The tasks of step n (from 1). Tasks are taken epoch by epoch, each in its own order, so that a step's tasks depend on
 * the seed and on n only, and a resumed run goes on exactly.
 */
export function takeTasks(
  dataset: Dataset,
  config: Pick<Config, 'seed' | 'data' | 'rollout'>,
  step: number,
): Task[] {
  const { tasks } = dataset;
  const { tasksPerStep } = config.rollout;
  const orders = new Map<number, number[]>();
  return Array.from({ length: tasksPerStep }, (_, i) => {
    const place = (step - 1) * tasksPerStep + i;
    const epoch = Math.floor(place / tasks.length);
    if (!orders.has(epoch)) orders.set(epoch, epochOrder(tasks.length, config, epoch));
    return tasks[orders.get(epoch)![place % tasks.length]!]!;
  });
}

/**
 * Further tasks of step n, beside those of `takeTasks`: the next `count` after `taken` in an order of the step's own, so that
 * they too depend on the seed and on n only. Fewer where the dataset has no more.
 */
export function furtherTasks(
  dataset: Dataset,
  config: Pick<Config, 'seed' | 'data' | 'rollout'>,
  step: number,
  { taken, count }: { taken: number; count: number },
): Task[] {
  const first = new Set(takeTasks(dataset, config, step));
  return permutation(streamKey(config.seed, 'further tasks', step), dataset.tasks.length)
    .map(place => dataset.tasks[place]!)
    .filter(task => !first.has(task))
    .slice(taken, taken + count);
}

const epochOrder = (size: number, { seed, data }: Pick<Config, 'seed' | 'data'>, epoch: number): number[] =>
  data.shuffle
    ? permutation(streamKey(seed, 'tasks', epoch), size)
    : Array.from({ length: size }, (_, i) => i);

/** Rows with their place in the file, from 1 (the line number in JSON Lines). */
async function readRows(path: string): Promise<{ row: Row; place: number }[]> {
  try {
    return extname(path) === '.parquet' ? await readParquet(path) : await readLines(path);
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw refusal(
      `The dataset ${path} cannot be read (${reason}).`,
      'Set data.train or data.heldOut to a .parquet or .jsonl file.',
    );
  }
}

async function readParquet(path: string): Promise<{ row: Row; place: number }[]> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = new Set(parquetSchema(metadata).children.map(({ element }) => element.name));
  const missing = ['prompt', 'reward_model'].filter(column => !present.has(column));
  if (missing.length > 0)
    throw refusal(
      `${path} has no column ${missing.join(' and no column ')}.`,
      `Use the verl schema: ${FIELDS}.`,
    );
  const columns = COLUMNS.filter(column => present.has(column));
  const rows = await parquetReadObjects({ file, metadata, compressors, columns });
  return rows.map((row, i) => ({ row, place: i + 1 }));
}

async function readLines(path: string): Promise<{ row: Row; place: number }[]> {
  const rows: { row: Row; place: number }[] = [];
  let place = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    place++;
    if (line.trim() !== '') rows.push({ row: parseLine(line, `${path}, row ${place}`), place });
  }
  return rows;
}

function parseLine(line: string, where: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(line.replace(/^\uFEFF/, ''));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refusal(`${where} is not JSON (${reason}).`, 'Write one JSON object per line.');
  }
  if (!isRow(row)) throw refusal(`${where} is not a JSON object.`, 'Write one JSON object per line.');
  return row;
}

function taskOf(row: Row, id: string, where: string): Task {
  return {
    id,
    messages: messagesOf(row, where),
    references: referencesOf(row, where),
    ability: textOr(row.ability, ''),
    source: textOr(row.data_source, ''),
  };
}

function messagesOf(row: Row, where: string): Message[] {
  const prompt = row.prompt ?? row.messages ?? row.question ?? row.problem;
  if (typeof prompt === 'string' && prompt.trim() !== '') return [{ role: 'user', content: prompt }];
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw refusal(
      `${where}: prompt is missing or empty.`,
      'Give prompt: [{"role": "user", "content": "…"}], or question: "…".',
    );
  return prompt.map((message: unknown, i) => messageOf(message, `${where}: prompt[${i}]`));
}

function messageOf(message: unknown, where: string): Message {
  if (!isRow(message) || typeof message.content !== 'string')
    throw refusal(`${where}.content is not text.`, 'Give every message a role and a content.');
  const { role, content } = message;
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw refusal(`${where}.role is ${JSON.stringify(role) ?? 'missing'}.`, 'Use system, user or assistant.');
  return { role, content };
}

function referencesOf(row: Row, where: string): string[] {
  const [field, value] = isRow(row.reward_model)
    ? (['reward_model.ground_truth', row.reward_model.ground_truth] as const)
    : (['answer', row.answer ?? row.answers] as const);
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0)
    throw refusal(`${where}: ${field} is an empty list.`, 'Give at least one accepted answer.');
  return list.map(answer => {
    if (typeof answer === 'string') return answer;
    if (typeof answer === 'number' || typeof answer === 'bigint') return String(answer);
    throw refusal(
      `${where}: ${field} is ${answer === undefined || answer === null ? 'missing' : 'neither text nor a number'}.`,
      'Give the accepted answer as text, or several as a list.',
    );
  });
}

const isBroken = ({ messages }: Task): boolean =>
  messages.some(({ content }) => content.includes(BROKEN_BOXED));
const hasNoAnswer = ({ references }: Task): boolean => references.every(reference => reference.trim() === '');

function withBoxed(task: Task): Task {
  if (!isBroken(task)) return task;
  const repaired = ({ role, content }: Message): Message => ({
    role,
    content: content.replaceAll(BROKEN_BOXED, '\\boxed'),
  });
  return { ...task, messages: task.messages.map(repaired) };
}

function warningsOf(path: string, tasks: readonly Task[]): Failure[] {
  const broken = tasks.filter(isBroken).length;
  const blank = tasks.filter(hasNoAnswer);
  const warnings: Failure[] = [];
  if (broken > 0)
    warnings.push({
      where: 'config',
      message: `${path}: ${counted(broken)} of ${counted(tasks.length)} prompts have a backspace where \\boxed begins; it was repaired.`,
      fix: 'Write \\\\boxed when you generate the file.',
    });
  if (blank.length > 0)
    warnings.push({
      where: 'config',
      message: `${path}: ${counted(blank.length)} of ${counted(tasks.length)} tasks have a blank answer (${blank[0]!.id}), which no trajectory can match.`,
      fix: 'Leave these rows out, or give them an answer.',
    });
  return warnings;
}

const counted = (n: number): string => n.toLocaleString('en-US');
const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const refusal = (message: string, fix: string): FailureError =>
  new FailureError({ where: 'config', message, fix });

/**
 * Reads tasks from parquet in the verl schema or from JSON Lines, and says which tasks a step takes. Knows nothing of
 * tokens, tools or how tasks are answered.
 */
import { basename, extname } from 'node:path';
import type { Config } from '../core/config.ts';
import { whole } from '../core/figures.ts';
import { permutation, streamKey } from '../core/random.ts';
import { FailureError, type Failure, type Message, type Task, refusal } from '../core/types.ts';
import { isRow, readRows, valueAt, type Row } from './rows.ts';

export interface Dataset {
  /** File name without its ending. */
  name: string;
  /** In the file's order; at least one. */
  tasks: readonly Task[];
  /** What was repaired, or cannot be learned from; one entry per kind of trouble. */
  warnings: readonly Failure[];
}

/** How rows become tasks: where they have what a task needs, and what is said before. */
export type Reading = Partial<Pick<Config['data'], 'fields' | 'system'>>;

/** Usual names, in the order in which they are looked for. */
const QUESTIONS = ['prompt', 'messages', 'question', 'problem'];
const ANSWERS = ['reward_model.ground_truth', 'answer', 'answers', 'golden_answers'];
const FIELDS =
  'prompt and reward_model.ground_truth (verl), or question and answer; other names go into data.fields';
/** What became of `\boxed` in ARPO's released system prompts: `\b` was read as a backspace (quirk Q10). */
const BROKEN_BOXED = '\u0008oxed';
/** Where a worked solution in the style of GSM8K gives its answer. */
const SOLUTION = /^####[ \t]*(.+)$/m;

/** Throws a FailureError that names file, row, field and fix where a row is no task. */
export async function openDataset(path: string, reading: Reading = {}): Promise<Dataset> {
  const { dataset, problems } = await readDataset(path, reading);
  const [first, ...others] = problems;
  if (!first) return dataset;
  const more =
    others.length === 0
      ? ''
      : ` So it is with ${whole(others.length)} more ${others.length === 1 ? 'row' : 'rows'}.`;
  throw new FailureError({ ...first, message: first.message + more });
}

/** As openDataset, but rows that are no tasks are left out and reported; the dataset may be empty where there are such. */
export async function readDataset(
  path: string,
  reading: Reading = {},
): Promise<{ dataset: Dataset; problems: Failure[] }> {
  const name = basename(path, extname(path));
  const names = namesOf(reading.fields);
  const wanted = Object.values(names).flat();
  const rows = await readRows(path, [...wanted, ...wanted.map(field => field.split('.')[0]!)]);
  if (rows.length === 0) throw refusal(`${path} has no rows.`, `Put at least one task into it: ${FIELDS}.`);
  const problems: Failure[] = [];
  const tasks: Task[] = [];
  const places = new Map<string, number>();
  for (const { place, ...found } of rows)
    try {
      if ('failure' in found) throw new FailureError(found.failure);
      const task = taskOf(found.row, { id: `${name}#${place}`, where: `${path}, row ${place}`, names });
      refuseTwice(places, task.id, { path, place });
      tasks.push(task);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      problems.push(error.failure);
    }
  const dataset = {
    name,
    tasks: tasks.map(task => withSystem(withBoxed(task), reading.system ?? '')),
    warnings: warningsOf(path, tasks),
  };
  return { dataset, problems };
}

type Names = Readonly<Record<keyof Config['data']['fields'] | 'source', readonly string[]>>;

const namesOf = (fields: Reading['fields']): Names => {
  const named = (field: string | undefined, usual: readonly string[]): readonly string[] =>
    field ? [field] : usual;
  return {
    question: named(fields?.question, QUESTIONS),
    answer: named(fields?.answer, ANSWERS),
    ability: named(fields?.ability, ['ability']),
    id: named(fields?.id, []),
    source: ['data_source'],
  };
};

/** The first of the names that the row has a value at. */
function find(row: Row, names: readonly string[]): { name: string; value: unknown } {
  for (const name of names) {
    const value = valueAt(row, name);
    if (value !== undefined && value !== null) return { name, value };
  }
  return { name: names.find(name => !name.includes('.')) ?? names[0] ?? '', value: undefined };
}

function refuseTwice(
  places: Map<string, number>,
  id: string,
  { path, place }: { path: string; place: number },
): void {
  const earlier = places.get(id);
  if (earlier !== undefined)
    throw refusal(
      `${path}, row ${place}: the name ${id} is that of row ${earlier} already.`,
      'Name a field with different values in data.fields.id, or leave it out.',
    );
  places.set(id, place);
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

/** Where a row is, and where it has what. */
interface Place {
  id: string;
  where: string;
  names: Names;
}

function taskOf(row: Row, place: Place): Task {
  const { names } = place;
  return {
    id: idOf(row, place),
    messages: messagesOf(row, place),
    references: referencesOf(row, place),
    ability: textOr(find(row, names.ability).value, ''),
    source: textOr(find(row, names.source).value, ''),
  };
}

function idOf(row: Row, { id, where, names }: Place): string {
  if (names.id.length === 0) return id;
  const { name, value } = find(row, names.id);
  if (typeof value === 'string' && value.trim() !== '') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw refusal(
    `${where}: ${name} is no name.`,
    'Name a field with texts or numbers in data.fields.id, or leave it out.',
  );
}

function messagesOf(row: Row, { where, names }: Place): Message[] {
  const { name, value: prompt } = find(row, names.question);
  if (typeof prompt === 'string' && prompt.trim() !== '') return [{ role: 'user', content: prompt }];
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw refusal(
      `${where}: ${name} is missing or empty.`,
      'Give prompt: [{"role": "user", "content": "…"}], or question: "…", or name the field in data.fields.question.',
    );
  return prompt.map((message: unknown, i) => messageOf(message, `${where}: ${name}[${i}]`));
}

function messageOf(message: unknown, where: string): Message {
  if (!isRow(message) || typeof message.content !== 'string')
    throw refusal(`${where}.content is not text.`, 'Give every message a role and a content.');
  const { role, content } = message;
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw refusal(`${where}.role is ${JSON.stringify(role) ?? 'missing'}.`, 'Use system, user or assistant.');
  return { role, content };
}

function referencesOf(row: Row, { where, names }: Place): string[] {
  const found = find(row, names.answer);
  const isVerl = isRow(row.reward_model) && names.answer === ANSWERS;
  const name = isVerl ? ANSWERS[0]! : found.name;
  const value = isVerl ? valueAt(row, name) : found.value;
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0)
    throw refusal(`${where}: ${name} is an empty list.`, 'Give at least one accepted answer.');
  return list.map(answer => {
    if (typeof answer === 'string') return isVerl ? answer : (SOLUTION.exec(answer)?.[1]?.trim() ?? answer);
    if (typeof answer === 'number' || typeof answer === 'bigint') return String(answer);
    throw refusal(
      `${where}: ${name} is ${answer === undefined || answer === null ? 'missing' : 'neither text nor a number'}.`,
      'Give the accepted answer as text, or several as a list, or name the field in data.fields.answer.',
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

const withSystem = (task: Task, system: string): Task =>
  system === '' || task.messages.some(({ role }) => role === 'system')
    ? task
    : { ...task, messages: [{ role: 'system', content: system }, ...task.messages] };

function warningsOf(path: string, tasks: readonly Task[]): Failure[] {
  const broken = tasks.filter(isBroken).length;
  const blank = tasks.filter(hasNoAnswer);
  const warnings: Failure[] = [];
  if (broken > 0)
    warnings.push({
      where: 'config',
      message: `${path}: ${whole(broken)} of ${whole(tasks.length)} prompts have a backspace where \\boxed begins; it was repaired.`,
      fix: 'Write \\\\boxed when you generate the file.',
    });
  if (blank.length > 0)
    warnings.push({
      where: 'config',
      message: `${path}: ${whole(blank.length)} of ${whole(tasks.length)} tasks have a blank answer (${blank[0]!.id}), which no trajectory can match.`,
      fix: 'Leave these rows out, or give them an answer.',
    });
  return warnings;
}
const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

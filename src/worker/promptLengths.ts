/**
 * Measures prompts with the tokenizer before a run starts, and leaves out, cuts or refuses those that are too long. Knows nothing of
 * files or of how tasks are answered.
 */
import type { Config } from '../core/config.ts';
import { whole } from '../core/figures.ts';
import { FailureError, type Failure, type Message, type Task } from '../core/types.ts';
import { elapsed } from '../run/clock.ts';
import type { Dataset } from './dataset.ts';
import type { Equipment } from './equipment.ts';

export interface PromptTokenizer {
  encodePrompt(messages: readonly Message[]): ArrayLike<number>;
}

export interface PromptLengths {
  /** [task] tokens of its prompt. */
  lengths: number[];
  longest: number;
  /** Index of the task with the longest prompt. */
  longestTask: number;
  /** Indexes of the tasks whose prompts are longer than allowed. */
  tooLong: number[];
}

/** After so long others get a turn: a worker answers within 100 ms whatever it measures. */
const TURN_MS = 20;
/** Tasks that a sentence names. */
const NAMED = 5;

export async function measurePrompts(
  tasks: readonly Task[],
  tokenizer: PromptTokenizer,
  maxPromptTokens: number,
): Promise<PromptLengths> {
  const lengths: number[] = [];
  let turn = elapsed();
  for (const { messages } of tasks) {
    lengths.push(tokenizer.encodePrompt(messages).length);
    if (elapsed() - turn < TURN_MS) continue;
    await new Promise(resolve => setImmediate(resolve));
    turn = elapsed();
  }
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const tooLong = lengths.flatMap((length, task) => (length > maxPromptTokens ? [task] : []));
  return { lengths, longest, longestTask: lengths.indexOf(longest), tooLong };
}

/** What a sentence about too long prompts says: how many, the longest, and which. */
export function tooLongSentence(
  { tasks }: Pick<Dataset, 'tasks'>,
  { lengths, longest, tooLong }: PromptLengths,
  maxPromptTokens: number,
): string {
  const named = tooLong.slice(0, NAMED).map(task => `${tasks[task]!.id} (${whole(lengths[task])})`);
  const others = tooLong.length > named.length ? ` and ${whole(tooLong.length - named.length)} more` : '';
  return `${whole(tooLong.length)} of ${whole(tasks.length)} prompts have more than the ${whole(maxPromptTokens)} tokens of rollout.maxPromptTokens, the longest ${whole(longest)}: ${named.join(', ')}${others}`;
}

/** The dataset with only prompts that fit, and a warning about the others. Throws where the config refuses them or none is left. */
export async function fitPrompts(
  dataset: Dataset,
  tokenizer: PromptTokenizer,
  { data, rollout }: Pick<Config, 'data' | 'rollout'>,
): Promise<Dataset> {
  const { maxPromptTokens } = rollout;
  const measured = await measurePrompts(dataset.tasks, tokenizer, maxPromptTokens);
  const { tooLong } = measured;
  if (tooLong.length === 0) return dataset;
  const failure = (what: string, fix: string): Failure => ({
    where: 'config',
    message: `${dataset.name}: ${tooLongSentence(dataset, measured, maxPromptTokens)}. ${what}`,
    fix,
  });
  const raise = `Raise rollout.maxPromptTokens to ${measured.longest}`;
  if (data.longPrompts === 'refuse')
    throw new FailureError(
      failure('The run does not start.', `${raise}, or set data.longPrompts to "leave-out".`),
    );
  const isLong = new Set(tooLong);
  if (data.longPrompts === 'truncate') {
    const tasks = dataset.tasks.map((task, index) =>
      isLong.has(index) ? shorten(task, tokenizer, maxPromptTokens) : task,
    );
    return {
      ...dataset,
      tasks,
      warnings: [...dataset.warnings, failure('They were cut.', `${raise} to keep them whole.`)],
    };
  }
  if (tooLong.length === dataset.tasks.length) throw new FailureError(failure('None is left.', `${raise}.`));
  const tasks = dataset.tasks.filter((_, index) => !isLong.has(index));
  return {
    ...dataset,
    tasks,
    warnings: [...dataset.warnings, failure('They were left out.', `${raise} to keep them.`)],
  };
}

/** Cuts the beginning of the longest message by as few characters as make the prompt fit. */
function shorten(task: Task, tokenizer: PromptTokenizer, maxPromptTokens: number): Task {
  const at = task.messages.reduce(
    (longest, { content }, i) => (content.length > task.messages[longest]!.content.length ? i : longest),
    0,
  );
  const characters = Array.from(task.messages[at]!.content);
  const cut = (count: number): Task => ({
    ...task,
    messages: task.messages.map((message, i) =>
      i === at ? { ...message, content: characters.slice(count).join('') } : message,
    ),
  });
  const fits = (count: number): boolean =>
    tokenizer.encodePrompt(cut(count).messages).length <= maxPromptTokens;
  if (!fits(characters.length))
    throw new FailureError({
      where: 'config',
      message: `The prompt of task ${task.id} is longer than rollout.maxPromptTokens (${maxPromptTokens}) even without its longest message.`,
      fix: 'Raise rollout.maxPromptTokens, or leave the task out.',
    });
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  // Lengths need not fall with every character that is cut, so what the search found is checked again.
  while (!fits(low)) low++;
  return cut(low);
}

/** The tasks of a config's file whose prompts fit, as a run takes them. */
export const openTasks = async (
  path: string,
  config: Config,
  { equipment, tokenizer }: { equipment: Pick<Equipment, 'openDataset'>; tokenizer: PromptTokenizer },
): Promise<Dataset> => fitPrompts(await equipment.openDataset(path, config.data), tokenizer, config);

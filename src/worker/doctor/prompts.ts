/** Looks at how prompts become tokens: template, round trip, tags, lengths. Knows nothing of engines. */
import { ok, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { Config } from '../../core/config.ts';
import { closingTag } from '../../core/tags.ts';
import { type Message, errorText } from '../../core/types.ts';
import { cut } from '../../core/wrap.ts';
import type { Dataset } from '../dataset.ts';
import type { RunTokenizer } from '../equipment.ts';
import { measurePrompts, tooLongSentence } from '../promptLengths.ts';

/** Tasks whose prompts are rendered, and decoded again. */
const TRIED = 50;

export function checkTemplate(tokenizer: RunTokenizer, dataset: Dataset): CheckResult[] {
  const tried = dataset.tasks.slice(0, TRIED);
  for (const { messages, id } of tried) {
    const ids = tokenizer.encodePrompt(messages);
    if (ids.length === 0) return [wrong('template', `The prompt of task ${id} has no tokens.`)];
    const changed = messages.find(({ content }) => tokenizer.decode(tokenizer.encode(content)) !== content);
    if (changed)
      return [
        warning(
          'template',
          `A message of task ${id} does not survive the tokenizer: ${shown(changed.content)}.`,
          {
            fix: 'The vocabulary changes or lacks some of its characters; the policy reads what it makes of them.',
          },
        ),
      ];
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    if (!tokenizer.decode(ids).includes(asked.trim()))
      return [
        wrong('template', `The rendered prompt of task ${id} lacks what the user asks.`, {
          fix: 'Use a chat template that shows user messages.',
        }),
      ];
  }
  return [ok('template', `${tried.length} prompts are rendered, and their messages survive the tokenizer.`)];
}

/** Whether a conversation that goes on keeps the tokens that it had; templates that drop thoughts do not. */
export function checkAppending(tokenizer: RunTokenizer, dataset: Dataset): CheckResult[] {
  const [task] = dataset.tasks;
  if (!task) return [];
  const before = tokenizer.encodePrompt(task.messages);
  const said: Message = { role: 'assistant', content: '<think>Let me see.</think><answer>Yes.</answer>' };
  let after: ArrayLike<number>;
  try {
    after = tokenizer.encodePrompt([...task.messages, said, { role: 'user', content: 'Go on.' }]);
  } catch (error) {
    const reason = errorText(error);
    return [warning('template.appends', `The template refuses a conversation of several turns (${reason}).`)];
  }
  const text = tokenizer.decode(after);
  if (startsWith(after, before) && text.includes(said.content))
    return [
      ok(
        'template.appends',
        'The template only appends: earlier turns keep their tokens, thoughts included.',
      ),
    ];
  const what = startsWith(after, before) ? 'drops thoughts from earlier turns' : 'renders earlier turns anew';
  return [
    warning('template.appends', `The template ${what} when a conversation goes on.`, {
      fix: 'Trajectories are safe, because their tokens are appended and never rendered again; do not feed conversations of several turns as prompts.',
    }),
  ];
}

/** Whether a tool's result and its closing tag come back as they were written. */
export function checkTags(tokenizer: RunTokenizer, tags: readonly string[]): CheckResult[] {
  const texts = [...tags, 'result', 'answer', 'think'].map(closingTag);
  const lost = texts.filter(text => tokenizer.decode(tokenizer.encode(text)) !== text);
  if (lost.length > 0)
    return [
      wrong('tokenizer.tags', `${lost.join(', ')} cannot be written with this vocabulary.`, {
        key: 'policy.path',
      }),
    ];
  const lengths = texts.map(text => `${text} ${tokenizer.encode(text).length}`);
  return [ok('tokenizer.tags', `Tags in tokens: ${lengths.join(', ')}.`)];
}

export async function checkLengths(
  tokenizer: RunTokenizer,
  key: string,
  dataset: Dataset,
  { rollout, data }: Config,
): Promise<CheckResult[]> {
  const { maxPromptTokens } = rollout;
  const measured = await measurePrompts(dataset.tasks, tokenizer, maxPromptTokens);
  const sorted = measured.lengths.toSorted((a, b) => a - b);
  const quantile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  const id = `${key}.lengths`;
  if (measured.tooLong.length > 0) {
    const message = `${tooLongSentence(dataset, measured, maxPromptTokens)}.`;
    const fix = `Raise rollout.maxPromptTokens to ${measured.longest}; data.longPrompts is ${data.longPrompts}.`;
    const extras = { key: 'rollout.maxPromptTokens', fix };
    const isStopped = data.longPrompts === 'refuse' || measured.tooLong.length === dataset.tasks.length;
    return [isStopped ? wrong(id, message, extras) : warning(id, message, extras)];
  }
  return [
    ok(
      id,
      `Prompts have ${quantile(0.5)} tokens in the middle, ${quantile(0.95)} at 95 %, ${measured.longest} at most (${dataset.tasks[measured.longestTask]!.id}); ${maxPromptTokens} are allowed.`,
    ),
  ];
}

const shown = (text: string): string => JSON.stringify(cut(text, 80));

function startsWith(whole: ArrayLike<number>, start: ArrayLike<number>): boolean {
  for (let i = 0; i < start.length; i++) if (whole[i] !== start[i]) return false;
  return true;
}

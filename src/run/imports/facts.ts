/** The facts of one step, as far as the rollouts of its file tell them. Knows nothing of files' formats, or of what came before. */
import { countBy } from '../../core/countBy.ts';
import type { Fact, StepSummary } from '../../core/events.ts';
import { quantile } from '../../core/summary.ts';
import type { TreeEntry } from '../offsets.ts';
import type { IndexedFile, IndexRow } from './stepFile.ts';
import { meanOf } from '../../core/mean.ts';

/** A tree of the step: the rollouts of one prompt. */
export interface Group {
  entry: TreeEntry;
  rows: IndexRow[];
}

/** In the order of their first rows. */
export function groupsOf({ step, rows }: IndexedFile): Group[] {
  const byKey = new Map<string, IndexRow[]>();
  for (const row of rows) {
    const known = byKey.get(row.group);
    if (known) known.push(row);
    else byKey.set(row.group, [row]);
  }
  return [...byKey.values()].map((own, index) => {
    const { offset, length, question } = own[0]!;
    const rewards = rewardsOf(own);
    const entry = { id: `${step}.${index}`, step, offset, length, question, paths: own.length };
    return { entry: { ...entry, ...(rewards.length > 0 && { reward: meanOf(rewards) }) }, rows: own };
  });
}

const rewardsOf = (rows: readonly IndexRow[]): number[] => rows.flatMap(({ reward }) => reward ?? []);

/** What a step's list of trees calls one. */
const NAME_LENGTH = 80;

/** The step's facts in order; without its numbers where no rollout was judged. */
export function factsOfFile(file: IndexedFile): Fact[] {
  const groups = groupsOf(file);
  const name = (question: string): string => question.replace(/\s+/g, ' ').slice(0, NAME_LENGTH);
  const tasks = groups.map(({ entry }) => name(entry.question));
  const judged = rewardsOf(file.rows).length > 0;
  const isUnread = file.rows.length === 0 && file.damage.length > 0;
  const silent: Fact = {
    type: 'warned',
    failure: { where: 'store', message: `${file.path}: no rollout of step ${file.step} has a reward.` },
  };
  return [
    { type: 'step-started', tasks },
    ...file.damage.map((failure): Fact => ({ type: 'warned', failure })),
    ...groups.map(({ entry, rows }, index): Fact => ({
      ...{ type: 'tree-finished', tree: entry.id, task: tasks[index]!, paths: rows.length },
      rewards: rewardsOf(rows),
    })),
    ...(judged ? [{ type: 'step-finished', summary: summaryOf(groups) } as const] : isUnread ? [] : [silent]),
  ];
}

/** Of the judged rollouts; what rows do not tell is left out. */
export function summaryOf(groups: readonly Group[]): StepSummary {
  const rows = groups.flatMap(group => group.rows);
  const judged = rows.filter(({ reward }) => reward !== undefined);
  const calls = rows.flatMap(row => row.calls);
  const turns = rows.map(row => row.turns);
  return {
    tasks: groups.length,
    trajectories: rows.length,
    reward: rewardNumbers(judged),
    accuracy: meanOf(judged.map(({ correct }) => Number(correct))),
    entropy: {},
    toolCalls: { total: calls.length, byTool: countBy(calls) },
    groups: groupNumbers(groups),
    ...tokenNumbers(groups, rows),
    turns: { mean: meanOf(turns), max: largest(turns) },
    stops: countBy(rows.flatMap(({ stop }) => stop ?? [])),
  };
}

const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), 0);

function rewardNumbers(judged: readonly IndexRow[]): StepSummary['reward'] {
  const totals = rewardsOf(judged);
  const mean = meanOf(totals);
  const squares = totals.reduce((sum, total) => sum + (total - mean) ** 2, 0);
  const names = [...new Set(judged.flatMap(({ parts }) => Object.keys(parts)))];
  const partOf = (name: string): number => meanOf(judged.flatMap(({ parts }) => parts[name] ?? []));
  return {
    mean,
    std: Math.sqrt(squares / Math.max(1, totals.length - 1)),
    p10: quantile(totals, 0.1),
    p90: quantile(totals, 0.9),
    parts: Object.fromEntries(names.map(name => [name, partOf(name)])),
  };
}

function groupNumbers(groups: readonly Group[]): StepSummary['groups'] {
  const counts = { allRight: 0, mixed: 0, allWrong: 0 };
  for (const { rows } of groups) {
    const judged = rows.filter(({ reward }) => reward !== undefined);
    const right = judged.filter(({ correct }) => correct).length;
    if (judged.length > 0) counts[right === judged.length ? 'allRight' : right > 0 ? 'mixed' : 'allWrong']++;
  }
  const flat = groups.filter(({ rows }) => new Set(rewardsOf(rows)).size === 1).length;
  return { ...counts, flat };
}

/** Nothing where one rollout lacks them: half a sum is none. */
function tokenNumbers(
  groups: readonly Group[],
  rows: readonly IndexRow[],
): Pick<StepSummary, 'tokens' | 'responseTokens'> {
  const counted = rows.flatMap(({ tokens }) => tokens ?? []);
  if (counted.length < rows.length) return {};
  const lengths = counted.map(({ response }) => response);
  const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  const drawn = total(counted.map(one => one.drawn));
  const prompts = groups.map(group => group.rows[0]!.tokens!.prompt);
  return {
    tokens: {
      sampled: drawn,
      unique: total(prompts) + total(lengths),
      expanded: total(counted.map(({ prompt, response }) => prompt + response)),
      trained: drawn,
    },
    responseTokens: {
      mean: meanOf(lengths),
      max: largest(lengths),
      p10: quantile(lengths, 0.1),
      p90: quantile(lengths, 0.9),
    },
  };
}

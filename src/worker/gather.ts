/**
 * Grows and judges the groups of a step, and finds others for those that teach nothing where the config asks for it. Knows
 * nothing of learning, files, or of how a tree grows.
 */
import { hasNoVariance } from '../core/advantage.ts';
import type { Config } from '../core/config.ts';
import type { Fact, StepSummary } from '../core/events.ts';
import type { RewardSettings } from '../core/reward.ts';
import type { Grown } from '../core/tree.ts';
import type { Failure, Task } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import { furtherTasks, takeTasks, type Dataset } from './dataset.ts';
import type { GrowContext } from './growing.ts';
import { judgeAll } from './judges.ts';
import type { OwnReward } from './own/reward.ts';
import { growGroup } from './preMonitoring.ts';

/** What gathering works with. */
export interface Ground extends Pick<GrowContext, 'policy' | 'tools' | 'tokenizer' | 'config'> {
  dataset: Dataset;
  /** The user's own reward; absent for the paper's. */
  ownReward?: OwnReward;
  tell(fact: Fact, step: number): void;
}

export interface Gathered {
  /** All trees of the step with their rewards, in the order of their tasks. */
  grown: Grown[];
  /** Those that are learned from. */
  kept: Grown[];
  /** Absent without a filter. */
  filter?: NonNullable<StepSummary['filter']>;
}

/**
 * Takes a step's tasks, grows all their trees at the same time and judges them. Under filter `mixed` further tasks take the place
 * of groups whose rewards are all equal, until the step has as many groups as tasks or its rounds are spent (DAPO).
 */
export async function gather(ground: Ground, step: number): Promise<Gathered> {
  const { config, dataset, tell } = ground;
  const tasks = takeTasks(dataset, config, step);
  tell({ type: 'step-started', tasks: tasks.map(({ id }) => id) }, step);
  const { grown, failures } = await growAll(ground, step, { tasks, first: 0 });
  const [failure] = failures;
  if (grown.length === 0 && failure)
    throw new FailureError({
      ...failure,
      message: `Every tree of step ${step} failed; the first: ${failure.message}`,
    });
  if (config.algorithm.filter === 'none') return { grown, kept: grown };
  const rounds = await replace(ground, step, grown);
  for (const { tree } of grown) if (hasNoVariance(tree)) tree.isDropped = true;
  const kept = grown.filter(({ tree }) => !tree.isDropped);
  return { grown, kept, filter: { rounds, kept: kept.length, dropped: grown.length - kept.length } };
}

/** Adds trees of further tasks while groups are missing, at most so many rounds; returns the rounds. */
async function replace(ground: Ground, step: number, grown: Grown[]): Promise<number> {
  const { config, dataset, tell } = ground;
  const { tasksPerStep } = config.rollout;
  let taken = 0;
  for (let round = 1; round <= config.algorithm.resampleRounds; round++) {
    const count = tasksPerStep - grown.filter(({ tree }) => !hasNoVariance(tree)).length;
    const tasks = count > 0 ? furtherTasks(dataset, config, step, { taken, count }) : [];
    if (tasks.length === 0) return round - 1;
    tell({ type: 'tasks-added', tasks: tasks.map(({ id }) => id), round }, step);
    grown.push(...(await growAll(ground, step, { tasks, first: tasksPerStep + taken })).grown);
    taken += tasks.length;
  }
  return config.algorithm.resampleRounds;
}

/** Trees of the tasks, judged; the first task's index in its step is `first`. A tree that fails is told and left out; a bug rejects. */
async function growAll(
  ground: Ground,
  step: number,
  { tasks, first }: { tasks: readonly Task[]; first: number },
): Promise<{ grown: Grown[]; failures: Failure[] }> {
  const failures: Failure[] = [];
  const bugs: unknown[] = [];
  const rewards = { ...rewardSettings(ground.config), tools: ground.tools.tags };
  const attempt = async (task: Task, offset: number): Promise<Grown[]> => {
    const index = first + offset;
    try {
      const grown = await growGroup(task, { ...ground, step, index, tell: fact => ground.tell(fact, step) });
      const [unjudged] = await judgeAll(grown.tree, rewards, ground.ownReward);
      if (unjudged) throw new FailureError(unjudged);
      return [grown];
    } catch (error) {
      const failure = toFailure(error);
      if (failure.where === 'bug') {
        bugs.push(error);
        return [];
      }
      failures.push(failure);
      ground.tell({ type: 'tree-failed', tree: `${step}.${index}`, failure }, step);
      return [];
    }
  };
  // All are let end first, so that none tells of itself after the run's end.
  const grown = (await Promise.all(tasks.map(attempt))).flat();
  // An invariant of ours that broke is no fault of one tree, and may have spoilt others.
  if (bugs.length > 0) throw bugs[0];
  return { grown, failures };
}

/** What training rewards: as in evaluation, less what long answers lose. */
export function rewardSettings({ reward, algorithm, rollout }: Config): RewardSettings {
  const { overlongShare, overlongPenalty } = algorithm;
  if (overlongShare === 0) return reward;
  const limit = rollout.maxResponseTokens;
  return { ...reward, overlong: { limit, tokens: overlongShare * limit, penalty: overlongPenalty } };
}

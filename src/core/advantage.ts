/** Turns a group's rewards into advantages, by path and by segment. Knows nothing of losses, tokens or how trees grow. */
import { isTrained, pathsThrough } from './tree.ts';
import type { Credit, Tree } from './types.ts';

export interface CreditSettings {
  credit: 'soft' | 'hard';
  /** What R − mean is divided by: the group's sample standard deviation (GRPO) or nothing. */
  scale: 'group-std' | 'none';
  /** Whether segments appended in the model's name are trained. */
  trainForced: boolean;
}

/** Keeps the division finite for groups with next to no variance; upstream: the same number. */
const EPSILON = 1e-6;

/**
 * Credit of a tree whose paths have been judged; throws where one has not.
 * Soft: A_i = (R_i − mean) / (std + ε) over the group. Hard: Ā_s = mean of A over the paths below segment s (paper §3.3).
 */
export function credit(tree: Tree, settings: CreditSettings): Credit {
  const rewards = tree.paths.map((path, index) => {
    if (!path.reward) throw new Error(`Path ${index} of tree ${tree.id} has no reward yet.`);
    return path.reward.total;
  });
  const soft = advantages(rewards, settings.scale);
  const hard = pathsThrough(tree).map((paths, segment) =>
    isTrained(tree.segments[segment]!.kind, settings.trainForced)
      ? mean(paths.map(path => soft[path]!))
      : null,
  );
  return { soft, hard, used: settings.credit };
}

/**
 * [trajectory] standardised rewards of one group. Equal rewards give exactly 0, a group of one is measured from 0 by a
 * standard deviation of 1 (upstream: the same), so that a single trajectory still learns from its reward.
 */
export function advantages(rewards: readonly number[], scale: CreditSettings['scale']): number[] {
  const single = rewards.length === 1;
  if (!single && rewards.every(reward => reward === rewards[0])) return rewards.map(() => 0);
  const center = single ? 0 : mean(rewards);
  const divisor = scale === 'none' ? 1 : (single ? 1 : sampleStd(rewards)) + EPSILON;
  return rewards.map(reward => (reward - center) / divisor);
}

/** Whether every trajectory of the tree earned the same, so that its group teaches nothing. */
export const isFlat = (credit: Credit): boolean => credit.soft.every(advantage => advantage === 0);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function sampleStd(values: readonly number[]): number {
  const center = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1));
}

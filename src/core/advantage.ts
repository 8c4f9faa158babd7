/** Turns rewards into advantages, by path and by segment. Knows nothing of losses, tokens' values or how trees grow. */
import { stepAdvantages } from './stepCredit.ts';
import { isTrained, pathsThrough, trainedTokens } from './tree.ts';
import type { Credit, Tree } from './types.ts';
import { meanOf } from './mean.ts';

export interface CreditSettings {
  /** `step`: soft, plus ω times the advantage of each turn among the turns that saw the same (GiGPO). */
  credit: 'soft' | 'hard' | 'step';
  /**
   * What a reward is compared with: its group's mean (GRPO; where absent), the mean of the others in its group (RLOO), the
   * mean of all trajectories of the step, or nothing.
   */
  baseline?: 'group-mean' | 'leave-one-out' | 'batch-mean' | 'none';
  /**
   * What the distance is divided by: the group's sample standard deviation (GRPO), nothing (Dr. GRPO), or `batch-std`:
   * whitened over all trained tokens of the step, each with its trajectory's value (Reinforce++).
   */
  scale: 'group-std' | 'batch-std' | 'none';
  /** Whether segments appended in the model's name are trained. */
  trainForced: boolean;
  /** ω and γ of credit `step`: 1 and 0.95 where absent. */
  stepWeight?: number;
  stepDiscount?: number;
}

/** Keeps the division finite for groups with next to no variance; upstream: the same number. */
const EPSILON = 1e-6;

/** Added to the variance of a whitened step; upstream: the same number. */
const WHITENING_EPSILON = 1e-8;

/**
 * [tree] credit of a step's trees, whose paths have been judged; throws where one has not.
 * Soft: A_i = (R_i − baseline) / scale. Hard: Ā_s = mean of A over the paths below segment s (paper §3.3).
 */
export function creditAll(trees: readonly Tree[], settings: CreditSettings): Credit[] {
  const soft = softAdvantages(trees, settings);
  return trees.map((tree, index) => creditOf(tree, soft[index]!, settings));
}

/** Credit of a step that consists of one tree. */
export const credit = (tree: Tree, settings: CreditSettings): Credit => creditAll([tree], settings)[0]!;

function creditOf(tree: Tree, soft: number[], settings: CreditSettings): Credit {
  const { stepWeight = 1, stepDiscount = 0.95, scale, trainForced } = settings;
  const divisor =
    scale === 'group-std' ? (values: readonly number[]) => sampleStd(values) + EPSILON : () => 1;
  const steps =
    settings.credit === 'step'
      ? stepAdvantages(tree, { weight: stepWeight, discount: stepDiscount, trainForced, divisor })
      : undefined;
  const hard = pathsThrough(tree).map((paths, segment) =>
    isTrained(tree.segments[segment]!.kind, trainForced)
      ? meanOf(paths.map((path, i) => (steps ? soft[path]! + steps[segment]![i]! : soft[path]!)))
      : null,
  );
  return { soft, hard, ...(steps && { steps }), used: settings.credit };
}

/**
 * [trajectory] standardised rewards of one group. Equal rewards give exactly 0, a group of one is measured from 0 by a
 * standard deviation of 1 (upstream: the same), so that a single trajectory still learns from its reward.
 */
export function advantages(rewards: readonly number[], scale: 'group-std' | 'none'): number[] {
  const single = rewards.length === 1;
  if (!single && areEqual(rewards)) return rewards.map(() => 0);
  const center = single ? 0 : meanOf(rewards);
  const divisor = scale === 'none' ? 1 : (single ? 1 : sampleStd(rewards)) + EPSILON;
  return rewards.map(reward => (reward - center) / divisor);
}

/** Whether every trajectory of the tree earned the same, so that its group teaches nothing. */
export const isFlat = ({ soft, steps }: Credit): boolean =>
  soft.every(advantage => advantage === 0) &&
  (steps ?? []).every(values => values.every(advantage => advantage === 0));

/**
 * Whether all of a judged tree's trajectories earned the same: the group says nothing of what is better. What they lost for their
 * length is left aside, so that groups in which all are right, or all wrong, have no variance (DAPO's filter goes by accuracy).
 */
export function hasNoVariance(tree: Tree): boolean {
  const earned = rewardsOf(tree).map(
    (total, path) => total - (tree.paths[path]!.reward?.parts['length'] ?? 0),
  );
  return earned.every(reward => Math.abs(reward - earned[0]!) < 1e-9);
}

function rewardsOf(tree: Tree): number[] {
  return tree.paths.map((path, index) => {
    if (!path.reward) throw new Error(`Path ${index} of tree ${tree.id} has no reward yet.`);
    return path.reward.total;
  });
}

/** [tree][path] */
function softAdvantages(trees: readonly Tree[], settings: CreditSettings): number[][] {
  const { baseline = 'group-mean', scale } = settings;
  const groups = trees.map(rewardsOf);
  const batchMean = meanOf(groups.flat());
  const compare = (rewards: readonly number[]): number[] => {
    switch (baseline) {
      case 'group-mean':
        return advantages(rewards, scale === 'group-std' ? scale : 'none');
      case 'leave-one-out': {
        // R_i − mean of the others = G/(G − 1)·(R_i − mean of all).
        const factor = rewards.length / Math.max(1, rewards.length - 1);
        return advantages(rewards, scale === 'group-std' ? scale : 'none').map(value => factor * value);
      }
      case 'batch-mean':
        return rewards.map(reward => reward - batchMean);
      case 'none':
        return [...rewards];
    }
  };
  const compared = groups.map(compare);
  if (scale !== 'batch-std') return compared;
  const tokens = trees.map(tree =>
    tree.paths.map((_, path) => trainedTokens(tree, path, settings.trainForced)),
  );
  return whitened(compared, tokens);
}

/**
 * [tree][path] values less their mean over tokens, divided by the square root of their sample variance over tokens.
 * upstream: verl's masked_whiten, on values that every trained token of a trajectory repeats.
 */
function whitened(values: readonly number[][], tokens: readonly number[][]): number[][] {
  const flat = values.flat();
  if (areEqual(flat)) return values.map(group => group.map(() => 0));
  const weights = tokens.flat();
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const center = flat.reduce((sum, value, i) => sum + weights[i]! * value, 0) / total;
  const squares = flat.reduce((sum, value, i) => sum + weights[i]! * (value - center) ** 2, 0);
  const divisor = Math.sqrt(squares / Math.max(1, total - 1) + WHITENING_EPSILON);
  return values.map(group => group.map(value => (value - center) / divisor));
}

const areEqual = (values: readonly number[]): boolean => values.every(value => value === values[0]);

function sampleStd(values: readonly number[]): number {
  const center = meanOf(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1));
}

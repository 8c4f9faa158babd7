/**
 * What other rewards would have changed: groups that change their order, gain or lose variance, and advantages that change sign. Knows
 * nothing of how a reward is found.
 */
import { creditAll, hasNoVariance, type CreditSettings } from './advantage.ts';
import type { Reward, Tree } from './types.ts';

/** A trajectory under the rewards that it was trained on, and under others. Advantages are absent where its group is not learned from. */
export interface RescoredPath {
  path: number;
  before: { reward: number; correct: boolean; advantage?: number };
  after: { reward: number; correct: boolean; advantage?: number; reason: string };
}

export interface RescoredGroup {
  tree: string;
  step: number;
  question: string;
  meanBefore: number;
  meanAfter: number;
  /** Pairs of trajectories of which the other one is now the better. */
  flips: number;
  /** Whether the group's trajectories came to differ, or to be all the same, and so whether it teaches anything. */
  variance: 'gained' | 'lost' | 'unchanged';
  /** Trajectories that were made likelier and would be made less likely, or the reverse. */
  signChanges: number;
  /** Largest change of a trajectory's advantage; of a group that is not learned from it is 0. */
  shift: number;
  paths: RescoredPath[];
}

export interface Rescored {
  steps: number;
  trees: number;
  trajectories: number;
  meanBefore: number;
  meanAfter: number;
  flips: number;
  gained: number;
  lost: number;
  signChanges: number;
  /** Those that change most come first. */
  groups: RescoredGroup[];
}

export interface RescoreSettings {
  credit: CreditSettings;
  /** True where groups without variance are not learned from. */
  dropsFlat: boolean;
}

/** The groups of one step, whose baselines and scales may reach over all of them; `rewards` are [tree][path]. Throws where a path was not judged. */
export function rescoreStep(
  trees: readonly Tree[],
  rewards: readonly (readonly Reward[])[],
  settings: RescoreSettings,
): RescoredGroup[] {
  const changed = trees.map((tree, i) => withRewards(tree, rewards[i]!));
  const [before, after] = [advantagesOf(trees, settings), advantagesOf(changed, settings)];
  return trees.map((tree, i) => groupOf(tree, changed[i]!, { before: before[i]!, after: after[i]! }));
}

/** Rescored steps in sum. */
export function summed(groups: readonly RescoredGroup[]): Rescored {
  const sum = (of: (group: RescoredGroup) => number): number =>
    groups.reduce((total, group) => total + of(group), 0);
  const trajectories = sum(({ paths }) => paths.length);
  return {
    steps: new Set(groups.map(({ step }) => step)).size,
    trees: groups.length,
    trajectories,
    meanBefore: sum(({ meanBefore, paths }) => meanBefore * paths.length) / Math.max(1, trajectories),
    meanAfter: sum(({ meanAfter, paths }) => meanAfter * paths.length) / Math.max(1, trajectories),
    flips: sum(({ flips }) => flips),
    gained: groups.filter(({ variance }) => variance === 'gained').length,
    lost: groups.filter(({ variance }) => variance === 'lost').length,
    signChanges: sum(({ signChanges }) => signChanges),
    groups: [...groups].sort((a, b) => b.shift - a.shift || b.flips - a.flips),
  };
}

/** Products of advantages nearer to 0 are those of rounding. */
const ROUNDING = 1e-12;

const withRewards = (tree: Tree, rewards: readonly Reward[]): Tree => ({
  ...tree,
  paths: tree.paths.map((path, i) => ({ ...path, reward: rewards[i]! })),
});

/** [tree][path]; undefined for a group that is not learned from. */
function advantagesOf(
  trees: readonly Tree[],
  { credit, dropsFlat }: RescoreSettings,
): (readonly number[] | undefined)[] {
  const kept = trees.filter(tree => !dropsFlat || !hasNoVariance(tree));
  const credits = creditAll(kept, credit);
  return trees.map(tree => credits[kept.indexOf(tree)]?.soft);
}

interface Advantages {
  before: readonly number[] | undefined;
  after: readonly number[] | undefined;
}

function groupOf(tree: Tree, changed: Tree, { before, after }: Advantages): RescoredGroup {
  const paths = tree.paths.map((_, path): RescoredPath => {
    const [old, now] = [rewardOf(tree, path), rewardOf(changed, path)];
    return {
      path,
      before: { reward: old.total, correct: old.correct, ...advantageAt(before, path) },
      after: { reward: now.total, correct: now.correct, ...advantageAt(after, path), reason: now.reason },
    };
  });
  const [flatBefore, flatAfter] = [hasNoVariance(tree), hasNoVariance(changed)];
  const change = ({ before, after }: RescoredPath): number =>
    Math.abs((after.advantage ?? 0) - (before.advantage ?? 0));
  const turns = ({ before, after }: RescoredPath): boolean =>
    (before.advantage ?? 0) * (after.advantage ?? 0) < -ROUNDING;
  return {
    tree: tree.id,
    step: tree.step,
    question: tree.task.question,
    meanBefore: mean(paths.map(({ before }) => before.reward)),
    meanAfter: mean(paths.map(({ after }) => after.reward)),
    flips: flipsOf(paths),
    variance: flatBefore === flatAfter ? 'unchanged' : flatBefore ? 'gained' : 'lost',
    signChanges: paths.filter(turns).length,
    shift: Math.max(0, ...paths.map(change)),
    paths,
  };
}

function flipsOf(paths: readonly RescoredPath[]): number {
  let flips = 0;
  for (const [i, one] of paths.entries())
    for (const other of paths.slice(i + 1))
      if ((one.before.reward - other.before.reward) * (one.after.reward - other.after.reward) < 0) flips++;
  return flips;
}

const advantageAt = (advantages: readonly number[] | undefined, path: number): { advantage?: number } =>
  advantages ? { advantage: advantages[path]! } : {};

function rewardOf(tree: Tree, path: number): Reward {
  const { reward } = tree.paths[path]!;
  if (!reward) throw new Error(`Path ${path} of tree ${tree.id} has no reward.`);
  return reward;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

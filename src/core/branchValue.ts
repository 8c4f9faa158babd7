/** What branching was worth: rewards of a branch against those of what it left. Knows nothing of advantages or of how trees are drawn. */
import { childrenOf, isTrained, lineage, segmentsOf } from './tree.ts';
import type { Tree } from './types.ts';

/** Place at which trajectories left another: the other one, and the segment after which they did. */
export interface Place {
  path: number;
  segment: number;
}

export interface BranchValue {
  /** Trajectories that left there, ascending. */
  branches: number[];
  /** Mean reward of the branches; reward of the trajectory that they left. */
  mean: number;
  left: number;
  /** mean − left: above 0 where branching there found something better. */
  value: number;
  /** Tool calls that the branches made beyond the place, all together. */
  extraCalls: number;
  /** Tool calls and response tokens up to the place, which each branch has without making them again. */
  sharedCalls: number;
  sharedTokens: number;
}

/**
 * Branch value: the mean reward of the trajectories that left a trajectory after a segment, less the reward of the trajectory
 * that they left. Undefined where none left there or one of the rewards is not known yet.
 */
export function branchValue(tree: Tree, { path, segment }: Place): BranchValue | undefined {
  const branches = tree.paths.flatMap(({ from }, index) =>
    from?.path === path && from.segment === segment ? [index] : [],
  );
  const rewards = branches.map(branch => tree.paths[branch]!.reward?.total);
  const left = tree.paths[path]?.reward?.total;
  if (left === undefined || rewards.length === 0 || !rewards.every(reward => reward !== undefined))
    return undefined;
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const shared = lineage(tree, segment);
  const sharedCalls = callsAmong(tree, shared);
  return {
    branches,
    mean,
    left,
    value: mean - left,
    extraCalls: branches.reduce(
      (sum, branch) => sum + callsAmong(tree, segmentsOf(tree, branch)) - sharedCalls,
      0,
    ),
    sharedCalls,
    sharedTokens: shared.reduce((sum, at) => {
      const { kind, count } = tree.segments[at]!;
      return kind === 'prompt' ? sum : sum + count;
    }, 0),
  };
}

const callsAmong = (tree: Tree, segments: readonly number[]): number =>
  segments.filter(at => {
    const { kind, call } = tree.segments[at]!;
    return kind === 'tool' && call?.outcome !== 'refused';
  }).length;

/**
 * [segment] sibling-relative credit: at the last fork above the segment (or at the segment itself), the mean reward of the
 * trajectories through its own side, less that of the trajectories through the other sides. For a single branch it is the
 * branch value on the branch's side and its negative on the side that it left. Null where nothing forks above, a side has no
 * reward yet, or the segment is not trained. `trainForced` as in `isTrained`.
 */
export function siblingCredit(tree: Tree, trainForced = false): (number | null)[] {
  const sums = rewardSums(tree);
  const children = childrenOf(tree);
  const relative: (number | null)[] = [];
  tree.segments.forEach(({ parent }, segment) => {
    if (parent < 0) relative[segment] = null;
    else if (children[parent]!.length < 2) relative[segment] = relative[parent]!;
    else {
      const others = children[parent]!.filter(child => child !== segment).map(child => sums[child]!);
      const other = others.reduce(add, { sum: 0, count: 0 });
      const own = sums[segment]!;
      relative[segment] =
        own.count > 0 && other.count > 0 ? own.sum / own.count - other.sum / other.count : null;
    }
  });
  return relative.map((value, segment) =>
    isTrained(tree.segments[segment]!.kind, trainForced) ? value : null,
  );
}

interface Rewards {
  sum: number;
  count: number;
}

const add = (a: Rewards, b: Rewards): Rewards => ({ sum: a.sum + b.sum, count: a.count + b.count });

/** [segment] rewards of the judged trajectories through it. */
function rewardSums(tree: Tree): Rewards[] {
  const sums: Rewards[] = tree.segments.map(() => ({ sum: 0, count: 0 }));
  for (const { leaf, reward } of tree.paths)
    if (reward) sums[leaf] = add(sums[leaf]!, { sum: reward.total, count: 1 });
  for (let segment = sums.length - 1; segment > 0; segment--) {
    const { parent } = tree.segments[segment]!;
    if (parent >= 0) sums[parent] = add(sums[parent]!, sums[segment]!);
  }
  return sums;
}

/** [segment] mean reward of the judged trajectories through it; undefined where there is none. */
export const rewardsThrough = (tree: Tree): (number | undefined)[] =>
  rewardSums(tree).map(({ sum, count }) => (count > 0 ? sum / count : undefined));

/** Folds a step's trees into its numbers. Knows nothing of journals, charts or clocks: durations are handed in. */
import type { StepSummary } from './events.ts';
import { responseTokens, segmentsOf, type Grown } from './tree.ts';
import type { Decision, Path, Probe, Reward, Segment, ToolCall, Tree } from './types.ts';

/** What filtering and learning have to say about a step; absent where there was no filter or no update. */
export interface LearnNumbers {
  filter?: NonNullable<StepSummary['filter']>;
  skippedUpdates: number;
  trainedTokens: number;
  loss?: number;
  gradientNorm?: number;
  kl?: number;
  clipFraction?: number;
}

/** The numbers of a step from its judged trees; throws where there is no tree or a path was not judged. */
export function summarize(
  grown: readonly Grown[],
  learned: LearnNumbers,
  seconds: StepSummary['seconds'],
): StepSummary {
  if (grown.length === 0) throw new Error('A step without trees has no numbers.');
  const trees = grown.map(({ tree }) => tree);
  const paths = trees.flatMap(tree => tree.paths);
  const rewards = trees.flatMap(rewardsOf);
  const { skippedUpdates, trainedTokens, ...measured } = learned;
  const mismatch = mismatchOf(grown);
  const probes = trees.flatMap(({ probe }) => probe ?? []);
  return {
    tasks: grown.length,
    trajectories: paths.length,
    reward: rewardNumbers(rewards),
    accuracy: meanOf(rewards.map(({ correct }) => Number(correct))),
    entropy: entropyNumbers(grown),
    branches: branchNumbers(
      trees.flatMap(tree => tree.decisions),
      paths,
    ),
    toolCalls: callNumbers([
      ...trees.flatMap(({ segments }) => segments.flatMap(({ call }) => call ?? [])),
      ...probes.flatMap(({ calls }) => calls),
    ]),
    groups: groupNumbers(trees),
    tokens: { ...tokenNumbers(trees, probes), trained: trainedTokens },
    responseTokens: lengthNumbers(trees),
    stops: countBy(paths.map(({ stop }) => stop)),
    ...measured,
    skippedUpdates,
    ...(probes.length > 0 && { probes: probeNumbers(probes) }),
    ...(mismatch && { mismatch }),
    seconds,
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Quantile q in [0, 1] by linear interpolation between the sorted values; NaN for nothing. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  return below + (at - Math.floor(at)) * (sorted[Math.ceil(at)]! - below);
}

const rewardsOf = (tree: Tree): Reward[] =>
  tree.paths.map(({ reward }, path) => {
    if (!reward) throw new Error(`Path ${path} of tree ${tree.id} has no reward yet.`);
    return reward;
  });

function rewardNumbers(rewards: readonly Reward[]): StepSummary['reward'] {
  const totals = rewards.map(({ total }) => total);
  const mean = meanOf(totals);
  const squares = totals.reduce((sum, total) => sum + (total - mean) ** 2, 0);
  const names = new Set(rewards.flatMap(({ parts }) => Object.keys(parts)));
  return {
    mean,
    std: Math.sqrt(squares / Math.max(1, totals.length - 1)),
    p10: quantile(totals, 0.1),
    p90: quantile(totals, 0.9),
    parts: Object.fromEntries(
      [...names].map(name => [name, meanOf(rewards.map(({ parts }) => parts[name] ?? 0))]),
    ),
  };
}

function entropyNumbers(grown: readonly Grown[]): StepSummary['entropy'] {
  let sum = 0;
  let count = 0;
  for (const { columns } of grown)
    for (const entropy of columns.entropies) {
      if (Number.isNaN(entropy)) continue;
      sum += entropy;
      count++;
    }
  const scores = (parentKind: Segment['kind']): number[] =>
    grown.flatMap(({ tree: { segments } }) =>
      segments.flatMap(({ entropy, parent }) =>
        entropy !== undefined && segments[parent]?.kind === parentKind ? [entropy] : [],
      ),
    );
  const initial = scores('prompt');
  const afterTool = scores('tool');
  return {
    all: sum / Math.max(1, count),
    ...(initial.length > 0 && { initial: meanOf(initial) }),
    ...(afterTool.length > 0 && { afterTool: meanOf(afterTool) }),
  };
}

function branchNumbers(decisions: readonly Decision[], paths: readonly Path[]): StepSummary['branches'] {
  const count = (outcome: Decision['outcome']): number =>
    decisions.filter(decision => decision.outcome === outcome).length;
  return {
    asked: decisions.length,
    taken: count('branch'),
    refused: count('refuse'),
    noBudget: count('budget') + count('length'),
    filled: paths.filter(({ origin }) => origin === 'fill').length,
  };
}

function callNumbers(calls: readonly Omit<ToolCall, 'argument'>[]): StepSummary['toolCalls'] {
  const latencies = calls.map(({ latencyMs }) => latencyMs);
  return {
    total: calls.length,
    byTool: countBy(calls.map(({ tool }) => tool)),
    errors: calls.filter(({ outcome }) => outcome !== 'ok').length,
    ...(calls.length > 0 && {
      latencyP50Ms: quantile(latencies, 0.5),
      latencyP95Ms: quantile(latencies, 0.95),
    }),
  };
}

const probeNumbers = (probes: readonly Probe[]): NonNullable<StepSummary['probes']> => ({
  made: probes.length,
  calls: probes.reduce((sum, { calls }) => sum + calls.length, 0),
  tokens: probes.reduce((sum, { tokens }) => sum + tokens, 0),
});

function groupNumbers(trees: readonly Tree[]): StepSummary['groups'] {
  const groups = { allRight: 0, mixed: 0, allWrong: 0 };
  for (const { paths } of trees) {
    const right = paths.filter(({ reward }) => reward?.correct).length;
    groups[right === paths.length ? 'allRight' : right > 0 ? 'mixed' : 'allWrong']++;
  }
  return groups;
}

function tokenNumbers(
  trees: readonly Tree[],
  probes: readonly Probe[],
): Omit<StepSummary['tokens'], 'trained'> {
  const segments = trees.flatMap(tree => tree.segments);
  const total = (counted: readonly Segment[]): number => counted.reduce((sum, { count }) => sum + count, 0);
  return {
    sampled: total(segments.filter(({ kind }) => kind === 'model')) + probeNumbers(probes).tokens,
    unique: total(segments),
    expanded: trees.reduce(
      (sum, tree) =>
        sum +
        tree.paths.reduce(
          (inner, _, path) => inner + total(segmentsOf(tree, path).map(i => tree.segments[i]!)),
          0,
        ),
      0,
    ),
  };
}

function lengthNumbers(trees: readonly Tree[]): StepSummary['responseTokens'] {
  const lengths = trees.flatMap(tree => tree.paths.map((_, path) => responseTokens(tree, path)));
  return { mean: meanOf(lengths), max: Math.max(...lengths) };
}

/** Mean and largest |sampler − trainer| log-probability over tokens that both measured; absent where there is none. */
function mismatchOf(grown: readonly Grown[]): { mean: number; max: number } | undefined {
  let sum = 0;
  let max = 0;
  let count = 0;
  for (const { columns } of grown)
    columns.samplerLogProbs.forEach((sampled, token) => {
      const difference = Math.abs(sampled - columns.trainerLogProbs[token]!);
      if (Number.isNaN(difference)) return;
      sum += difference;
      max = Math.max(max, difference);
      count++;
    });
  return count === 0 ? undefined : { mean: sum / count, max };
}

const countBy = <K extends string>(names: readonly K[]): Record<K, number> => {
  const counts = {} as Record<K, number>;
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

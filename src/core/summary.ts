/** Folds a step's trees into its numbers. Knows nothing of journals, charts or clocks: durations are handed in. */
import { hasNoVariance, isFlat } from './advantage.ts';
import { countBy } from './countBy.ts';
import type { MeasuredSummary, StepSummary } from './events.ts';
import { responseTokens, segmentsOf, type Grown } from './tree.ts';
import type { Decision, Path, Probe, Reward, Segment, ToolCall, Tree } from './types.ts';
import { meanOf } from './mean.ts';

/** What filtering and learning have to say about a step; absent where there was no filter or no update. */
export interface LearnNumbers {
  filter?: NonNullable<StepSummary['filter']>;
  skippedUpdates: number;
  trainedTokens: number;
  loss?: number;
  gradientNorm?: number;
  kl?: number;
  approximateKl?: number;
  clipFraction?: number;
  clipFractions?: NonNullable<StepSummary['clipFractions']>;
  memory?: NonNullable<StepSummary['memory']>;
}

/** The numbers of a step from its judged trees; throws where there is no tree or a path was not judged. */
export function summarize(
  grown: readonly Grown[],
  learned: LearnNumbers,
  seconds: MeasuredSummary['seconds'],
): MeasuredSummary {
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
    turns: turnNumbers(trees),
    stops: countBy(paths.flatMap(({ stop }) => stop ?? [])),
    ...measured,
    skippedUpdates,
    ...(probes.length > 0 && { probes: probeNumbers(probes) }),
    ...(mismatch && { mismatch }),
    seconds,
  };
}

type Numbers = readonly number[] | Float64Array;

/** Quantile q in [0, 1] by linear interpolation between the sorted values; NaN for nothing. */
export function quantile(values: Numbers, q: number): number {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
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

function entropyNumbers(grown: readonly Grown[]): MeasuredSummary['entropy'] {
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
    byTurn: turnEntropies(grown),
  };
}

/** [model turn] mean entropy of the turn's model tokens, over all trees. */
function turnEntropies(grown: readonly Grown[]): (number | null)[] {
  const sums: number[] = [];
  const counts: number[] = [];
  for (const { tree, columns } of grown)
    for (const { kind, turn, start, count } of tree.segments) {
      if (kind !== 'model') continue;
      for (const entropy of columns.entropies.subarray(start, start + count)) {
        if (Number.isNaN(entropy)) continue;
        sums[turn] = (sums[turn] ?? 0) + entropy;
        counts[turn] = (counts[turn] ?? 0) + 1;
      }
    }
  return Array.from(sums, (sum, turn) => (counts[turn] ? sum / counts[turn] : null));
}

function branchNumbers(decisions: readonly Decision[], paths: readonly Path[]): MeasuredSummary['branches'] {
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

/** Calls beyond a limit were not executed: they count as outcomes only. */
function callNumbers(asked: readonly Omit<ToolCall, 'argument'>[]): MeasuredSummary['toolCalls'] {
  const calls = asked.filter(({ outcome }) => outcome !== 'refused');
  const latencies = calls.map(({ latencyMs }) => latencyMs);
  const tags = [...new Set(calls.map(({ tool }) => tool))];
  const p95Of = (tag: string): number =>
    quantile(
      calls.flatMap(({ tool, latencyMs }) => (tool === tag ? latencyMs : [])),
      0.95,
    );
  return {
    total: calls.length,
    byTool: countBy(calls.map(({ tool }) => tool)),
    errors: calls.filter(({ outcome }) => outcome !== 'ok').length,
    ...(calls.length > 0 && {
      latencyP50Ms: quantile(latencies, 0.5),
      latencyP95Ms: quantile(latencies, 0.95),
      latencyP95MsByTool: Object.fromEntries(tags.map(tag => [tag, p95Of(tag)])),
      byOutcome: countBy(asked.map(({ outcome }) => outcome)),
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
  return { ...groups, flat: trees.filter(teachesNothing).length };
}

/**
 * Whether no trajectory of a group has an advantage. Equal rewards say so only of advantages within a group: Reinforce++ compares over
 * the step, and a penalty of length sets trajectories apart that are all right.
 */
const teachesNothing = (tree: Tree): boolean => (tree.credit ? isFlat(tree.credit) : hasNoVariance(tree));

function tokenNumbers(
  trees: readonly Tree[],
  probes: readonly Probe[],
): Omit<MeasuredSummary['tokens'], 'trained'> {
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

function lengthNumbers(trees: readonly Tree[]): MeasuredSummary['responseTokens'] {
  const lengths = trees.flatMap(tree => tree.paths.map((_, path) => responseTokens(tree, path)));
  return {
    mean: meanOf(lengths),
    max: Math.max(...lengths),
    p10: quantile(lengths, 0.1),
    p90: quantile(lengths, 0.9),
  };
}

/** Model turns of each trajectory. */
function turnNumbers(trees: readonly Tree[]): { mean: number; max: number } {
  const turns = trees.flatMap(tree =>
    tree.paths.map(
      (_, path) => segmentsOf(tree, path).filter(i => tree.segments[i]!.kind === 'model').length,
    ),
  );
  return { mean: meanOf(turns), max: Math.max(...turns) };
}

/** How far sampler and trainer are apart on tokens that both measured; absent where there is none. */
function mismatchOf(grown: readonly Grown[]): StepSummary['mismatch'] {
  const tokens = grown.reduce((sum, { columns }) => sum + columns.ids.length, 0);
  const [sampled, trained] = [new Float64Array(tokens), new Float64Array(tokens)];
  let count = 0;
  for (const { samplerLogProbs, trainerLogProbs } of grown.map(({ columns }) => columns))
    for (let token = 0; token < samplerLogProbs.length; token++) {
      if (Number.isNaN(samplerLogProbs[token]! - trainerLogProbs[token]!)) continue;
      sampled[count] = samplerLogProbs[token]!;
      trained[count++] = trainerLogProbs[token]!;
    }
  if (count === 0) return undefined;
  const differences = sampled.slice(0, count).map((value, i) => Math.abs(value - trained[i]!));
  const correlation = correlationOf(sampled.subarray(0, count), trained.subarray(0, count));
  return {
    mean: meanOf(differences),
    max: differences.reduce((most, difference) => Math.max(most, difference), 0),
    p99: quantile(differences, 0.99),
    ...(correlation !== undefined && { correlation }),
  };
}

/** Pearson's r of values by index; undefined where one side does not vary. */
function correlationOf(xs: Float64Array, ys: Float64Array): number | undefined {
  const [a, b] = [meanOf(xs), meanOf(ys)];
  let both = 0;
  let first = 0;
  let second = 0;
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i]! - a;
    const y = ys[i]! - b;
    both += x * y;
    first += x * x;
    second += y * y;
  }
  return first > 0 && second > 0 ? both / Math.sqrt(first * second) : undefined;
}

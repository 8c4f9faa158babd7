/** One step's credited trees into optimiser updates. Knows nothing of rollouts, rewards, files or how a policy computes. */
import type { CreditSettings } from '../core/advantage.ts';
import type { CollateSettings, Collated } from '../core/batch.ts';
import { collate, pack, putScores } from '../core/batch.ts';
import type { Config } from '../core/config.ts';
import type { ObjectiveReport, ObjectiveSettings } from '../core/objective.ts';
import type { LearnNumbers } from '../core/summary.ts';
import type { Grown } from '../core/tree.ts';
import type { Policy, StepSettings } from './policy/policy.ts';

/** What the updates of one step came to: means over its updates, undefined where there was none. */
export interface Learned extends LearnNumbers {
  updates: number;
  /** Bytes of the engine's process, where it told them. */
  engineMemory?: number;
}

export interface Learners {
  policy: Policy;
  /** The weights that training began with; only where the KL weight is not 0. */
  reference?: Policy;
}

/**
 * Splits the trees, in order, into `updatesPerStep` mini-batches and updates the policy with each. Afterwards the trees'
 * columns hold the trainer's log-probabilities from before the step's first update, wherever a tree was scored.
 */
export async function learn(
  learners: Learners,
  grown: readonly Grown[],
  config: Config,
  step: number,
): Promise<Learned> {
  const { policy } = learners;
  const settings = collateSettings(config);
  const parts = split(grown, config.algorithm.updatesPerStep);
  // With a single update the forward pass of that update scores what it trains; more updates, and advantages that depend on
  // entropies, need the scores up front.
  const isScored = parts.length > 1 || settings.entropyAdvantage !== undefined;
  const entropies = isScored ? await scoreBefore(policy, grown, config.rollout.temperature) : undefined;
  const reports: ObjectiveReport[] = [];
  const norms: number[] = [];
  let skippedUpdates = 0;
  let engineMemory: number | undefined;
  for (const part of parts) {
    const batch = collate(part, settings, entropies && part.map(one => entropies.get(one)!));
    if (batch.trees.length === 0) continue;
    if (learners.reference) await addReference(learners.reference, batch);
    const { report, scores } = await policy.accumulate(batch, objectiveSettings(config));
    if (!isScored) batch.members.forEach((member, i) => putScores(part[member]!, scores[i]!.logProbs));
    const { gradientNorm, applied, memory } = await policy.step(stepSettings(config, step));
    if (memory !== undefined) engineMemory = Math.max(engineMemory ?? 0, memory);
    if (!applied) skippedUpdates++;
    reports.push(report);
    norms.push(gradientNorm);
  }
  const { kl, ...means } = summed(reports, norms);
  return {
    updates: reports.length,
    skippedUpdates,
    ...means,
    // Without a reference there is nothing to be far from.
    ...(learners.reference && kl !== undefined && { kl }),
    ...(engineMemory !== undefined && { engineMemory }),
  };
}

/** Writes the trainer's log-probabilities into the trees' columns; returns its entropies [packed token] of each tree. */
async function scoreBefore(
  policy: Policy,
  grown: readonly Grown[],
  temperature: number,
): Promise<Map<Grown, Float32Array>> {
  const scores = await policy.score(grown.map(pack), temperature);
  grown.forEach((one, i) => putScores(one, scores[i]!.logProbs));
  return new Map(grown.map((one, i) => [one, scores[i]!.entropies]));
}

async function addReference(reference: Policy, batch: Collated): Promise<void> {
  const scores = await reference.score(batch.trees, batch.temperature);
  batch.trees.forEach((tree, i) => (tree.referenceLogProbs = scores[i]!.logProbs));
}

function summed(
  reports: readonly ObjectiveReport[],
  norms: readonly number[],
): Omit<LearnNumbers, 'skippedUpdates'> {
  const trainedTokens = reports.reduce((sum, report) => sum + report.trainedTokens, 0);
  if (reports.length === 0) return { trainedTokens };
  const mean = (of: (report: ObjectiveReport) => number): number =>
    reports.reduce((sum, report) => sum + of(report), 0) / reports.length;
  return {
    trainedTokens,
    loss: mean(report => report.loss),
    kl: mean(report => report.kl),
    approximateKl: mean(report => report.approximateKl),
    clipFraction: mean(report => report.clipFractionHigh + report.clipFractionLow + report.dualClipFraction),
    clipFractions: {
      high: mean(report => report.clipFractionHigh),
      low: mean(report => report.clipFractionLow),
      dual: mean(report => report.dualClipFraction),
    },
    gradientNorm: norms.reduce((sum, norm) => sum + norm, 0) / norms.length,
  };
}

/** Consecutive parts of sizes that differ by at most one; never more parts than trees. */
function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.min(parts, items.length);
  return Array.from({ length: count }, (_, i) =>
    items.slice(Math.floor((i * items.length) / count), Math.floor(((i + 1) * items.length) / count)),
  );
}

/** How a config's trees become batches. */
export function collateSettings({ algorithm, rollout }: Config): CollateSettings {
  return {
    credit: algorithm.credit,
    aggregation: algorithm.aggregation,
    temperature: rollout.temperature,
    maxResponseTokens: rollout.maxResponseTokens,
    trainForced: trainsForced(rollout),
    skipZeroAdvantage: true,
    ...(algorithm.entropyAdvantage !== 'none' && {
      entropyAdvantage: { form: algorithm.entropyAdvantage, weight: algorithm.entropyAdvantageWeight },
    }),
    regularised: algorithm.klWeight !== 0 || algorithm.entropyBonus !== 0,
  };
}

/** Whether an end-of-sequence that the loop appended at the call limit is trained as if the policy had written it. */
const trainsForced = (rollout: Config['rollout']): boolean => rollout.limitAction === 'append-end-trained';

/** How a config's rewards become advantages. */
export function creditSettings({ algorithm, rollout }: Config): CreditSettings {
  const { credit, baseline, scale, stepWeight, stepDiscount } = algorithm;
  return { credit, baseline, scale, stepWeight, stepDiscount, trainForced: trainsForced(rollout) };
}

/** How a config clips, regularises and compares probabilities. */
export function objectiveSettings({ algorithm }: Config): ObjectiveSettings {
  const { ratio, clip, clipLow, clipHigh, dualClip, klWeight, entropyBonus } = algorithm;
  return {
    kind: 'policy',
    ratio,
    clip,
    clipLow,
    clipHigh,
    dualClip: dualClip === 0 ? Infinity : dualClip,
    klWeight,
    entropyWeight: entropyBonus,
  };
}

/** The learning rate rises linearly over the first `warmupSteps` steps; steps count from 1. */
export function stepSettings({ optimizer }: Config, step: number): StepSettings {
  const { warmupSteps, learningRate, ...rest } = optimizer;
  return { ...rest, learningRate: learningRate * Math.min(1, step / Math.max(1, warmupSteps)) };
}

/** From new log-probabilities to the loss and its derivative per token. Knows nothing of how either is computed or used. */
import type { PackedTree } from './batch.ts';
import { clippedLoss, type Bounds } from './clip.ts';

export { clippedLoss, type Clip, type ClipForm } from './clip.ts';

/** How a batch's terms become a loss. Names follow algorithm notes §2.4; upstream: verl core_algos.py. */
export interface ObjectiveSettings extends Bounds {
  /** `policy`: clipped policy gradient; `likelihood`: −Σ weight·log p (supervised fine-tuning). */
  kind: 'policy' | 'likelihood';
  /**
   * What is compared with the bounds: each token's own ratio, or (GSPO) its trajectory's exp(mean of log p_new − log p_old),
   * which needs soft terms. `token` where absent.
   */
  ratio?: 'token' | 'sequence';
  /** Weight of the k3 KL to the reference policy; 0 for none. */
  klWeight: number;
  /** Weight of the entropy bonus; 0 for none. */
  entropyWeight: number;
}

/** Means over a batch, weighted as the loss is. */
export interface ObjectiveReport {
  loss: number;
  policyLoss: number;
  kl: number;
  /** Mean entropy (nats) of the trained tokens. */
  entropy: number;
  /** Share of terms whose ratio was clipped above, below, and by the dual clip. */
  clipFractionHigh: number;
  clipFractionLow: number;
  dualClipFraction: number;
  /** Mean of log p_old − log p_new over terms. */
  approximateKl: number;
  trainedTokens: number;
  terms: number;
}

/** What one tree adds to a report: sums weighted by the terms' weights, so that trees may be added up in any order. */
export interface ObjectiveSums {
  weight: number;
  policyLoss: number;
  kl: number;
  entropy: number;
  clippedHigh: number;
  clippedLow: number;
  dualClipped: number;
  approximateKl: number;
  trainedTokens: number;
  terms: number;
  /** Weights of the KL and of the entropy bonus in the loss. */
  klWeight: number;
  entropyWeight: number;
}

/** The loss's derivatives by every token's log-probability and entropy, summed over the trajectories through it. */
export interface Derivatives {
  /** [token] ∂L/∂(log p of the token); 0 where the token is not trained. */
  dLogProb: Float32Array;
  /** [token] ∂L/∂(entropy of the distribution that predicts the token); 0 where the token is not trained. */
  dEntropy: Float32Array;
  sums: ObjectiveSums;
}

/** Objective of supervised fine-tuning: −Σ weight·log p over the rows of `packRows`. */
export const LIKELIHOOD: ObjectiveSettings = {
  kind: 'likelihood',
  clipLow: 0,
  clipHigh: 0,
  dualClip: Infinity,
  klWeight: 0,
  entropyWeight: 0,
};

/**
 * Loss of one packed tree under new log-probabilities, and its derivatives. An engine calls it between the forward and
 * the backward of its head; the derivatives of a batch's trees are independent, since all normalisers are in the weights.
 *
 * @param logProbs [token] of softmax(logits / temperature); only trained tokens are read.
 * @param entropies [token] nats, of the distributions that predict the tokens; only trained tokens are read.
 */
export function evaluate(
  tree: PackedTree,
  logProbs: Float32Array,
  entropies: Float32Array,
  settings: ObjectiveSettings,
): Derivatives {
  if (settings.klWeight !== 0 && !tree.referenceLogProbs)
    throw new Error('The objective has a KL weight, but the batch has no reference log-probabilities.');
  const dLogProb = new Float32Array(tree.ids.length);
  const dEntropy = new Float32Array(tree.ids.length);
  const sums: ObjectiveSums = {
    ...NOTHING,
    klWeight: settings.klWeight,
    entropyWeight: settings.entropyWeight,
  };
  const sequences = settings.ratio === 'sequence' ? sequenceLogRatios(tree, logProbs) : undefined;
  for (let token = 0; token < tree.ids.length; token++) {
    const first = tree.termStart[token]!;
    const end = tree.termStart[token + 1]!;
    if (first === end) continue;
    const logProb = logProbs[token]!;
    const old = tree.oldLogProbs ? tree.oldLogProbs[token]! : logProb;
    const reference = settings.klWeight === 0 ? undefined : tree.referenceLogProbs?.[token];
    let weight = 0;
    let derivative = 0;
    for (let term = first; term < end; term++) {
      const termWeight = tree.termWeight[term]!;
      const compared = sequences?.[tree.termPath[term]!];
      weight += termWeight;
      derivative += addTerm(
        sums,
        { advantage: tree.termAdvantage[term]!, weight: termWeight, logProb, old, compared },
        settings,
      );
    }
    if (reference !== undefined) {
      const kl = k3(logProb, reference);
      sums.kl += weight * kl.value;
      derivative += settings.klWeight * weight * kl.derivative;
    }
    sums.weight += weight;
    sums.entropy += weight * entropies[token]!;
    sums.trainedTokens++;
    sums.terms += end - first;
    dLogProb[token] = derivative;
    dEntropy[token] = -settings.entropyWeight * weight;
  }
  return { dLogProb, dEntropy, sums };
}

/** Adds trees up to one report. Without any term all means are 0. */
export function mergeReports(parts: readonly ObjectiveSums[]): ObjectiveReport {
  const total = (key: keyof ObjectiveSums): number => parts.reduce((sum, part) => sum + part[key], 0);
  const weight = total('weight');
  const mean = (key: keyof ObjectiveSums): number => (weight === 0 ? 0 : total(key) / weight);
  const penalties = parts.reduce(
    (sum, part) =>
      sum + part.klWeight * part.kl - (part.entropyWeight === 0 ? 0 : part.entropyWeight * part.entropy),
    0,
  );
  return {
    loss: total('policyLoss') + penalties,
    policyLoss: total('policyLoss'),
    kl: mean('kl'),
    entropy: mean('entropy'),
    clipFractionHigh: mean('clippedHigh'),
    clipFractionLow: mean('clippedLow'),
    dualClipFraction: mean('dualClipped'),
    approximateKl: mean('approximateKl'),
    trainedTokens: total('trainedTokens'),
    terms: total('terms'),
  };
}

/** k3 estimate of KL(π ‖ π_ref) at a drawn token, q = log π_ref − log π: e^q − q − 1, at most 10; derivative by log π. */
export function k3(logProb: number, reference: number): { value: number; derivative: number } {
  const q = reference - logProb;
  const value = Math.exp(q) - q - 1;
  return value > KL_LIMIT ? { value: KL_LIMIT, derivative: 0 } : { value, derivative: 1 - Math.exp(q) };
}

/** upstream: low_var_kl is clamped to ±10; k3 is never negative. */
const KL_LIMIT = 10;

/** Ratios beyond e^±20 carry no information, and e^x must stay finite for a step to be applied. */
const LOG_RATIO_LIMIT = 20;

const NOTHING: ObjectiveSums = {
  weight: 0,
  policyLoss: 0,
  kl: 0,
  entropy: 0,
  clippedHigh: 0,
  clippedLow: 0,
  dualClipped: 0,
  approximateKl: 0,
  trainedTokens: 0,
  terms: 0,
  klWeight: 0,
  entropyWeight: 0,
};

interface Term {
  advantage: number;
  weight: number;
  logProb: number;
  old: number;
  /** Log-ratio that the bounds are compared with; the token's own where undefined. */
  compared: number | undefined;
}

/**
 * [trajectory] mean of log p_new − log p_old over its trained tokens (GSPO's ln s_i). The derivative of a term by its
 * token's log p is then that of ℓ(A, s_i): the 1/|y_i| of the mean and the |y_i| equal terms cancel out.
 */
function sequenceLogRatios(tree: PackedTree, logProbs: Float32Array): Float64Array {
  const size = tree.termPath.reduce((most, path) => Math.max(most, path + 1), 0);
  const sums = new Float64Array(size);
  const counts = new Float64Array(size);
  for (let token = 0; token < tree.ids.length; token++)
    for (let term = tree.termStart[token]!; term < tree.termStart[token + 1]!; term++) {
      const path = tree.termPath[term]!;
      if (path < 0) throw new Error('Hard credit has no trajectories whose ratios could be compared.');
      sums[path]! += tree.oldLogProbs ? logProbs[token]! - tree.oldLogProbs[token]! : 0;
      counts[path]!++;
    }
  return sums.map((sum, path) => sum / Math.max(1, counts[path]!));
}

/** Adds one term to the sums; returns its weighted derivative by log p. */
function addTerm(
  sums: ObjectiveSums,
  { advantage, weight, logProb, old, compared }: Term,
  settings: ObjectiveSettings,
): number {
  if (settings.kind === 'likelihood') {
    sums.policyLoss -= weight * logProb;
    return -weight;
  }
  const logRatio = logProb - old;
  const bounded = Math.min(Math.max(compared ?? logRatio, -LOG_RATIO_LIMIT), LOG_RATIO_LIMIT);
  const { loss, derivative, clip } = clippedLoss(advantage, Math.exp(bounded), settings, logProb);
  sums.policyLoss += weight * loss;
  sums.approximateKl -= weight * logRatio;
  if (clip === 'high') sums.clippedHigh += weight;
  if (clip === 'low') sums.clippedLow += weight;
  if (clip === 'dual') sums.dualClipped += weight;
  return weight * derivative;
}

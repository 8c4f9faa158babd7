/** Decides whether a leaf branches. Knows nothing of models, token text or time. */
import type { Decision, Rule } from './types.ts';

/** The damping that a question is asked under. */
export type Penalty = NonNullable<Decision['penalty']>;

export interface BranchSettings {
  rule: Rule;
  gate: 'bernoulli' | 'threshold';
  /** Paper α. */
  branchProbability: number;
  /** Paper β. */
  entropyWeight: number;
  /** Paper τ; only read by the threshold gate. */
  threshold: number;
  /** How AEPO damps repeated branching; `none` where absent. */
  penalty?: 'none' | Rule;
  /** What every branching in a row takes off the penalty's factor; 0.05 in the released code, and where absent. */
  penaltyRate?: number;
}

/** What is known when the question is asked. */
export type Question = Pick<
  Decision,
  'segment' | 'path' | 'round' | 'initialEntropy' | 'entropy' | 'windowTokens' | 'made' | 'total'
>;

/** Damping after so many branchings in a row; undefined where nothing is damped. */
export function penaltyOf(settings: BranchSettings, consecutive: number): Penalty | undefined {
  const { penalty = 'none', penaltyRate = 0.05 } = settings;
  if (penalty === 'none') return undefined;
  return { form: penalty, consecutive, factor: Math.max(0, 1 - penaltyRate * consecutive) };
}

/**
 * P = clamp(α + β·ΔH, 0, 1); at α ≥ 1 every draw branches, whatever ΔH. Under AEPO's penalty with factor f:
 * paper (as assumed: P̂(l) grows linearly, f = 1 − P̂) P = clamp((α + β·ΔH)·f); released code P = clamp(1 − α/f + β·ΔH), where α
 * acts as one minus the base rate.
 */
export function branchProbability(settings: BranchSettings, entropyDelta: number, penalty?: Penalty): number {
  const { branchProbability: alpha, entropyWeight: beta } = settings;
  switch (penalty?.form) {
    case undefined:
      return alpha >= 1 ? 1 : clamp(alpha + beta * entropyDelta);
    case 'paper':
      return clamp((alpha + beta * entropyDelta) * penalty.factor);
    case 'upstream':
      if (alpha <= 0) return 1;
      return penalty.factor === 0 ? 0 : clamp(1 - alpha / penalty.factor + beta * entropyDelta);
  }
}

/**
 * Bernoulli gate, which passes with probability P. Without a penalty in upstream's form: clamp(U − β·ΔH, 0, 1) ≤ α. AEPO's
 * released code turns sign and comparison: clamp((U + β·ΔH)·f, 0, 1) ≥ α.
 */
export function passesDraw(
  settings: BranchSettings,
  entropyDelta: number,
  draw: number,
  penalty?: Penalty,
): boolean {
  const { branchProbability: alpha, entropyWeight: beta } = settings;
  switch (penalty?.form) {
    case undefined:
      return clamp(draw - beta * entropyDelta) <= alpha;
    case 'paper':
      return draw < branchProbability(settings, entropyDelta, penalty);
    case 'upstream':
      return clamp((draw + beta * entropyDelta) * penalty.factor) >= alpha;
  }
}

/**
 * Answers one branching question, with all the numbers that led to the answer. `draw` gives U in [0, 1) and is asked only
 * where it decides: not under the threshold gate, and not when all trajectories are made. `consecutive` is read only where
 * repeated branching is damped.
 */
export function decide(
  question: Question,
  settings: BranchSettings,
  draw: () => number,
  consecutive = 0,
): Decision {
  const entropyDelta = question.entropy - question.initialEntropy;
  const penalty = penaltyOf(settings, consecutive);
  const probability = branchProbability(settings, entropyDelta, penalty);
  const asked = {
    ...question,
    rule: settings.rule,
    gate: settings.gate,
    entropyDelta,
    branchProbability: settings.branchProbability,
    entropyWeight: settings.entropyWeight,
    ...(penalty && { penalty }),
    probability,
  };
  if (settings.gate === 'threshold') {
    const { threshold } = settings;
    if (question.made >= question.total) return { ...asked, threshold, outcome: 'budget' };
    return { ...asked, threshold, outcome: probability > threshold ? 'branch' : 'refuse' };
  }
  if (question.made >= question.total) return { ...asked, outcome: 'budget' };
  const drawn = draw();
  const isBranch = passesDraw(settings, entropyDelta, drawn, penalty);
  return { ...asked, draw: drawn, outcome: isBranch ? 'branch' : 'refuse' };
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value));

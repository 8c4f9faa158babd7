/** Decides whether a leaf branches. Knows nothing of models, token text or time. */
import type { Decision, Rule } from './types.ts';

export interface BranchSettings {
  rule: Rule;
  gate: 'bernoulli' | 'threshold';
  /** Paper α. */
  branchProbability: number;
  /** Paper β. */
  entropyWeight: number;
  /** Paper τ; only read by the threshold gate. */
  threshold: number;
}

/** What is known when the question is asked. */
export type Question = Pick<
  Decision,
  'segment' | 'path' | 'round' | 'initialEntropy' | 'entropy' | 'windowTokens' | 'made' | 'total'
>;

/** P = clamp(α + β·ΔH, 0, 1); at α ≥ 1 every draw branches, whatever ΔH. */
export const branchProbability = (settings: BranchSettings, entropyDelta: number): number =>
  settings.branchProbability >= 1
    ? 1
    : clamp(settings.branchProbability + settings.entropyWeight * entropyDelta);

/** Bernoulli gate in upstream's form: clamp(U − β·ΔH, 0, 1) ≤ α, which happens with probability P. */
export const passesDraw = (settings: BranchSettings, entropyDelta: number, draw: number): boolean =>
  clamp(draw - settings.entropyWeight * entropyDelta) <= settings.branchProbability;

/**
 * Answers one branching question, with all the numbers that led to the answer. `draw` gives U in [0, 1) and is asked only
 * where it decides: not under the threshold gate, and not when all trajectories are made.
 */
export function decide(question: Question, settings: BranchSettings, draw: () => number): Decision {
  const entropyDelta = question.entropy - question.initialEntropy;
  const probability = branchProbability(settings, entropyDelta);
  const asked = {
    ...question,
    rule: settings.rule,
    gate: settings.gate,
    entropyDelta,
    branchProbability: settings.branchProbability,
    entropyWeight: settings.entropyWeight,
    probability,
  };
  if (settings.gate === 'threshold') {
    const { threshold } = settings;
    if (question.made >= question.total) return { ...asked, threshold, outcome: 'budget' };
    return { ...asked, threshold, outcome: probability > threshold ? 'branch' : 'refuse' };
  }
  if (question.made >= question.total) return { ...asked, outcome: 'budget' };
  const drawn = draw();
  return { ...asked, draw: drawn, outcome: passesDraw(settings, entropyDelta, drawn) ? 'branch' : 'refuse' };
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value));

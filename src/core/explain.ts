/** Why a branch was made or refused, in words and numbers. Knows nothing of where it is shown. */
import type { Decision } from './types.ts';

/** A term and its value, as a card shows them. */
export interface Line {
  term: string;
  value: string;
  /** What the term means, for the tooltip. */
  meaning?: string;
}

/** A number without a leading zero, as the paper's figures have them: `.46`. */
export const plain = (value: number, digits = 3): string =>
  value
    .toFixed(digits)
    .replace('-', '\u2212')
    .replace(/^(\u2212?)0\./, '$1.');

/** One line: `P .46 < draw .71 → refused`. */
export function verdict(decision: Decision): string {
  const p = `P ${plain(decision.probability, 2)}`;
  switch (decision.outcome) {
    case 'budget':
      return `${p}, but all ${decision.total} trajectories were made → no branch`;
    case 'length':
      return `${p}, but no response tokens were left → no branch`;
    case 'branch':
    case 'refuse': {
      const word = decision.outcome === 'branch' ? 'branched' : 'refused';
      const made = decision.outcome === 'branch';
      if (decision.gate === 'threshold')
        return `${p} ${made ? '>' : '≤'} τ ${plain(decision.threshold ?? NaN, 2)} → ${word}`;
      if (isTurned(decision))
        return `1 − P ${plain(1 - decision.probability, 2)} ${made ? '≤' : '>'} draw ${plain(decision.draw ?? NaN, 2)} → ${word}`;
      return `${p} ${made ? '≥' : '<'} draw ${plain(decision.draw ?? NaN, 2)} → ${word}`;
    }
  }
}

/** Whether the draw had to be high: AEPO's released code turns the comparison around. */
const isTurned = ({ penalty }: Decision): boolean => penalty?.form === 'upstream';

/** The formula with its numbers filled in. */
export function formula(decision: Decision): string {
  const { branchProbability, entropyWeight, entropyDelta, penalty, probability } = decision;
  const [alpha, beta, delta] = [plain(branchProbability, 2), plain(entropyWeight, 2), plain(entropyDelta)];
  if (penalty?.form === 'upstream')
    return `P = clamp(1 − α/f + β·ΔH) = clamp(1 − ${alpha}/${plain(penalty.factor)} + ${beta} · ${delta}) = ${plain(probability)}`;
  if (penalty)
    return `P = clamp((α + β·ΔH)·f) = clamp((${alpha} + ${beta} · ${delta}) · ${plain(penalty.factor)}) = ${plain(probability)}`;
  return `P = clamp(α + β·ΔH) = clamp(${alpha} + ${beta} · ${delta}) = ${plain(probability)}`;
}

export function decisionLines(decision: Decision): Line[] {
  const source = decision.rule === 'paper' ? 'this trajectory’s first turn' : 'this slot’s first turn';
  const lines: Line[] = [
    {
      term: 'H₀',
      value: plain(decision.initialEntropy),
      meaning: `Entropy score of ${source}, in nats by rule ${decision.rule}.`,
    },
    {
      term: 'Hₜ',
      value: plain(decision.entropy),
      meaning: `Entropy score of ${decision.windowTokens} tokens ${decision.rule === 'paper' ? 'after the tool result' : 'of the turn before the tool result'}.`,
    },
    {
      term: 'ΔH',
      value: signedPlain(decision.entropyDelta),
      meaning: 'Hₜ − H₀: how much less certain the policy became.',
    },
    ...penaltyLines(decision),
    { term: 'P', value: plain(decision.probability), meaning: 'Probability of a branch, clamped to 0 … 1.' },
  ];
  if (decision.draw !== undefined)
    lines.push({
      term: 'draw',
      value: plain(decision.draw),
      meaning: `Uniform draw: a branch is made where it is ${isTurned(decision) ? 'at least 1 − P' : 'at most P'}.`,
    });
  if (decision.threshold !== undefined)
    lines.push({
      term: 'τ',
      value: plain(decision.threshold),
      meaning: 'Threshold: a branch is made where P is above it.',
    });
  lines.push(
    {
      term: 'budget',
      value: `${decision.made} of ${decision.total} made`,
      meaning: 'Trajectories of the group before this question, and allowed in all.',
    },
    { term: 'rule', value: `${decision.rule}, ${decision.gate}, round ${decision.round + 1}` },
  );
  return lines;
}

function penaltyLines({ penalty }: Decision): Line[] {
  if (!penalty) return [];
  const what =
    penalty.form === 'paper'
      ? 'branchings in a row on this trajectory'
      : 'rounds in a row in which this tree got a trajectory';
  return [
    { term: 'l', value: String(penalty.consecutive), meaning: `How many ${what}, before this question.` },
    { term: 'f', value: plain(penalty.factor), meaning: 'Penalty factor: it falls with every one of them.' },
  ];
}

const signedPlain = (value: number): string => (value > 0 ? '+' : '') + plain(value);

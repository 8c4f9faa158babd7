/** Why a branch was made or refused, in words and numbers. Knows nothing of where it is shown. */
import { TOP_LOG_PROBS } from './entropy.ts';
import { counted, plain } from './figures.ts';
import type { Decision, DecisionOutcome } from './types.ts';

/** A term and its value, as a card shows them. */
export interface Line {
  term: string;
  value: string;
  /** What the term means, for the tooltip. */
  meaning?: string;
}

/** How a question was answered, as a heading and as a word in passing. */
export const OUTCOMES: Record<DecisionOutcome, { heading: string; short: string }> = {
  branch: { heading: 'Branch made', short: 'Branch made' },
  refuse: { heading: 'Branch refused', short: 'Branch refused' },
  budget: { heading: 'No budget left', short: 'No budget for a branch' },
  length: { heading: 'No tokens left', short: 'No tokens for a branch' },
};

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

/** What a reader knows beside the decision. */
export interface Around {
  /** The run's seed; absent where no fact told it yet. */
  seed?: number;
}

/** Every number of a decision, in the order in which it was taken. */
export function decisionLines(decision: Decision, { seed }: Around = {}): Line[] {
  const { rule, windowTokens, made, total, outcome, path, child } = decision;
  const isPaper = rule === 'paper';
  return [
    {
      term: 'H₀',
      value: plain(decision.initialEntropy),
      meaning: `Entropy score of ${isPaper ? 'this trajectory’s first turn' : 'this slot’s first turn'}, in nats by rule ${rule}.`,
    },
    {
      term: 'Hₜ',
      value: plain(decision.entropy),
      meaning: `Entropy score of ${windowTokens} tokens ${isPaper ? 'after the tool result' : 'of the turn before the tool result'}.`,
    },
    {
      term: 'ΔH',
      value: signedPlain(decision.entropyDelta),
      meaning: 'Hₜ − H₀: how much less certain the policy became.',
    },
    {
      term: 'window',
      value: counted(windowTokens, 'token'),
      meaning: 'Tokens that Hₜ was computed from, at most the rule’s window.',
    },
    entropyOver(isPaper),
    {
      term: 'α',
      value: plain(decision.branchProbability),
      meaning: 'Probability of a branch where ΔH is 0.',
    },
    { term: 'β', value: plain(decision.entropyWeight), meaning: 'Weight of ΔH.' },
    ...penaltyLines(decision),
    { term: 'P', value: plain(decision.probability), meaning: 'Probability of a branch, clamped to 0 … 1.' },
    ...gateLines(decision),
    { term: 'Z', value: outcome === 'branch' ? '1' : '0', meaning: 'Branches that the question made.' },
    {
      term: 'budget',
      value: `${made} of ${total} made`,
      meaning: 'Trajectories of the group before this question, and allowed in all.',
    },
    { term: 'rule', value: `${rule}, ${decision.gate}, round ${decision.round + 1}` },
    {
      term: 'asked by',
      value: `trajectory ${path}${child === undefined ? '' : `, made ${child}`}`,
      meaning: 'The trajectory that the question was about, and the one that it made.',
    },
    ...(seed === undefined
      ? []
      : [
          {
            term: 'seed',
            value: String(seed),
            meaning: 'The run’s: with the step, the task and the trajectory it fixes the draw.',
          },
        ]),
  ];
}

/** Whether the entropy leaves out a tail: `upstream` looks at the largest log-probabilities only, and nobody logs the rest. */
const entropyOver = (isPaper: boolean): Line =>
  isPaper
    ? { term: 'over', value: 'whole vocabulary', meaning: 'No tail is left out: its mass is 0.' }
    : {
        term: 'over',
        value: `top ${TOP_LOG_PROBS}, tail not logged`,
        meaning:
          'The released code sums over the largest log-probabilities; the mass of the rest is not logged.',
      };

function gateLines(decision: Decision): Line[] {
  const { draw, threshold } = decision;
  return [
    ...(draw === undefined
      ? []
      : [
          {
            term: 'draw',
            value: plain(draw),
            meaning: `Uniform draw: a branch is made where it is ${isTurned(decision) ? 'at least 1 − P' : 'at most P'}.`,
          },
        ]),
    ...(threshold === undefined
      ? []
      : [
          {
            term: 'τ',
            value: plain(threshold),
            meaning: 'Threshold: a branch is made where P is above it.',
          },
        ]),
  ];
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

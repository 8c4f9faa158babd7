/** Why a branch was made or refused, and what a segment is, in words and numbers. Knows nothing of the page. */
import type { Decision, Segment, Tree } from '../../src/core/types.ts';
import { number, signed } from '../shared/format.ts';

/** A term and its value, as a card shows them. */
export interface Line {
  term: string;
  value: string;
  /** What the term means, for the tooltip. */
  meaning?: string;
}

const plain = (value: number, digits = 3): string =>
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

export const segmentName = (segment: Segment): string =>
  segment.kind === 'tool'
    ? `${segment.call?.tool ?? 'tool'} result`
    : segment.kind === 'model'
      ? `turn ${segment.turn + 1}`
      : segment.kind === 'forced'
        ? 'forced end'
        : 'prompt';

export function segmentLines(tree: Tree, index: number, paths: readonly number[]): Line[] {
  const segment = tree.segments[index]!;
  const lines: Line[] = [
    {
      term: 'tokens',
      value: segment.kind === 'model' ? `${segment.count}, trained` : `${segment.count}, not trained`,
    },
    {
      term: 'on',
      value: paths.length === 1 ? '1 trajectory' : `${paths.length} trajectories`,
      meaning: 'How many trajectories share it: it is stored and computed once.',
    },
  ];
  if (segment.entropy !== undefined)
    lines.push({
      term: 'entropy',
      value: plain(segment.entropy),
      meaning: 'Score of its first tokens, in nats.',
    });
  if (segment.stop) lines.push({ term: 'ended by', value: segment.stop });
  if (segment.call) {
    lines.push({
      term: 'call',
      value: `${segment.call.tool}: ${segment.call.outcome}${segment.call.shared ? ', shared' : ''}`,
    });
    lines.push({ term: 'latency', value: `${number(segment.call.latencyMs)} ms` });
  }
  const hard = tree.credit?.hard[index];
  if (hard !== undefined && hard !== null)
    lines.push({
      term: 'A hard',
      value: signed(hard),
      meaning: 'Mean advantage of the trajectories through this segment.',
    });
  const added = tree.credit?.steps?.[index] ?? [];
  if (added.length > 0)
    lines.push({
      term: 'A step',
      value: added.map(signed).join(', '),
      meaning: 'What the comparison with turns that began in the same state adds, for each trajectory.',
    });
  const soft = paths.flatMap(path => tree.credit?.soft[path] ?? []);
  if (soft.length > 0)
    lines.push({
      term: 'A soft',
      value: soft.map(signed).join(', '),
      meaning: 'Advantage of each trajectory through this segment.',
    });
  return lines;
}

/** What the badge of a segment says: the advantage that the chosen credit gives it; absent where it has none. */
export function advantageOf(
  tree: Tree,
  index: number,
  paths: readonly number[],
  credit: 'soft' | 'hard',
): string | undefined {
  if (tree.segments[index]!.kind !== 'model' || !tree.credit) return undefined;
  if (credit === 'hard') {
    const hard = tree.credit.hard[index];
    return hard === undefined || hard === null ? undefined : signed(hard);
  }
  const steps = tree.credit.steps?.[index];
  const values = paths.map((path, i) => tree.credit!.soft[path]! + (steps?.[i] ?? 0));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length === 0
    ? undefined
    : least === most
      ? signed(most)
      : `${signed(least)} … ${signed(most)}`;
}

/** Why a trajectory of an evaluation was wrong, in one word. Knows nothing of how the words are counted or shown. */
import type { TrajectoryOutcome } from './evaluation.ts';

export type FailureReason =
  'truncated' | 'call' | 'no-answer' | 'format' | 'not-judged' | 'tool-error' | 'partial' | 'wrong';

/** What each word says, in the order in which they are asked for: the first that fits counts. */
export const FAILURE_REASONS: Readonly<Record<FailureReason, { label: string; meaning: string }>> = {
  truncated: {
    label: 'Truncated',
    meaning: 'ran out of tokens, of the response or of a turn, before it had answered',
  },
  call: { label: 'Call not carried out', meaning: 'called a tool beyond the limit, or without an argument' },
  'no-answer': { label: 'No answer', meaning: 'ended without an <answer>' },
  format: { label: 'Bad format', meaning: 'was given the penalty of the format' },
  'not-judged': {
    label: 'Not judged',
    meaning: 'the reward of your own failed on it, so that it counts as wrong',
  },
  'tool-error': { label: 'After a tool error', meaning: 'answered wrongly after a call that failed' },
  partial: { label: 'Partly right', meaning: 'has part of the reward' },
  wrong: { label: 'Wrong answer', meaning: 'answered, and wrongly' },
};

const FITS: Readonly<Record<FailureReason, (outcome: TrajectoryOutcome) => boolean>> = {
  truncated: ({ stop }) => stop === 'length' || stop === 'turn-length',
  call: ({ stop, reason }) =>
    stop === 'call-limit' ||
    stop === 'empty-call' ||
    // Records of older versions have no stop.
    /^A tool was called (beyond the limit|without an argument)\.$/.test(reason),
  'no-answer': outcome => isBadFormat(outcome) && !outcome.text.includes('<answer>'),
  format: outcome => isBadFormat(outcome),
  'not-judged': ({ reason }) => reason.startsWith('reward.custom gave '),
  'tool-error': ({ pieces }) =>
    pieces?.some(({ call }) => call !== undefined && call.outcome !== 'ok') ?? false,
  partial: ({ reward }) => reward > 0,
  wrong: () => true,
};

const isBadFormat = ({ parts, reward, answer }: TrajectoryOutcome): boolean =>
  parts ? (parts['format'] ?? 0) < 0 : answer === undefined && reward < 0;

/** Undefined for a trajectory that was right. */
export function failureReason(outcome: TrajectoryOutcome): FailureReason | undefined {
  if (outcome.correct) return undefined;
  return (Object.keys(FITS) as FailureReason[]).find(reason => FITS[reason](outcome));
}

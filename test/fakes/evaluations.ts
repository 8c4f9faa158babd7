/** Evaluations with numbers that can be reckoned by hand. */
import type {
  EvaluationRecord,
  Provenance,
  SamplePiece,
  TrajectoryOutcome,
} from '../../src/core/evaluation.ts';

const call = (outcome: 'ok' | 'error', tool = 'python', shared = false): SamplePiece => ({
  kind: 'tool',
  length: 4,
  tokens: 10,
  call: { tool, outcome, latencyMs: 30, shared },
});
const said = (tokens: number): SamplePiece => ({ kind: 'model', length: 4, tokens });

/** A right answer of 20 tokens after a call. */
export const right = (change: Partial<TrajectoryOutcome> = {}): TrajectoryOutcome => ({
  greedy: false,
  correct: true,
  reward: 1,
  answer: '4',
  calls: 1,
  reason: 'Right.',
  text: 'call4444said',
  stop: 'answer',
  parts: { format: 0, accuracy: 1, tools: 0 },
  pieces: [said(5), call('ok'), said(5)],
  ...change,
});

/** A wrong answer of 10 tokens without a call. */
export const wrong = (change: Partial<TrajectoryOutcome> = {}): TrajectoryOutcome => ({
  greedy: false,
  correct: false,
  reward: 0,
  answer: '5',
  calls: 0,
  reason: 'Wrong.',
  text: 'said',
  stop: 'answer',
  parts: { format: 0, accuracy: 0, tools: 0 },
  pieces: [said(10)],
  ...change,
});

/** Without an answer, and with the penalty of the format. */
function unformatted(change: Partial<TrajectoryOutcome>): TrajectoryOutcome {
  const { answer: _, ...kept } = wrong({
    reward: -1,
    parts: { format: -1, accuracy: 0, tools: 0 },
    ...change,
  });
  return kept;
}

/** One wrong trajectory of each kind. */
export const FAILED: readonly TrajectoryOutcome[] = [
  unformatted({ stop: 'length', reason: 'There are 1 <think> but 0 </think>.' }),
  unformatted({ stop: 'call-limit', reason: 'A tool was called beyond the limit.' }),
  unformatted({ reason: 'There is no answer.' }),
  unformatted({ text: '<answer>5</answer>', reason: 'The answer has no \\boxed{…}.' }),
  wrong({ parts: {}, reason: 'reward.custom gave path 0 of tree t no reward: it ended.' }),
  wrong({ calls: 1, pieces: [said(5), call('error'), said(5)] }),
  wrong({ reward: 0.5, parts: { format: 0, accuracy: 0.5, tools: 0 } }),
  wrong(),
];

export const provenance = (change: Partial<Provenance> = {}): Provenance => ({
  at: '2026-01-02T03:04:05.000Z',
  command: 'branchpoint eval runs/r',
  weights: { folder: 'runs/r/checkpoints/step-000008', hash: 'aa' },
  dataset: { path: 'held-out.parquet', hash: 'bb' },
  templateHash: 'cc',
  seed: 7,
  temperature: 1,
  maxResponseTokens: 220,
  tools: ['python'],
  cache: 'off',
  cassette: 'off',
  reward: 'paper',
  versions: { branchpoint: '0.1.0' },
  ...change,
});

/** An evaluation of tasks named t0, t1 …, whose summary is not reckoned. */
export function evaluationOf(
  tasks: readonly TrajectoryOutcome[][],
  { id = 'step-8', made = provenance() } = {},
): EvaluationRecord {
  const measured = tasks.flat().filter(({ greedy }) => !greedy);
  return {
    summary: {
      id,
      dataset: 'held-out',
      tasks: tasks.length,
      samples: tasks[0]!.filter(({ greedy }) => !greedy).length,
      accuracy: measured.filter(({ correct }) => correct).length / measured.length,
      interval: [0.25, 0.75],
      reward: 0.5,
      toolCallsPerTrajectory: 1,
      byAbility: {},
      seconds: 3,
    },
    outcomes: tasks.map((trajectories, i) => ({
      task: `t${i}`,
      question: `What is ${i} + 4?`,
      references: [String(i + 4)],
      ability: i % 2 === 0 ? 'even' : 'odd',
      prompt: `user: What is ${i} + 4?`,
      trajectories,
    })),
    provenance: made,
  };
}

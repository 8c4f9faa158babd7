/** Measures a policy on tasks: sampled trajectories and a greedy one each. Knows nothing of training, journals or files. */
import { estimate, SHARE } from '../core/bootstrap.ts';
import type { Config } from '../core/config.ts';
import type { SamplePiece, TaskOutcome, TrajectoryOutcome } from '../core/evaluation.ts';
import { measuredOf } from '../core/evaluation.ts';
import type { EvaluationSummary } from '../core/events.ts';
import { counted } from '../core/figures.ts';
import { streamKey } from '../core/random.ts';
import { responseText, segmentsOf } from '../core/tree.ts';
import type { Failure, Task, Tree } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { elapsed } from '../run/clock.ts';
import { judgeAll } from './judges.ts';
import type { OwnReward } from './own/reward.ts';
import type { Policy } from './policy/policy.ts';
import { growSamples, type RolloutTokenizer } from './rollout.ts';
import type { ToolPool } from './tools/tool.ts';
import { meanOf } from '../core/mean.ts';

export interface Evaluation {
  /** Engines with the same weights that share the tasks between them. */
  policies: readonly Policy[];
  tokenizer: RolloutTokenizer;
  tools: ToolPool;
  tasks: readonly Task[];
  /** Sampled trajectories per task, at the rollout's temperature. */
  samples: number;
  greedy: boolean;
  /** Rollout, tools and reward as in training, but for groups and branching. */
  config: Config;
  /** Names the evaluation. */
  id: string;
  /** Step of the weights. */
  step: number;
  /** What the tasks are called in the summary. */
  dataset: string;
  /** Told after each task. */
  progress?(done: number, tasks: number): void;
  /** The user's own reward; absent for the paper's. */
  ownReward?: OwnReward;
  /** Told once where trajectories got no reward from it; they count as wrong. */
  warn?(failure: Failure): void;
  signal?: AbortSignal;
}

export interface Evaluated {
  summary: EvaluationSummary;
  /** In the order of the tasks. */
  outcomes: TaskOutcome[];
}

/** Tasks that one engine works on at a time, so that its batch stays full and its caches stay bounded. */
const TASKS_IN_FLIGHT = 64;

export async function evaluate(evaluation: Evaluation): Promise<Evaluated> {
  const started = elapsed();
  const { policies, tasks, progress } = evaluation;
  // Where one task fails nobody reads the others' outcomes.
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, ...(evaluation.signal ? [evaluation.signal] : [])]);
  const outcomes = new Array<TaskOutcome>(tasks.length);
  const unjudged: Failure[] = [];
  let next = 0;
  let done = 0;
  const work = async (policy: Policy): Promise<void> => {
    for (let index = next++; index < tasks.length; index = next++) {
      if (signal.aborted) throw calledOff();
      const { outcome, failures } = await attempt(evaluation, policy, index);
      outcomes[index] = outcome;
      unjudged.push(...failures);
      progress?.(++done, tasks.length);
    }
  };
  try {
    await Promise.all(
      policies.flatMap(policy => Array.from({ length: TASKS_IN_FLIGHT }, () => work(policy))),
    );
  } finally {
    failed.abort();
  }
  const seconds = (elapsed() - started) / 1000;
  if (unjudged[0]) evaluation.warn?.(inSum(unjudged[0], unjudged.length));
  return { summary: summarize(evaluation, outcomes, seconds), outcomes };
}

export const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'The evaluation was called off.' });

const inSum = (first: Failure, count: number): Failure => ({
  ...first,
  message: `${counted(count, 'trajectory', 'trajectories')} of the evaluation got no reward and ${count === 1 ? 'counts' : 'count'} as wrong; the first: ${first.message}`,
});

/** All trajectories of one task, at the same time. */
async function attempt(
  evaluation: Evaluation,
  policy: Policy,
  index: number,
): Promise<{ outcome: TaskOutcome; failures: Failure[] }> {
  const task = evaluation.tasks[index]!;
  const sampled = evaluation.samples > 0 ? [plain(evaluation, policy, index, false)] : [];
  const greedy = evaluation.greedy ? [plain(evaluation, policy, index, true)] : [];
  const judged = await Promise.all([...greedy, ...sampled]);
  const trajectories = judged.flatMap(({ tree }, i) =>
    tree.paths.map((_, path) => outcomeOf(tree, path, i < greedy.length)),
  );
  const { id, references, ability } = task;
  const grown = judged[0]?.tree;
  const prompt = grown?.segments.find(({ kind }) => kind === 'prompt')?.text ?? '';
  return {
    outcome: { task: id, question: grown?.task.question ?? '', references, ability, prompt, trajectories },
    failures: judged.flatMap(({ failures }) => failures),
  };
}

/** A tree without branching. Every evaluation of a run draws the same random numbers, so that weights are compared by pairs. */
async function plain(
  evaluation: Evaluation,
  policy: Policy,
  index: number,
  isGreedy: boolean,
): Promise<{ tree: Tree; failures: Failure[] }> {
  const { config, tokenizer, tools, step, samples } = evaluation;
  const id = `evaluation.${isGreedy ? 'greedy' : 'sampled'}.${index}`;
  const context = { policy, tokenizer, tools, config, step, index, id, tell: () => undefined };
  const size = isGreedy
    ? { samples: 1, temperature: 0 }
    : { samples, temperature: config.rollout.temperature };
  const { tree } = await growSamples(evaluation.tasks[index]!, context, size);
  const failures = await judgeAll(tree, { ...config.reward, tools: tools.tags }, evaluation.ownReward);
  return { tree, failures };
}

function outcomeOf(tree: Tree, path: number, greedy: boolean): TrajectoryOutcome {
  const { reward, calls, stop } = tree.paths[path]!;
  if (!reward || !stop) throw new Error(`Path ${path} of tree ${tree.id} has no reward.`);
  const { correct, total, answer, reason, parts } = reward;
  const text = responseText(tree, path);
  const found = answer === undefined ? {} : { answer };
  const pieces = piecesOf(tree, path);
  return { greedy, correct, reward: total, ...found, calls, reason, stop, parts, text, pieces };
}

/** The response's segments without their text, which stands once, in the trajectory's. */
const piecesOf = (tree: Tree, path: number): SamplePiece[] =>
  segmentsOf(tree, path).flatMap(index => {
    const { kind, text, count, call } = tree.segments[index]!;
    if (kind === 'prompt') return [];
    const piece: SamplePiece = { kind, length: text.length, tokens: count };
    if (!call) return [piece];
    const { tool, outcome, latencyMs, shared } = call;
    const took = Math.round(10 * latencyMs) / 10;
    return [{ ...piece, call: { tool, outcome, latencyMs: took, shared } }];
  });

function summarize(
  evaluation: Evaluation,
  outcomes: readonly TaskOutcome[],
  seconds: number,
): EvaluationSummary {
  const { id, dataset, samples, config } = evaluation;
  const greedy = outcomes.flatMap(({ trajectories }) => trajectories.filter(trajectory => trajectory.greedy));
  const measured = outcomes.flatMap(({ trajectories }) => measuredOf(trajectories));
  const perTask = outcomes.map(({ trajectories }) => accuracyOf(measuredOf(trajectories)));
  const abilities = new Set(outcomes.map(({ ability }) => ability));
  const byAbility = Array.from(abilities, ability => [
    ability,
    meanOf(perTask.filter((_, task) => outcomes[task]!.ability === ability)),
  ]);
  return {
    id,
    dataset,
    tasks: outcomes.length,
    samples,
    accuracy: meanOf(perTask),
    interval: estimate([perTask], streamKey(config.seed, 'bootstrap'), SHARE).interval,
    ...(greedy.length > 0 && { greedyAccuracy: accuracyOf(greedy) }),
    reward: meanOf(measured.map(({ reward }) => reward)),
    toolCallsPerTrajectory: meanOf(measured.map(({ calls }) => calls)),
    byAbility: Object.fromEntries(byAbility) as Record<string, number>,
    seconds,
  };
}

const accuracyOf = (trajectories: readonly TrajectoryOutcome[]): number =>
  meanOf(trajectories.map(({ correct }) => (correct ? 1 : 0)));

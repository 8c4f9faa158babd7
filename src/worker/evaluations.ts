/** Evaluations beside the training: in an engine of their own, one after the other, never waited for before the end. */
import type { Config } from '../core/config.ts';
import type { EvaluationRecord, Provenance } from '../core/evaluation.ts';
import type { Fact } from '../core/events.ts';
import { FailureError, type Task } from '../core/types.ts';
import { calledOff, evaluate } from './evaluate.ts';
import type { OwnReward } from './own/reward.ts';
import { canBeMended, failureOf } from './mending.ts';
import type { Policy } from './policy/policy.ts';
import type { RolloutTokenizer } from './rollout.ts';
import type { ToolPool } from './tools/tool.ts';
import { unlessAborted } from './unlessAborted.ts';

export interface Evaluations {
  /** Begins, or queues, the evaluation of the weights after a step; engines with the same weights that are idle join in. */
  start(step: number, idle?: readonly Policy[]): void;
  /** Resolves when none is left; rejects where a result could not be told. */
  settled(): Promise<void>;
}

export interface EvaluationSettings {
  config: Config;
  tokenizer: RolloutTokenizer;
  /** Held-out tasks to use, all of them. */
  tasks: readonly Task[];
  /** Name of the data in summaries. */
  dataset: string;
  /** An engine for sampling only, opened on the weights after a step. */
  openPolicy(step: number): Promise<Policy>;
  /** Tools of its own, so that training never queues behind an evaluation. */
  openTools(): Promise<ToolPool>;
  /** The user's own reward; absent for the paper's. */
  ownReward?: OwnReward;
  tell(fact: Fact, step: number): void;
  /** What the evaluation of the weights after a step is made with; asked while they are there. */
  provenance(step: number, tools: ToolPool): Promise<Provenance>;
  /** Keeps the outcomes of every task. */
  write(evaluated: EvaluationRecord): void;
  progress(step: number, done: number, tasks: number): void;
  /** Steps whose own evaluation was told before this worker began. */
  known: ReadonlySet<number>;
  /** Calls off what runs and what is queued; they can be done after a resume. */
  signal: AbortSignal;
}

/** Names a run's own evaluation of the weights after a step. */
export const evaluationId = (step: number): string => `step-${step}`;

export function makeEvaluations(settings: EvaluationSettings): Evaluations {
  let last: Promise<void> = Promise.resolve();
  return {
    start(step, idle = []) {
      if (settings.known.has(step)) return;
      last = last.then(() => attempt(settings, step, idle));
      // Who waits for `settled` hears of a failure; until then it must not count as unhandled.
      last.catch(() => undefined);
    },
    settled: () => last,
  };
}

/**
 * An evaluation that fails is told and costs the run nothing else; one that was called off says nothing; one that failed by what can
 * be mended fails whoever waits, so that it is done again afterwards.
 */
async function attempt(settings: EvaluationSettings, step: number, idle: readonly Policy[]): Promise<void> {
  const { signal, tell } = settings;
  if (signal.aborted) return;
  try {
    const evaluated = await run(settings, step, idle);
    settings.write(evaluated);
    tell({ type: 'evaluated', summary: evaluated.summary }, step);
  } catch (error) {
    if (signal.aborted) return;
    const failure = failureOf(error, 'policy');
    if (canBeMended(failure)) throw error;
    tell({ type: 'warned', failure }, step);
  }
}

async function run(
  settings: EvaluationSettings,
  step: number,
  idle: readonly Policy[],
): Promise<EvaluationRecord> {
  const { config, tokenizer, tasks, dataset, signal } = settings;
  const policy = await openedPolicy(settings, step);
  try {
    const tools = await settings.openTools();
    try {
      const provenance = await settings.provenance(step, tools);
      const evaluation = evaluate({
        policies: [policy, ...idle],
        tokenizer,
        tools,
        tasks,
        samples: config.evaluation.samples,
        greedy: config.evaluation.greedy,
        config,
        id: evaluationId(step),
        step,
        dataset,
        ...(settings.ownReward && { ownReward: settings.ownReward }),
        warn: failure => settings.tell({ type: 'warned', failure }, step),
        progress: (done, all) => settings.progress(step, done, all),
        signal,
      });
      return { ...(await unlessAborted(evaluation, signal, calledOff())), provenance };
    } finally {
      await tools.close();
    }
  } finally {
    await policy.close();
  }
}

/** Weights that cannot be opened are a checkpoint that is broken: no waiting mends it, and only this evaluation needs it. */
async function openedPolicy({ openPolicy }: EvaluationSettings, step: number): Promise<Policy> {
  try {
    return await openPolicy(step);
  } catch (error) {
    const { message, ...failure } = failureOf(error, 'policy');
    throw new FailureError({
      ...failure,
      where: 'policy',
      message: `The weights after step ${step} are not evaluated: ${message}`,
    });
  }
}

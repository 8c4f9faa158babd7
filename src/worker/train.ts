/**
 * The training loop, to be read first: gather (take → grow → judge) → credit → learn (collate → update) → tell, once per step.
 * Knows nothing of how a policy computes, where files lie, who watches, or how a run begins and ends.
 */
import { creditAll } from '../core/advantage.ts';
import type { Config } from '../core/config.ts';
import type { EventOf, Fact } from '../core/events.ts';
import { summarize } from '../core/summary.ts';
import type { Grown } from '../core/tree.ts';
import type { Failure } from '../core/types.ts';
import { elapsed } from '../run/clock.ts';
import { brokenClaims } from './checking.ts';
import type { Dataset } from './dataset.ts';
import { refuseDeadTools } from './deadTools.ts';
import type { Evaluations } from './evaluations.ts';
import { gather } from './gather.ts';
import type { RolloutTokenizer } from './growing.ts';
import { creditSettings, learn, type Learners } from './learn.ts';
import type { OwnReward } from './own/reward.ts';
import type { Control } from './status.ts';
import type { ToolPool } from './tools/tool.ts';

/** What the loop works with; all of it is opened before and closed after. */
export interface Training extends Learners {
  config: Config;
  dataset: Dataset;
  tokenizer: RolloutTokenizer;
  tools: ToolPool;
  /** The user's own reward; absent for the paper's. */
  ownReward?: OwnReward;
  evaluations: Evaluations;
  control: Control;
  /** Appends a fact to the journal. */
  tell(fact: Fact, step: number): void;
  /** Keeps a step's trees with their columns and says where; nothing where they are not kept. */
  write(step: number, grown: readonly Grown[]): Pick<EventOf<'tree-finished'>, 'span' | 'tokens'>[];
  /** Exports a step's trees for other programs, where the config asks for it. */
  export(step: number, grown: readonly Grown[]): Promise<void>;
  /** Saves weights and optimiser after a step, once; returns the checkpoint's name. */
  save(step: number): Promise<string>;
}

/** Does the steps after `done`. Requests to pause or stop take effect between steps, with a checkpoint saved. */
export async function train(run: Training, done: number): Promise<'finished' | 'stopped'> {
  const { config, control, evaluations } = run;
  const { checkpoint, evaluation, steps } = config;
  for (let step = done + 1; step <= steps && (await mayGoOn(run, step - 1)); step++) {
    await takeStep(run, step);
    const isMeasured = isDue(evaluation.every, step) && step < steps;
    if (isDue(checkpoint.every, step) || isMeasured || step === steps) await run.save(step);
    if (isMeasured) evaluations.start(step);
  }
  if (control.asked !== 'stop' && evaluation.after) evaluations.start(steps, [run.policy]);
  control.phase('evaluating');
  await evaluations.settled();
  return control.asked === 'stop' ? 'stopped' : 'finished';
}

/** One step of the algorithm. */
async function takeStep(run: Training, step: number): Promise<void> {
  const { config, control, tell } = run;
  const started = elapsed();

  const { grown, kept, filter } = await gather(run, step);
  refuseDeadTools(
    grown.map(({ tree }) => tree),
    step,
  );
  const rolledOut = elapsed();

  const credits = creditAll(
    kept.map(({ tree }) => tree),
    creditSettings(config),
  );
  kept.forEach(({ tree }, index) => (tree.credit = credits[index]!));

  control.phase('training');
  const { updates, engineMemory, ...learned } = await learn(run, kept, config, step);
  if (learned.skippedUpdates > 0) tell({ type: 'warned', failure: notFinite(learned.skippedUpdates) }, step);
  if (filter && kept.length === 0) tell({ type: 'warned', failure: allDropped(step, filter.rounds) }, step);
  if (updates === 0) await run.policy.forget(`${step}.`);

  for (const failure of brokenClaims(grown, config)) tell({ type: 'warned', failure }, step);
  run.write(step, grown).forEach((places, index) => tell(treeFinished(grown[index]!, places), step));
  await run.export(step, grown);
  const seconds = {
    total: (elapsed() - started) / 1000,
    rollout: (rolledOut - started) / 1000,
    learn: (elapsed() - rolledOut) / 1000,
  };
  const memory = {
    worker: process.memoryUsage.rss(),
    ...(engineMemory !== undefined && { engine: engineMemory }),
  };
  const numbers = { ...learned, memory, ...(filter && { filter }) };
  tell({ type: 'step-finished', summary: summarize(grown, numbers, seconds) }, step);
}

/** Pauses where that was asked for. False where the run shall end after `step`. */
async function mayGoOn(run: Training, step: number): Promise<boolean> {
  const { control, tell } = run;
  if (control.asked === 'go') return true;
  const from = step > 0 ? await run.save(step) : 'the start';
  if (control.asked === 'stop') return false;
  control.settle('paused');
  tell({ type: 'paused', reason: control.reason }, step);
  const goesOn = (await control.released()) === 'go';
  if (goesOn) tell({ type: 'resumed', from }, step);
  return goesOn;
}

const treeFinished = ({ tree }: Grown, places: Pick<EventOf<'tree-finished'>, 'span' | 'tokens'>): Fact => ({
  type: 'tree-finished',
  tree: tree.id,
  task: tree.task.id,
  paths: tree.paths.length,
  rewards: tree.paths.map(({ reward }) => reward?.total ?? NaN),
  ...places,
});

const notFinite = (updates: number): Failure => ({
  where: 'policy',
  message: `The gradient was not finite, so ${updates === 1 ? 'an update was' : `${updates} updates were`} skipped.`,
  fix: 'If it happens again, lower optimizer.learningRate.',
});

const allDropped = (step: number, rounds: number): Failure => ({
  where: 'policy',
  message: `In every group of step ${step} all trajectories earned the same, also after ${rounds} rounds of further tasks, so that nothing was learned.`,
  fix: 'Use tasks that the policy sometimes gets right, or raise algorithm.resampleRounds.',
});

const isDue = (every: number, step: number): boolean => every > 0 && step % every === 0;

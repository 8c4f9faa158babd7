/**
 * What a run keeps of its steps beside the journal: trees with their tokens, and exports where the config asks for them. Whether a step
 * is kept is decided before it is written; nothing is rewritten. Knows nothing of the algorithm.
 */
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { EventOf, EvaluationSummary, Fact, StepSummary } from '../core/events.ts';
import type { Grown } from '../core/tree.ts';
import { makeFolder } from '../run/disk.ts';
import { openEventFile } from '../run/eventFile.ts';
import { FILES } from '../run/layout.ts';
import { writeTrajectories } from '../run/trajectories.ts';
import { closeTrees, openTrees, syncTrees, writeTrees } from '../run/trees.ts';

export interface Keeper {
  /** Writes a step's trees with their columns and says where each lies; nothing where the step is not kept. */
  write(step: number, grown: readonly Grown[]): Pick<EventOf<'tree-finished'>, 'span' | 'tokens'>[];
  /** Exports a step's trajectories; asked before the step counts as finished, so that a step that is done again replaces them. */
  export(step: number, grown: readonly Grown[]): Promise<void>;
  /** Hears every fact after it was told. */
  observe(fact: Fact, step: number): void;
  /** Waits until the trees are on the medium. */
  sync(): void;
  close(): void;
}

/** Whether a step's trees are kept: every n-th step's, and those of the first and the last. */
export const isKept = ({ steps, record }: Pick<Config, 'steps' | 'record'>, step: number): boolean =>
  step === 1 || step === steps || step % record.keepTrees === 0;

/** Whether an older checkpoint keeps its weights: every so-manieth does, and those that an evaluation is due for. */
export const keepsWeights = (
  { checkpoint, evaluation }: Pick<Config, 'checkpoint' | 'evaluation'>,
  step: number,
): boolean =>
  (checkpoint.keepEvery > 0 && step % (checkpoint.every * checkpoint.keepEvery) === 0) ||
  (evaluation.every > 0 && step % evaluation.every === 0);

/** `done`: last step that counts; what exports say of later ones is void. */
export function openKeeper(runFolder: string, config: Config, done: number): Keeper {
  const trees = openTrees(runFolder);
  const trainForced = config.rollout.limitAction === 'append-end-trained';
  const scalars = config.record.tensorboard ? openScalars(runFolder, done) : undefined;
  return {
    write: (step, grown) => (isKept(config, step) ? writeTrees(trees, grown) : grown.map(() => ({}))),
    export: async (step, grown) => {
      if (config.record.parquet) await writeTrajectories(runFolder, step, grown, trainForced);
    },
    observe(fact, step) {
      if (fact.type === 'step-finished') scalars?.write(step, scalarsOf(fact.summary));
      if (fact.type === 'evaluated') scalars?.write(step, scalarsOf(measured(fact.summary), 'evaluation/'));
    },
    sync: () => syncTrees(trees),
    close() {
      try {
        scalars?.close();
      } finally {
        closeTrees(trees);
      }
    },
  };
}

function openScalars(runFolder: string, done: number): ReturnType<typeof openEventFile> {
  const folder = join(runFolder, FILES.tensorboard);
  makeFolder(folder);
  return openEventFile(folder, done + 1);
}

/** What an evaluation measured, without what it was asked. */
function measured({
  accuracy,
  greedyAccuracy,
  reward,
  toolCallsPerTrajectory,
  byAbility,
}: EvaluationSummary): object {
  return { accuracy, greedyAccuracy, reward, toolCallsPerTrajectory, byAbility };
}

/** Every number of a summary by its place in it: `reward/mean`. */
export function scalarsOf(summary: StepSummary | object, prefix = ''): Record<string, number> {
  const scalars: Record<string, number> = {};
  for (const [name, value] of Object.entries(summary) as [string, unknown][]) {
    if (typeof value === 'number') scalars[prefix + name] = value;
    else if (typeof value === 'object' && value !== null)
      Object.assign(scalars, scalarsOf(value, `${prefix}${name}/`));
  }
  return scalars;
}

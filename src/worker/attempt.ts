/**
 * One attempt to take a run to its end: opens all that the loop works with, as its last checkpoint left it, and trains. Knows nothing of
 * locks and sockets, of what becomes of a failure, or of the algorithm.
 */
import { basename, join } from 'node:path';
import type { Config } from '../core/config.ts';
import { FORMAT, type Event, type Fact } from '../core/events.ts';
import { fold, type RunState } from '../core/fold.ts';
import type { Failure } from '../core/types.ts';
import { lastCheckpoint, pruneCheckpoints, type Checkpoint } from '../run/checkpoint.ts';
import { refuseChanged, writePieces } from '../run/create.ts';
import { removeInterrupted } from '../run/disk.ts';
import { writeEvaluation } from '../run/evaluations.ts';
import type { Journal } from '../run/journal.ts';
import { FILES, WRITTEN_WHOLE, checkpointName } from '../run/layout.ts';
import type { Manifest } from '../run/manifest.ts';
import { openRun } from '../run/reader.ts';
import type { Dataset } from './dataset.ts';
import {
  engineSettings,
  type Equipment,
  type OpenedPolicy,
  type Purpose,
  type RunTokenizer,
} from './equipment.ts';
import { evaluationId, makeEvaluations, type Evaluations, type EvaluationSettings } from './evaluations.ts';
import { openReward } from './judges.ts';
import { keepsWeights, openKeeper } from './keeper.ts';
import { openTasks } from './promptLengths.ts';
import { provenanceOf } from './provenance.ts';
import { saver } from './saving.ts';
import type { Control } from './status.ts';
import type { ToolPool } from './tools/tool.ts';
import { train } from './train.ts';

/** What every part of a worker's life has at hand. */
export interface Life {
  runFolder: string;
  manifest: Manifest;
  config: Config;
  equipment: Equipment;
  control: Control;
  journal: Journal;
  /** Lets control and watcher know of a fact. */
  announce(event: Event): void;
  /** Appends a fact to the journal and announces it. */
  tell(fact: Fact, step: number): void;
  /** Whether somebody may mend what stands in the way. */
  canWait: boolean;
  savesNothing: boolean;
  /** Called in reverse order at the end, whatever happened. */
  closers: (() => unknown)[];
}

/** Resolves when the last step was done or a stop was asked for; what it opened is in `closers`, whatever happened. */
export async function openAndTrain(life: Life): Promise<'finished' | 'stopped'> {
  const { runFolder, config, equipment, control, tell, closers } = life;
  const { checkpoint, before, done } = await lookBack(life);
  const warn = (failure: Failure): void => {
    const isKnown = before.warnings.some(warning => warning.failure.message === failure.message);
    if (!isKnown) tell({ type: 'warned', failure }, done);
  };

  const tokenizer = await equipment.openTokenizer(config.policy.path);
  if (!before.run) writePieces(runFolder, tokenizer.pieces);
  const dataset = await openTasks(config.data.train, config, { equipment, tokenizer });
  const tools = await equipment.openTools(config, failure =>
    tell({ type: 'warned', failure }, control.status.step),
  );
  closers.push(() => tools.close());
  const ownReward = await openReward(config.reward);
  if (ownReward) closers.push(() => ownReward.close());
  const open = opener(life, tokenizer, tools.tags);
  const { policy, info } = await open(config.policy.path, 'training');
  if (checkpoint) await policy.load(checkpoint.folder);
  const isAnchored = config.algorithm.klWeight !== 0;
  const reference = isAnchored ? (await open(config.policy.path, 'reference')).policy : undefined;
  const keeper = openKeeper(runFolder, config, done);
  closers.push(() => keeper.close());
  const telling: Life['tell'] = (fact, step) => {
    tell(fact, step);
    keeper.observe(fact, step);
  };
  const heard = { ...life, tell: telling };

  if (!before.run) tell(runStarted(life, dataset, { tools, info }), 0);
  dataset.warnings.forEach(warn);
  const ending = new AbortController();
  const signal = AbortSignal.any([control.stopping, ending.signal]);
  const judging = ownReward ? { ownReward } : {};
  const evaluations = await openEvaluations(heard, tokenizer, {
    open,
    signal,
    known: ownEvaluations(before, done),
    warn,
    ...judging,
  });
  for (const step of dueEvaluations(config, done)) evaluations.start(step);
  control.settle('running');
  const parts = { config, dataset, tokenizer, tools, evaluations, control, tell: telling, policy };
  const save = life.savesNothing
    ? () => Promise.resolve('nothing')
    : saver({ ...heard, policy, tokenizer, keeper, checkpoint });
  try {
    return await train({ ...parts, ...(reference && { reference }), ...judging, ...keeper, save }, done);
  } catch (error) {
    // After a failure nobody waits for evaluations any more, and none may be told after the end; theirs is not what ended the run.
    ending.abort();
    await Promise.allSettled([evaluations.settled()]);
    throw error;
  }
}

/** What an earlier worker left: the last usable checkpoint and the state that its facts tell; what it did not finish is removed. */
async function lookBack(
  life: Life,
): Promise<{ checkpoint: Checkpoint | undefined; before: RunState; done: number }> {
  const { runFolder, journal } = life;
  const checkpoint = await lastCheckpoint(runFolder);
  for (const name of WRITTEN_WHOLE) removeInterrupted(join(runFolder, name));
  // What waits from before a pause must be on the disk before it is read, and before later facts are.
  journal.flush();
  const before = fold(await openRun(runFolder).events());
  if (before.last) await takeUp(life, before, checkpoint);
  return { checkpoint, before, done: checkpoint?.state.step ?? 0 };
}

/** Steps up to `done` that the run itself has evaluated; others were asked for by hand, perhaps with other tasks or samples. */
const ownEvaluations = ({ evaluations }: RunState, done: number): Set<number> =>
  new Set(
    evaluations.flatMap(({ step, summary }) =>
      step <= done && summary.id === evaluationId(step) ? [step] : [],
    ),
  );

/** Goes on with a run that was begun before: its files must be what they were, and what its last worker could not tell is told. */
async function takeUp(
  { runFolder, manifest, config, tell }: Life,
  before: RunState,
  checkpoint: Checkpoint | undefined,
): Promise<void> {
  const done = checkpoint?.state.step ?? 0;
  // A worker may have died between a checkpoint and the removal of what it replaced; beside a broken one nothing is removed.
  if (checkpoint?.skipped.length === 0)
    pruneCheckpoints(runFolder, config.checkpoint.keep, step => keepsWeights(config, step));
  await refuseChanged(manifest);
  tell({ type: 'resumed', from: checkpoint?.name ?? 'the start' }, done);
  for (const message of checkpoint?.skipped ?? [])
    tell({ type: 'warned', failure: { where: 'store', message } }, done);
  // A worker may have died between the checkpoint and its fact.
  const isTold = !checkpoint || before.checkpoints.some(({ folder }) => folder === checkpoint.name);
  if (!isTold) tell({ type: 'checkpoint-saved', folder: checkpoint.name, hash: checkpoint.hash }, done);
}

type Opener = (folder: string, purpose: Purpose) => Promise<OpenedPolicy>;

/** Opens engines of this run; whatever is left open is closed at the end. */
const opener =
  ({ config, equipment, closers }: Life, tokenizer: RunTokenizer, tags: readonly string[]): Opener =>
  async (folder, purpose) => {
    const opened = await equipment.openPolicy(engineSettings(config, purpose, { folder, tokenizer, tags }));
    closers.push(() => opened.policy.close());
    return opened;
  };

function runStarted(
  { runFolder, config }: Life,
  dataset: Dataset,
  { tools, info }: { tools: ToolPool; info: OpenedPolicy['info'] },
): Fact {
  return {
    type: 'run-started',
    format: { ...FORMAT },
    run: basename(runFolder),
    steps: config.steps,
    tasks: dataset.tasks.length,
    tools: { ...tools.describe() },
    device: info.device,
    parameters: info.parameters,
    seed: config.seed,
  };
}

async function openEvaluations(
  life: Life,
  tokenizer: RunTokenizer,
  {
    open,
    warn,
    ...settings
  }: { open: Opener; warn(failure: Failure): void } & Pick<
    EvaluationSettings,
    'signal' | 'known' | 'ownReward'
  >,
): Promise<Evaluations> {
  const { runFolder, config, equipment, control, tell } = life;
  const isWanted = config.data.heldOut !== '' && config.evaluation.tasks > 0;
  if (!isWanted) return { start: () => undefined, settled: () => Promise.resolve() };
  const dataset = await openTasks(config.data.heldOut, config, { equipment, tokenizer });
  dataset.warnings.forEach(warn);
  const folderOf = (step: number): string =>
    step === 0 ? config.policy.path : join(runFolder, FILES.checkpoints, checkpointName(step));
  return makeEvaluations({
    config,
    tokenizer,
    tasks: dataset.tasks.slice(0, config.evaluation.tasks),
    dataset: dataset.name,
    openPolicy: async step => (await open(folderOf(step), 'evaluation')).policy,
    openTools: () =>
      equipment.openTools(config, failure => tell({ type: 'warned', failure }, control.status.step)),
    tell,
    provenance: (step, { tags }) =>
      provenanceOf({
        config,
        weights: folderOf(step),
        // The run refused to start with other tasks than these, and their file may have gone since.
        tasksHash: life.manifest.hashes['heldOut'],
        template: tokenizer.template,
        tools: tags,
        versions: life.manifest.versions,
      }),
    write: evaluated => writeEvaluation(runFolder, evaluated),
    progress: (step, finished, tasks) => {
      if (step === config.steps) control.phase(`evaluating ${finished}/${tasks}`);
    },
    ...settings,
  });
}

/** Steps up to `done` whose evaluation was due before the end. */
function dueEvaluations({ evaluation: { before, every }, steps }: Config, done: number): number[] {
  const due = before ? [0] : [];
  for (let step = every; every > 0 && step <= done && step < steps; step += every) due.push(step);
  return due;
}

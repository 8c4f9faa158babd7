/**
 * One worker's life with one run folder: it owns lock, socket and journal, opens what the loop works with, and tells how the
 * run ended. Knows nothing of the algorithm, of terminals, or of which engine and tools it is given.
 */
import { createServer, type Socket } from 'node:net';
import { basename, join } from 'node:path';
import type { Config } from '../core/config.ts';
import { FORMAT, type Event, type Fact } from '../core/events.ts';
import { fold, type RunState } from '../core/fold.ts';
import type { Failure } from '../core/types.ts';
import { serve } from '../protocol/channel.ts';
import type { WorkerVerbs } from '../protocol/verbs.ts';
import { lastCheckpoint, pruneCheckpoints, type Checkpoint } from '../run/checkpoint.ts';
import { watchJumps } from '../run/clock.ts';
import { refuseChanged, writePieces } from '../run/create.ts';
import { removeInterrupted } from '../run/disk.ts';
import { writeEvaluation } from '../run/evaluations.ts';
import { Journal } from '../run/journal.ts';
import { FILES, WRITTEN_WHOLE, checkpointName } from '../run/layout.ts';
import { acquireLock } from '../run/lock.ts';
import { socketPort } from '../run/ports.ts';
import type { Manifest } from '../run/manifest.ts';
import { openRun } from '../run/reader.ts';
import { closeAll } from './closing.ts';
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
import { canBeMended, failureOf, waitForMending } from './mending.ts';
import { openTasks } from './promptLengths.ts';
import { provenanceOf } from './provenance.ts';
import { saver } from './saving.ts';
import { makeControl, type Control } from './status.ts';
import type { ToolPool } from './tools/tool.ts';
import { train } from './train.ts';

/** Who looks on. */
export interface Watcher {
  tell(event: Event): void;
  /** True where nobody would see a pause: a run that meets what can be mended then ends as failed, to be resumed, and does not wait. */
  isAlone?: boolean;
  /** True where the run is only measured: no checkpoint is saved. */
  isTrial?: boolean;
}
export type Outcome = 'finished' | 'stopped' | 'failed';

/** What every part of a worker's life has at hand. */
interface Life {
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

/**
 * Takes the run from where it is to its end. Throws where the folder is no run or another worker owns it; every later failure
 * is told as the run's end.
 */
export async function work(
  runFolder: string,
  equipment: Equipment,
  watch: (control: Control) => Watcher,
): Promise<Outcome> {
  const { manifest } = openRun(runFolder);
  const { config } = manifest;
  const lock = acquireLock(runFolder);
  const control = makeControl(basename(runFolder), {
    steps: config.steps,
    groupSize: config.rollout.groupSize,
  });
  const closers: Life['closers'] = [() => lock.release()];
  try {
    closers.push(await listen(lock.content.socket, control.verbs));
    const journal = Journal.open(runFolder);
    closers.push(() => journal.close());
    const watcher = watch(control);
    const announce = (event: Event): void => {
      control.observe(event);
      watcher.tell(event);
    };
    const jumps = watchJumps();
    const canWait = watcher.isAlone !== true;
    const tell = (fact: Fact, step: number): void => {
      const jump = jumps();
      if (Math.abs(jump) > NOTED_JUMP_MS) {
        announce(journal.tell(clockJumped(jump), step));
        // A machine that slept while the run waited was woken by who lets it go on.
        if (canWait && fact.type !== 'resumed')
          control.holdUp(`${jumpText(jump)} Nothing is lost: resume the run to go on.`);
      }
      announce(journal.tell(fact, step));
    };
    const given = { runFolder, manifest, config, equipment, control, journal };
    const savesNothing = watcher.isTrial === true;
    return await live({ ...given, announce, tell, canWait, savesNothing, closers: [] });
  } finally {
    control.settle('ended');
    await closeAll(closers);
  }
}

/** Answers verbs on the socket; they are answered at once, because engines compute in processes of their own. */
async function listen(path: string, verbs: WorkerVerbs): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve<WorkerVerbs>(socketPort(socket), {
      status: () => verbs.status(),
      pause: () => verbs.pause(),
      resume: () => verbs.resume(),
      stop: () => verbs.stop(),
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return () =>
    new Promise(resolve => {
      server.close(() => resolve());
      // Whoever does not hang up, because it was suspended say, must not keep the folder owned.
      for (const socket of sockets) socket.destroySoon();
    });
}

/** Clocks are corrected by less all the time. */
const NOTED_JUMP_MS = 60_000;

const jumpText = (ms: number): string =>
  `The clock jumped by ${Math.round(ms / 1000)} seconds, or the machine slept: times told before and after do not compare. Durations are not affected.`;

const clockJumped = (ms: number): Fact => ({
  type: 'warned',
  failure: { where: 'store', message: jumpText(ms) },
});

/**
 * Opens everything, trains, tells the end, closes everything. Where a run that was under way meets what a person can mend, it closes
 * everything, waits paused, and goes on from its last checkpoint as after any other interruption.
 */
async function live(life: Life): Promise<Outcome> {
  const { control, tell } = life;
  for (;;) {
    let failure: Failure;
    try {
      const outcome = await openAndTrain(life);
      await closeAll(life.closers.splice(0));
      tell({ type: 'run-ended', outcome }, control.status.step);
      return outcome;
    } catch (error) {
      failure = failureOf(error);
    }
    await closeAll(life.closers.splice(0)).catch((error: unknown) => {
      // The files of a full disk cannot be closed in order either. Else the run's end is still the first failure's to tell.
      const unclosed: Fact = { type: 'warned', failure: failureOf(error) };
      if (!canBeMended(failure)) life.announce(life.journal.note(unclosed, control.status.step));
    });
    const waits = life.canWait && canBeMended(failure) && control.wasRunning && control.asked !== 'stop';
    if (waits && (await waitForMending(failure, life)) === 'go') continue;
    const outcome = waits ? 'stopped' : 'failed';
    const end: Fact = { type: 'run-ended', outcome, ...(!waits && { failure }) };
    life.announce(life.journal.note(end, control.status.step));
    return outcome;
  }
}

async function openAndTrain(life: Life): Promise<'finished' | 'stopped'> {
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

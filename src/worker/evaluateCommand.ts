/** `eval RUN|CHECKPOINT`: measures weights on the held-out tasks. Knows nothing of how a trajectory is grown or judged. */
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { availableParallelism } from 'node:os';
import type { Config } from '../core/config.ts';
import type { EvaluationRecord } from '../core/evaluation.ts';
import { evaluationReport } from '../core/evaluationReport.ts';
import { reportPage } from '../core/reportPage.ts';
import { FailureError } from '../core/types.ts';
import { listCheckpoints } from '../run/checkpoint.ts';
import { loadConfig } from '../run/configFile.ts';
import { makeFolder, mustBeWritable, writeAtomically } from '../run/disk.ts';
import { addEvaluation } from '../run/evaluations.ts';
import { Journal } from '../run/journal.ts';
import { FILES } from '../run/layout.ts';
import { acquireLock, liveLock } from '../run/lock.ts';
import { openRun } from '../run/reader.ts';
import { closingAfter } from './closing.ts';
import { hasSwitch, numberOption, textOption, type Call, type ExitCode, type Io } from './commandLine.ts';
import { engineSettings, realEquipment, type Equipment, type RunTokenizer } from './equipment.ts';
import { evaluate, type Evaluation } from './evaluate.ts';
import { openReward } from './judges.ts';
import { versions } from './launch.ts';
import { evaluationLine } from './progress.ts';
import { openTasks } from './promptLengths.ts';
import { provenanceOf } from './provenance.ts';
import type { OpenSettings } from './policy/policy.ts';

/** The weights to measure and where they come from. */
interface Target {
  /** In Hugging Face layout. */
  folder: string;
  step: number;
  config: Config;
  /** Absent for weights that belong to no run. */
  run?: string;
}

export async function evaluateCommand(call: Call, io: Io): Promise<ExitCode> {
  const target = withOptions(targetOf(call), call);
  const { config, run } = target;
  const html = textOption(call, 'html');
  const page = html === undefined ? undefined : resolve(html);
  if (config.data.heldOut === '')
    throw new FailureError({
      where: 'config',
      message: 'The config names no held-out data.',
      fix: 'Set data.heldOut.',
    });
  // Nobody shall wait for numbers that then cannot be written.
  if (page !== undefined) makeFolder(dirname(page));
  if (run !== undefined) mustBeWritable(run);
  io.out.write(`evaluating ${target.folder}\n`);
  // The run's log is its worker's, who may be alive and writes it alone.
  const equipment = realEquipment(text => io.err.write(text));
  const progress = teller(io);
  const measured = await measure(target, equipment, { command: commandOf(call), progress });
  io.out.write(`${evaluationLine(target.step, measured.summary)}\n`);
  const evaluated = run === undefined ? measured : record(run, target, measured);
  if (page !== undefined) {
    const of = { run: basename(run ?? target.folder), record: evaluated };
    writeAtomically(page, reportPage(evaluationReport(of), of.record));
    io.out.write(`report: ${page}\n`);
  }
  if (hasSwitch(call, 'json')) io.out.write(`${JSON.stringify(evaluated.summary)}\n`);
  return 0;
}

/** Lines that say how many tasks are done: those that look on read them. */
const LINES = 50;

const teller =
  ({ err }: Io): NonNullable<Evaluation['progress']> =>
  (done, tasks) => {
    if (done === tasks || done % Math.ceil(tasks / LINES) === 0) err.write(`${done}/${tasks} tasks\n`);
  };

/** The command line as it would be typed again. */
const commandOf = ({ command, args, options }: Call): string =>
  [
    'branchpoint',
    command,
    ...args,
    ...Object.entries(options).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : typeof value === 'string' ? [`--${name}`, value] : [],
    ),
  ]
    .map(word => (/^[\w./\\:=@+,-]+$/.test(word) ? word : `"${word.replaceAll('"', '\\"')}"`))
    .join(' ');

const measure = (
  target: Target,
  equipment: Equipment,
  { command, progress }: { command: string; progress: NonNullable<Evaluation['progress']> },
): Promise<EvaluationRecord> =>
  closingAfter(async closers => {
    const { config, folder, step } = target;
    const tokenizer = await equipment.openTokenizer(folder);
    const { tasks, name } = await openTasks(config.data.heldOut, config, { equipment, tokenizer });
    const tools = await equipment.openTools(config);
    closers.push(() => tools.close());
    const ownReward = await openReward(config.reward);
    if (ownReward) closers.push(() => ownReward.close());
    const policies = [];
    for (const settings of enginesFor(target, tokenizer, tools.tags)) {
      const { policy } = await equipment.openPolicy(settings);
      closers.push(() => policy.close());
      policies.push(policy);
    }
    const { samples, greedy } = config.evaluation;
    const chosen = tasks.slice(0, config.evaluation.tasks === 0 ? tasks.length : config.evaluation.tasks);
    const provenance = await provenanceOf({
      config,
      weights: folder,
      template: tokenizer.template,
      tools: tools.tags,
      versions: versions(),
      command,
    });
    const evaluated = await evaluate({
      policies,
      tokenizer,
      tools,
      tasks: chosen,
      samples,
      greedy,
      config,
      id: `step-${step}-again-1`,
      step,
      dataset: name,
      ...(ownReward && { ownReward }),
      warn: ({ message }) => process.emitWarning(message),
      progress,
    });
    return { ...evaluated, provenance };
  });

/** Weights below this are cheap to hold twice, and several engines of one thread each do more than one with several. */
const SMALL_BYTES = 64 * 1024 * 1024;

function enginesFor(
  { config, folder }: Target,
  tokenizer: RunTokenizer,
  tags: readonly string[],
): OpenSettings[] {
  const settings = { ...engineSettings(config, 'evaluation', { folder, tokenizer, tags }) };
  const threads = config.threads === 0 ? availableParallelism() : config.threads;
  const isSmall = fs.statSync(join(folder, 'model.safetensors'), { throwIfNoEntry: false })?.size ?? Infinity;
  if (isSmall > SMALL_BYTES) return [{ ...settings, threads }];
  return Array.from({ length: Math.min(threads, 4) }, () => ({ ...settings, threads: 1 }));
}

/** A run folder means its newest weights, a checkpoint its own; other folders in Hugging Face layout need a config. */
function targetOf(call: Call): Target {
  const folder = resolve(call.args[0]!);
  const file = textOption(call, 'config');
  const given = file === undefined ? undefined : loadConfig(resolve(file)).config;
  const isRun = (path: string): boolean => fs.existsSync(join(path, FILES.manifest));
  if (isRun(folder)) {
    const newest = listCheckpoints(folder).at(-1);
    const config = given ?? openRun(folder).manifest.config;
    const weights = newest === undefined ? config.policy.path : join(folder, newest);
    return { folder: weights, step: stepOf(newest), config, run: folder };
  }
  const parent = dirname(dirname(folder));
  const isCheckpoint = basename(dirname(folder)) === FILES.checkpoints && isRun(parent);
  if (isCheckpoint && fs.existsSync(folder))
    return { folder, step: stepOf(folder), config: given ?? openRun(parent).manifest.config, run: parent };
  if (given && fs.existsSync(join(folder, 'config.json'))) return { folder, step: 0, config: given };
  throw new FailureError({
    where: 'config',
    message: `${folder} is neither a run nor a checkpoint of one${given ? ', nor a policy with a config.json' : ''}.`,
    fix: given
      ? 'Correct the path.'
      : 'Correct the path, or name a config with --config to measure any policy folder.',
  });
}

function withOptions(target: Target, call: Call): Target {
  const { evaluation, data } = target.config;
  const tasks = numberOption(call, 'tasks', 1) ?? evaluation.tasks;
  const samples = numberOption(call, 'samples', 0) ?? evaluation.samples;
  return { ...target, config: { ...target.config, data, evaluation: { ...evaluation, tasks, samples } } };
}

const stepOf = (name = ''): number => Number(/step-(\d+)$/.exec(name)?.[1] ?? 0);

/** Keeps the outcomes in the run, and tells them where no worker is writing the journal. Returns them by the name that they got. */
function record(run: string, { folder, step }: Target, measured: EvaluationRecord): EvaluationRecord {
  const evaluated = addEvaluation(run, step, measured);
  if (liveLock(run)) return evaluated;
  const lock = acquireLock(run);
  try {
    const journal = Journal.open(run);
    const checkpoint = folder.startsWith(run)
      ? { checkpoint: `${FILES.checkpoints}/${basename(folder)}` }
      : {};
    journal.tell({ type: 'evaluated', summary: evaluated.summary, ...checkpoint }, step);
    journal.close();
  } finally {
    lock.release();
  }
  return evaluated;
}

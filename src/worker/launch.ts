/** Starts, continues and reaches runs from a command line, here or in a process of their own. Knows nothing of the loop. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, join, resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { problemText, validate, type Config } from '../core/config.ts';
import { fold, type RunState } from '../core/fold.ts';
import { FailureError } from '../core/types.ts';
import { timestamp } from '../run/clock.ts';
import { configChangeOf, type ConfigChange } from '../run/configChange.ts';
import { loadConfig } from '../run/configFile.ts';
import { createRun } from '../run/create.ts';
import { appendAmong, openAppend } from '../run/disk.ts';
import { FILES } from '../run/layout.ts';
import { connectWorker, liveLock } from '../run/lock.ts';
import { openRun, type Run } from '../run/reader.ts';
import {
  UsageError,
  hasSwitch,
  numberOption,
  textOption,
  writeJson,
  type Call,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { dryRun } from './dryRun.ts';
import { realEquipment } from './equipment.ts';
import { evaluationId } from './evaluations.ts';
import { makeProgress, type Progress } from './progress.ts';
import { work, type Watcher } from './session.ts';
import { stopOnSignals } from './signals.ts';
import type { Control } from './status.ts';

/** Between two looks at a lock. */
const POLL_MS = 20;

/** `train CONFIG`: a new run folder, then its training. */
export async function trainCommand(call: Call, io: Io): Promise<ExitCode> {
  const file = resolve(call.args[0]!);
  const { config, text } = loadConfig(file);
  const run = { config: changed(config, call), file, text, versions: versions() };
  if (hasSwitch(call, 'dry-run'))
    return dryRun(
      run,
      call,
      io,
      realEquipment(text => io.err.write(text)),
    );
  const { folder } = await createRun(run);
  return hasSwitch(call, 'detach') ? detach(folder, call, io) : attend(folder, call, io);
}

/** `resume RUN`: lifts a live worker's pause, or goes on from the last checkpoint. */
export async function resumeCommand(call: Call, io: Io): Promise<ExitCode> {
  const { folder } = ownRunOf(call);
  const change = configChangeOf(folder);
  if (change) io.err.write(`${changeText(change)}\n`);
  if (!liveLock(folder) && fold(await openRun(folder).events()).status === 'finished') {
    io.out.write(`${folder} has finished already.\n`);
    writeJson(call, io, await resultOf(folder));
    return 0;
  }
  if (!liveLock(folder))
    return hasSwitch(call, 'detach') ? detach(folder, call, io) : attend(folder, call, io);
  const { remote, close } = await connectWorker(folder);
  const { state } = await remote.status();
  await remote.resume();
  close();
  io.out.write(
    state === 'paused' || state === 'pausing' ? `${folder} goes on.\n` : `${folder} is ${state} already.\n`,
  );
  writeJson(call, io, { run: folder });
  return 0;
}

/** Who changed the file and resumes the run may take it that the run goes by it. */
const changeText = ({ file, keys }: ConfigChange): string =>
  keys.length > 0
    ? `note: ${basename(file)} says otherwise by now (${keys.join(', ')}), but the run goes on as it began; what the file says takes a new run.`
    : `note: ${basename(file)} holds no configuration by now; the run goes on as it began.`;

/** `pause RUN`: returns when the worker has taken the request. */
export async function pauseCommand(call: Call, io: Io): Promise<ExitCode> {
  const folder = runFolderOf(call);
  const { remote, close } = await connectWorker(folder);
  await remote.pause();
  close();
  io.out.write(`${folder} pauses after the step that it is in.\n`);
  writeJson(call, io, { run: folder });
  return 0;
}

/** `stop RUN`: returns when the worker has saved and ended. */
export async function stopCommand(call: Call, io: Io): Promise<ExitCode> {
  const folder = runFolderOf(call);
  let heardEnd = (): void => undefined;
  const ended = new Promise<void>(resolve => (heardEnd = resolve));
  const { remote } = await connectWorker(folder, () => heardEnd());
  await remote.stop();
  io.out.write(`${folder} saves after the step that it is in, then stops.\n`);
  await ended;
  // The connection ends just before the folder is free.
  while (liveLock(folder)) await new Promise(resolve => setTimeout(resolve, POLL_MS));
  const { step } = fold(await openRun(folder).events());
  io.out.write(`Stopped after step ${step}.\n`);
  writeJson(call, io, { run: folder, step });
  return 0;
}

/** The run folder that a command names first. */
export const runFolderOf = (call: Call): string => openRun(resolve(call.args[0]!)).folder;

/** The run that a command names first; refuses rollouts of another program, in whose folders nothing is done. */
export function ownRunOf(call: Call): Run {
  const run = openRun(resolve(call.args[0]!));
  // Only a run of our own has a manifest, and another says so.
  void run.manifest;
  return run;
}

/** The config with what the command line says instead, checked again. */
function changed(config: Config, call: Call): Config {
  const runs = textOption(call, 'out');
  const given = {
    seed: numberOption(call, 'seed', 0),
    steps: numberOption(call, 'steps', 1),
    name: textOption(call, 'name'),
    runs: runs === undefined ? undefined : resolve(runs),
  };
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return checkedAgain({ ...config, ...changes }, { ...CHANGED_BY, seed: 'seed', name: 'name' });
}

/** Options of several commands, by the key that they say something else for. */
export const CHANGED_BY: Readonly<Record<string, string>> = { steps: 'steps', runs: 'out' };

/** A config that options have changed. Throws a UsageError over the first key that is wrong now, by its option where it has one. */
export function checkedAgain(changed: Config, options: Readonly<Record<string, string>>): Config {
  const checked = validate(changed);
  if ('config' in checked) return checked.config;
  const { key, message, fix } = checked.problems[0]!;
  const named = key in options ? `--${options[key]}` : key;
  throw new UsageError(`${problemText({ key: named, message })} ${fix}`);
}

/** Works on the run in this process and shows it; signals stop it. */
async function attend(folder: string, call: Call, io: Io): Promise<ExitCode> {
  io.out.write(`run     ${basename(folder)} in ${folder}\n`);
  const log = logTo(folder);
  let progress: Progress | undefined;
  let unlisten = (): void => undefined;
  // A job of a build server, say, must end where nobody can come and mend something.
  const isAlone = io.out.isTTY !== true && !hasSwitch(call, 'wait');
  const watch = (control: Control): Watcher => {
    progress = makeProgress(io.out, () => control.status);
    unlisten = stopOnSignals(() => {
      progress?.say('Stopping: the step is finished and saved first. Press Ctrl-C again to end at once.');
      control.verbs.stop();
    });
    return { ...progress, isAlone };
  };
  try {
    const outcome = await work(folder, realEquipment(log), watch);
    progress?.close();
    writeJson(call, io, await resultOf(folder));
    return outcome === 'failed' ? 1 : 0;
  } finally {
    progress?.close();
    unlisten();
  }
}

/**
 * Writes to the run's log. What cannot be written, for want of space say, is lost: a log must not end the run that it tells of,
 * and the same trouble meets the journal, which does say so. A detached worker's own output goes to the same file.
 */
export function logTo(folder: string): (text: string) => void {
  const log = openAppend(join(folder, FILES.log));
  return text => {
    try {
      appendAmong(log, Buffer.from(text));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  };
}

/** What `train --json` prints last. Accuracies are null where no evaluation measured them. */
export async function resultOf(folder: string): Promise<Record<string, string | number | null>> {
  const { manifest, events } = openRun(folder);
  const state = fold(await events());
  const { seed, steps } = manifest.config;
  const evaluated = (step: number): RunState['evaluations'][number]['summary'] | undefined =>
    state.evaluations.find(({ summary }) => summary.id === evaluationId(step))?.summary;
  const sum = (of: (summary: RunState['summaries'][number]['summary']) => number): number =>
    state.summaries.reduce((total, { summary }) => total + of(summary), 0);
  const milliseconds = Date.parse(state.last?.at ?? manifest.created) - Date.parse(manifest.created);
  return {
    run: folder,
    seed,
    steps: state.summaries.length,
    accuracyBefore: evaluated(0)?.accuracy ?? null,
    accuracyAfter: evaluated(steps)?.accuracy ?? null,
    greedyBefore: evaluated(0)?.greedyAccuracy ?? null,
    greedyAfter: evaluated(steps)?.greedyAccuracy ?? null,
    toolCalls: sum(({ toolCalls }) => toolCalls.total),
    branches: sum(({ branches }) => branches?.taken ?? 0),
    seconds: milliseconds / 1000,
  };
}

const programPath = (): string => {
  const bundled = join(import.meta.dirname, 'branchpoint.cjs');
  return fs.existsSync(bundled) ? bundled : join(import.meta.dirname, 'main.ts');
};

/** A worker of its own that outlives this process; returns once it owns the run. */
async function detach(folder: string, call: Call, io: Io): Promise<ExitCode> {
  const log = openAppend(join(folder, FILES.log));
  const begun = timestamp();
  const child = spawn(process.execPath, [programPath(), 'resume', folder, '--wait'], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.handle, log.handle],
    // Lets the editor's own program run as plain Node.
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
  });
  const ended = new Promise<{ code: number | null } | undefined>(resolve => {
    child.once('exit', code => resolve({ code }));
    child.once('error', () => resolve({ code: null }));
  });
  const owns = (): boolean => liveLock(folder)?.pid === child.pid;
  while (!owns()) {
    const end = await Promise.race([
      ended,
      new Promise<undefined>(done => setTimeout(() => done(undefined), POLL_MS)),
    ]);
    if (!end) continue;
    // It may have owned the run and left it between two looks.
    if (end.code === 0) break;
    const { last, failure } = fold(await openRun(folder).events());
    if (failure && last && last.at >= begun) throw new FailureError(failure);
    const [said = 'It wrote nothing.'] = fs.readFileSync(log.path, 'utf8').trim().split('\n').slice(-1);
    throw new FailureError({
      where: 'bug',
      message: `The worker ended before it began: ${said}`,
      fix: `Read ${log.path}.`,
    });
  }
  child.unref();
  io.out.write(`${folder}\n`);
  writeJson(call, io, { run: folder });
  return 0;
}

/** Of this program and of what runs it. */
export const versions = (): Record<string, string> => ({
  branchpoint: manifest.version,
  node: process.versions.node,
});

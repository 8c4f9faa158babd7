/** Starts the program and asks live workers. A worker is found by its run folder and never owned: this file ends only evaluations. Knows nothing of views. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { FailureError } from '../core/types.ts';
import type { WorkerVerbs } from '../protocol/verbs.ts';
import { connectWorker } from '../run/lock.ts';

/** The program and what runs it. */
export interface Program {
  /** Path of the bundled command line. */
  script: string;
  /** Path of a Node, or of an editor that can be one. */
  runtime: string;
}

export interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

/** Characters of a program's output that are kept, where nobody asks for more. */
const KEPT = 1 << 20;

export interface Hearing {
  /** Told each line of the program's standard error. */
  line?(text: string): void;
  /** Characters of its output that are kept. */
  kept?: number;
}

/** Runs the program to its end; a given signal ends it early. Rejects where it cannot be started. */
export function runProgram(
  { script, runtime }: Program,
  args: readonly string[],
  signal?: AbortSignal,
  { line, kept = KEPT }: Hearing = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(runtime, [script, ...args], {
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The editor's own program behaves as plain Node only when it is told to.
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
      ...(signal !== undefined && { signal }),
    });
    const outcome: Outcome = { code: null, out: '', err: '' };
    child.stdout
      .setEncoding('utf8')
      .on('data', (text: string) => (outcome.out = (outcome.out + text).slice(-kept)));
    child.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => (outcome.err = (outcome.err + text).slice(-KEPT)));
    if (line !== undefined) createInterface({ input: child.stderr }).on('line', line);
    child.once('error', error => {
      if (error.name === 'AbortError') return;
      reject(
        new FailureError({
          where: 'config',
          message: `${runtime} cannot be started: ${error.message}.`,
          fix: 'Check the setting branchpoint.nodePath.',
        }),
      );
    });
    child.once('close', code => resolve({ ...outcome, code }));
  });
}

/** What Node itself says of its own parts, which is no reason for a failure. */
const NODE_WARNING = /^\(node:\d+\) \w*Warning: .*\n(\(Use `.*\n)?/gm;

/** The program's own sentence about why it did not do what it was asked. */
export function failureOf({ code, err }: Outcome): FailureError {
  const said = err
    .replace(NODE_WARNING, '')
    .trim()
    // What it told of its progress comes before.
    .replace(/^(?:[^]*\n)?branchpoint: /, '');
  return new FailureError({
    where: code === 2 ? 'config' : 'bug',
    message: said === '' ? `The worker ended with code ${code} and said nothing.` : said,
  });
}

/** Starts a new run detached from this process and returns its folder; the worker goes on when the window closes. */
export async function launch(program: Program, config: string): Promise<string> {
  const outcome = await runProgram(program, ['train', config, '--detach']);
  if (outcome.code !== 0) throw failureOf(outcome);
  return lastLine(outcome.out);
}

/** Goes on with a run that no worker owns, from its last checkpoint. */
export async function resumeEnded(program: Program, runFolder: string): Promise<void> {
  const outcome = await runProgram(program, ['resume', runFolder, '--detach']);
  if (outcome.code !== 0) throw failureOf(outcome);
}

/** Asks the run's live worker once. Rejects with a FailureError where there is none. */
export async function ask(runFolder: string, verb: Exclude<keyof WorkerVerbs, 'status'>): Promise<void> {
  const { remote, close } = await connectWorker(runFolder);
  try {
    await remote[verb]();
  } finally {
    close();
  }
}

/** Measures a checkpoint's folder; undefined where the signal ended it. */
export async function evaluate(
  program: Program,
  checkpoint: string,
  signal: AbortSignal,
  progress: (done: number, tasks: number) => void,
): Promise<Measured | undefined> {
  const outcome = await runProgram(program, ['eval', checkpoint, '--json'], signal, {
    line: text => {
      const found = /^(\d+)\/(\d+) tasks$/.exec(text);
      if (found) progress(Number(found[1]), Number(found[2]));
    },
  });
  if (signal.aborted) return undefined;
  if (outcome.code !== 0) throw failureOf(outcome);
  return measured(JSON.parse(lastLine(outcome.out)));
}

/** What is said of an evaluation when it is done. */
export interface Measured {
  /** Names its record. */
  id: string;
  accuracy: number;
  interval: [number, number];
  greedyAccuracy?: number;
  tasks: number;
  samples: number;
}

function measured(value: unknown): Measured {
  const { id, accuracy, interval, greedyAccuracy, tasks, samples } = value as Record<string, unknown>;
  const isNumber = (value: unknown): value is number => typeof value === 'number';
  if (
    typeof id !== 'string' ||
    !isNumber(accuracy) ||
    !isNumber(tasks) ||
    !isNumber(samples) ||
    !Array.isArray(interval) ||
    !interval.every(isNumber) ||
    interval.length !== 2
  )
    throw new FailureError({
      where: 'bug',
      message: `The evaluation’s result cannot be read: ${JSON.stringify(value)}`,
    });
  return {
    id,
    accuracy,
    tasks,
    samples,
    interval: [interval[0]!, interval[1]!],
    ...(isNumber(greedyAccuracy) && { greedyAccuracy }),
  };
}

export const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1)!;

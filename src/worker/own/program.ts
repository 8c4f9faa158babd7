/**
 * A program of the user's own that answers JSON objects, one a line and in any order. It is started when it is asked, and
 * again when it has ended. Knows nothing of what it is asked or of what an answer means.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OwnProgram } from '../../core/configTools.ts';
import { errorText, FailureError } from '../../core/types.ts';
import { cut } from '../../core/wrap.ts';
import { PassingError } from '../retry.ts';

/** Longer lines are no answers. */
const LONGEST_LINE = 16 << 20;
const COMPLAINT_CHARACTERS = 2_000;
/** A program that has lost its input should end by itself. */
const GRACE_MS = 1_000;

interface Asked {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** What came back, without its id. */
export type Answer = Readonly<Record<string, unknown>>;

export interface ProgramOptions {
  /** How long one question may wait for its answer. */
  timeoutMs: number;
  /** What a program is asked first, whenever it is started; until it has answered, no time of others is counted. */
  probe: object;
  /** Throws an Error where the answer to the probe is not as it should be. */
  check(answer: Answer): void;
}

/** No answer came in time. */
export class LateError extends Error {
  override readonly name = 'LateError';
}

/** The system could not start it at all, so that to try again would not help. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const START_FIX =
  'Correct its command or folder, or install the program; the command’s first word must be a program.';
const START_MS = 60_000;

/** Ended with this process, however it exits. */
const living = new Set<Child>();
const endAll = (): void => living.forEach(child => child.kill());
process.once('exit', endAll);

/** A signal that nobody else heeds ends this process without its 'exit'; a program in a group of its own would outlive it. */
const heedSignals = (): void =>
  ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(signal => {
    const heed = (): void => {
      if (process.listenerCount(signal) > 1) return;
      endAll();
      process.off(signal, heed);
      process.kill(process.pid, signal);
    };
    process.on(signal, heed);
  });

export class Program {
  /** What it is called in messages: the module, or the command's words. */
  readonly label: string;
  private readonly own: OwnProgram;
  private readonly options: ProgramOptions;
  private child: Child | undefined;
  private ready: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(own: OwnProgram, options: ProgramOptions) {
    this.own = own;
    this.options = options;
    this.label = own.module === '' ? own.command.join(' ') : own.module;
  }

  /** Resolves when the program has answered the probe; rejects with an Error that says why it did not. */
  async open(): Promise<void> {
    await this.start();
  }

  /**
   * Sends an object and waits for its answer. Rejects with a LateError where it took too long, with a PassingError where the
   * program ended or wrote something else than answers, and with an Error where it answered `{ error }` or the signal came. A program that kept
   * somebody waiting for too long is ended, and so is one whose caller gives up: a question cannot be taken back.
   */
  async ask(request: object, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const child = await this.start();
    const answer = await within(child, child.ask(request), this.options.timeoutMs, signal);
    if (answer.error === undefined) return answer;
    throw new Error(wordsOf(answer.error));
  }

  /** Resolves when the program is gone. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.child?.close();
  }

  private async start(): Promise<Child> {
    if (this.isClosed) throw new Error(`${this.label} is closed.`);
    if (!this.child || this.child.hasEnded) {
      this.child = new Child(this.label, startOf(this.own));
      this.ready = this.tryOut(this.child);
    }
    const child = this.child;
    await this.ready;
    return child;
  }

  private async tryOut(child: Child): Promise<void> {
    const { probe, check } = this.options;
    const answer = await within(child, child.ask(probe), START_MS, NEVER);
    try {
      check(answer);
    } catch (error) {
      child.end('it answered the probe wrongly');
      throw error;
    }
  }
}

/** Opens a program and tries it. Throws a FailureError in these words where it does not answer as it should; nothing is left then. */
export async function openProgram(
  own: OwnProgram,
  options: ProgramOptions,
  { name, fix }: { name: string; fix: string },
): Promise<Program> {
  const program = new Program(own, options);
  try {
    await program.open();
    return program;
  } catch (error) {
    await program.close();
    const message = `${name}: ${errorText(error)}`;
    throw new FailureError({ where: 'config', message, fix: error instanceof StartError ? START_FIX : fix });
  }
}

const NEVER = new AbortController().signal;

/** What a program gave as its error, for a sentence. */
export const wordsOf = (error: unknown): string =>
  typeof error === 'string' ? error : JSON.stringify(error);

/** The answer, or a LateError after the time; what the signal calls off says so. */
async function within(
  child: Child,
  answer: Promise<Answer>,
  ms: number,
  signal: AbortSignal,
): Promise<Answer> {
  let giveUp = (_error: Error, _reason: string): void => undefined;
  const given = new Promise<never>((_, reject) => {
    giveUp = (error, reason) => {
      reject(error);
      child.end(reason);
    };
  });
  const timer = setTimeout(() => {
    const late = `${child.label} did not answer within ${ms / 1000} seconds.${child.lastWords()}`;
    giveUp(new LateError(late), 'it kept another caller waiting for too long');
  }, ms);
  const stop = (): void =>
    giveUp(new Error(`A call of ${child.label} was called off.`), 'another call was called off');
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([answer, given]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    // Whoever lost the race has been told.
    given.catch(() => undefined);
    answer.catch(() => undefined);
  }
}

interface Start {
  command: string;
  args: readonly string[];
  folder: string;
}

/** A module is loaded by a process of its own, so that it can neither stop nor crash the worker. */
function startOf({ module, command, folder }: OwnProgram): Start {
  if (module === '') return { command: command[0]!, args: command.slice(1), folder };
  const bundled = join(import.meta.dirname, 'ownModule.cjs');
  const loader = existsSync(bundled) ? bundled : join(import.meta.dirname, 'moduleChild.ts');
  return { command: process.execPath, args: [loader, module], folder };
}

let isHeeding = false;

/** One life of the program. */
class Child {
  hasEnded = false;
  readonly label: string;
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly gone: Promise<void>;
  private readonly asked = new Map<number, Asked>();
  private received = '';
  private complaint = '';
  private questions = 0;

  constructor(label: string, { command, args, folder }: Start) {
    this.label = label;
    if (!isHeeding) heedSignals();
    isHeeding = true;
    living.add(this);
    this.process = spawn(command, args, {
      cwd: folder,
      stdio: 'pipe',
      windowsHide: true,
      // A group of its own, so that what it starts ends with it, and a terminal's Ctrl-C does not reach it.
      detached: process.platform !== 'win32',
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
    });
    // What it started must not outlive it, nor keep its output open, also where it has left the group.
    this.process.once('exit', () => {
      this.signalGroup();
      setTimeout(() => {
        this.process.stdout.destroy();
        this.process.stderr.destroy();
      }, GRACE_MS).unref();
    });
    this.gone = new Promise(resolve => {
      this.process.once('close', (status, signal) => {
        const how = signal === null ? `ended with status ${status}` : `was ended by ${signal}`;
        this.forget(`${this.label} ${how}.`);
        resolve();
      });
      this.process.once('error', error => {
        const { code = '' } = error as NodeJS.ErrnoException;
        const why =
          code === 'ENOENT' ? `there is no program ${command} to be found from ${folder}` : error.message;
        const message = `${this.label} cannot be started: ${why}.`;
        this.forget(['ENOENT', 'ENOTDIR', 'EACCES'].includes(code) ? new StartError(message) : message);
        if (this.process.pid === undefined) resolve();
      });
    });
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => this.receive(text));
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-COMPLAINT_CHARACTERS);
    });
    // A write to a program that has just ended: its end is seen by 'close'.
    this.process.stdin.on('error', () => this.kill());
  }

  ask(request: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = ++this.questions;
      this.asked.set(id, { resolve, reject });
      this.process.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  /** What it said last on its standard error, for messages. */
  lastWords(): string {
    const words = this.complaint.trim().split('\n').slice(-3).join('\n');
    return words === '' ? '' : ` It said: ${words}`;
  }

  /** Ends it at once; who still waits is told why. */
  end(reason: string): void {
    this.forget(`${this.label} was ended: ${reason}.`);
    this.kill();
  }

  /** Does not wait. */
  kill(): void {
    if (process.platform === 'win32') this.process.kill('SIGKILL');
    else this.signalGroup();
  }

  async close(): Promise<void> {
    this.process.stdin.end();
    const timer = setTimeout(() => this.kill(), GRACE_MS);
    await this.gone;
    clearTimeout(timer);
  }

  private signalGroup(): void {
    if (process.platform === 'win32' || this.process.pid === undefined) return;
    try {
      process.kill(-this.process.pid, 'SIGKILL');
    } catch (error) {
      // It is gone already.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  private forget(reason: string | StartError): void {
    this.hasEnded = true;
    living.delete(this);
    const error = reason instanceof StartError ? reason : new PassingError(reason + this.lastWords());
    for (const { reject } of this.asked.values()) reject(error);
    this.asked.clear();
  }

  private receive(text: string): void {
    const lines = (this.received + text).split('\n');
    this.received = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') this.take(line);
    if (this.received.length > LONGEST_LINE) this.end('it wrote a line without end');
  }

  private take(line: string): void {
    const answer = parsed(line);
    const asked = answer && this.asked.get(answer.id as number);
    if (!asked) {
      const shown = JSON.stringify(cut(line, 120));
      this.end(
        `it wrote ${shown} to its standard output, which is no answer with the id of a question; messages belong to the standard error`,
      );
      return;
    }
    const { id, ...rest } = answer;
    this.asked.delete(id as number);
    asked.resolve(rest);
  }
}

function parsed(line: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Answer) : undefined;
  } catch {
    return undefined; // Told as nonsense.
  }
}

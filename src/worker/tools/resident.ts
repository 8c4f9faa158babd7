/**
 * One sandboxed interpreter that stays and runs one program at a time, over JSON lines. Knows nothing of which sandbox it
 * is, of pools of them or of what a policy reads.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

/** Limits of one program. */
export interface ProgramLimits {
  /** Wall clock. */
  timeoutMs: number;
  /** All of its processes together. */
  memoryMB: number;
  /** Kept of each of its streams: half from the start, half from the end. */
  outputBytes: number;
}

export interface ResidentCommand {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

export interface StreamReport {
  head: string;
  tail: string;
  /** Bytes left out between both. */
  dropped: number;
}

/** Why a program was ended by its sandbox, or `crash` where it took the interpreter with it. */
export type Verdict = 'timed-out' | 'memory' | 'processes' | 'output' | 'crash';

export interface ProgramReport {
  /** Exit status; negative for a signal. */
  status: number;
  verdict: Verdict | null;
  stdout: StreamReport;
  stderr: StreamReport;
  /** True where the interpreter takes no other program. */
  isLast?: boolean;
}

/** The sandbox enforces the time limit itself; one that does not answer this long after it is killed. */
const GRACE_MS = 1_000;
const NOTHING: StreamReport = { head: '', tail: '', dropped: 0 };
const CRASHED: ProgramReport = { status: -1, verdict: 'crash', stdout: NOTHING, stderr: NOTHING };

const START_MS = 60_000;

/** Ended with this process, however it exits. */
const living = new Set<Resident>();
process.once('exit', () => living.forEach(resident => resident.kill()));

export class Resident {
  /** Python's version once it can run programs; rejects where it cannot be started. */
  readonly ready: Promise<string>;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly closed: Promise<void>;
  private readonly timeoutMs: number;
  private readonly maxLineLength: number;
  private hasEnded = false;
  private isSpent = false;
  private received = '';
  private complaint = '';
  /** Programs sent so far; also the last one's id. */
  private programs = 0;
  /** What waits for the next line; undefined while nothing does. */
  private answer: ((line: string | undefined) => void) | undefined;

  constructor({ command, args, env }: ResidentCommand, limits: ProgramLimits) {
    this.timeoutMs = limits.timeoutMs + GRACE_MS;
    // Two streams, each character at most six in JSON.
    this.maxLineLength = 12 * limits.outputBytes + 65_536;
    living.add(this);
    this.child = spawn(command, args, { env: { ...env }, stdio: 'pipe', windowsHide: true });
    this.closed = new Promise(resolve => {
      const finish = (): void => {
        this.hasEnded = true;
        living.delete(this);
        this.answer?.(undefined);
        resolve();
      };
      this.child.once('close', finish);
      this.child.once('error', error => {
        this.complaint += error.message;
        if (this.child.pid === undefined) finish();
      });
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.receive(text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.complaint = (this.complaint + text).slice(-2_000);
    });
    // A write to a process that has just died: its end is seen by 'close'.
    this.child.stdin.on('error', () => this.kill());
    const patience = setTimeout(() => this.kill(), START_MS);
    this.ready = this.nextLine()
      .then(line => this.greet(line))
      .finally(() => clearTimeout(patience));
    // Whoever runs a program sees the failure; until then nobody has to.
    this.ready.catch(() => undefined);
  }

  /** Whether it can take another program. */
  get isUsable(): boolean {
    return !this.hasEnded && !this.isSpent;
  }

  /** Runs one program after `ready`. Where the signal fires first, the whole sandbox is ended. */
  async run(source: string, signal: AbortSignal): Promise<ProgramReport> {
    await this.ready;
    let isLate = false;
    const stop = (): void => {
      isLate = true;
      this.kill();
    };
    const timer = setTimeout(stop, this.timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) stop();
      else this.child.stdin.write(`${JSON.stringify({ id: ++this.programs, source })}\n`);
      const report = parseReport(await this.nextLine(), this.programs);
      if (report) {
        this.isSpent ||= report.isLast === true;
        return report;
      }
      await this.end();
      return isLate ? { ...CRASHED, verdict: 'timed-out' } : CRASHED;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Kills the sandbox with all that is in it; resolves when it is gone. */
  async end(): Promise<void> {
    this.kill();
    await this.closed;
  }

  /** Does not wait. */
  kill(): void {
    this.isSpent = true;
    this.child.kill('SIGKILL');
  }

  private greet(line: string | undefined): string {
    const hello = line === undefined ? undefined : parsed(line);
    if (typeof hello === 'object' && hello !== null && 'ready' in hello && typeof hello.ready === 'string') {
      return hello.ready;
    }
    this.kill();
    const words = this.complaint.trim().split('\n').slice(-3).join(' ');
    throw new Error(words === '' ? 'it ended before it was ready' : words);
  }

  /** The next line of its standard output; undefined when it ended. */
  private nextLine(): Promise<string | undefined> {
    return new Promise(resolve => {
      this.answer = line => {
        this.answer = undefined;
        resolve(line);
      };
      if (this.hasEnded) this.answer(undefined);
      else this.receive('');
    });
  }

  private receive(text: string): void {
    this.received += text;
    const end = this.received.indexOf('\n');
    if (end >= 0 && this.answer) {
      const line = this.received.slice(0, end);
      this.received = this.received.slice(end + 1);
      this.answer(line);
    } else if (this.received.length > this.maxLineLength) {
      this.kill();
    }
  }
}

/** Programs share the sandbox with what reports on them: a report is checked like any other input, and is of this program. */
function parseReport(line: string | undefined, id: number): ProgramReport | undefined {
  const report =
    line === undefined
      ? undefined
      : (parsed(line) as Partial<ProgramReport & { id: number }> | null | undefined);
  const isStream = (stream: StreamReport | undefined): boolean =>
    typeof stream?.head === 'string' && typeof stream.tail === 'string' && typeof stream.dropped === 'number';
  const isReport =
    report?.id === id &&
    typeof report.status === 'number' &&
    isStream(report.stdout) &&
    isStream(report.stderr);
  return isReport ? (report as ProgramReport) : undefined;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // Not a report: told as a crash.
  }
}

/** The embedded engine in a child process, as a policy. Knows how the child starts and ends, nothing of what it computes. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { connect, toFailure } from '../../../protocol/channel.ts';
import { FailureError, type Failure } from '../../../core/types.ts';
import { processPort } from '../../../run/ports.ts';
import { explained } from '../explained.ts';
import type { Policy } from '../policy.ts';

export interface EmbeddedOptions {
  /** Gets what the engine writes to its standard error and output, as it comes. */
  log?: (text: string) => void;
  /** Another program in place of the engine's: tests have one that breaks the channel. */
  program?: string;
  /** How long it may take to end when it is closed; then it is killed. For tests. */
  closingMs?: number;
}

export interface EmbeddedPolicy extends Policy {
  pid: number;
  /** Called once when the child ends without having been closed: all open and later asks fail with this failure. */
  onExit(listener: (failure: Failure) => void): void;
}

/** How long a process may take to end once its channel is closed. */
const LAST_WORDS_MS = 2000;

const CLOSING_MS = 15_000;

/** What the child wrote last is quoted when it crashes. */
const QUOTED_LINES = 5;

/**
 * The GNU C library would hand each large array's pages back to the system and clear new ones for the next: that took a
 * fifth of some training steps. Elsewhere the variables say nothing.
 */
export const STEADY_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(2 ** 32),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 32),
} as const;

function programPath(): string {
  const bundled = join(import.meta.dirname, 'engine.cjs');
  if (!existsSync(bundled)) return join(import.meta.dirname, 'process.ts');
  const platform = `${process.platform}-${process.arch}`;
  if (!existsSync(join(import.meta.dirname, 'native', platform)))
    throw new FailureError({
      where: 'policy',
      message: `This package of Branchpoint has no ONNX Runtime for ${platform}: it can show runs, but not train or evaluate.`,
      fix: 'Install the package that was made for this platform, or train on another machine.',
    });
  return bundled;
}

/** Starts the engine's process; the weights are read by the verb `open`. */
export async function openEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedPolicy> {
  const child = fork(options.program ?? programPath(), [], {
    execPath: process.execPath,
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // The former lets the editor's own program run as plain Node.
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1', ...STEADY_MEMORY },
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      written = (written + text).slice(-4096);
      options.log?.(text);
    });
  }
  await once(child, 'spawn');
  const port = processPort(child);
  const { remote, close } = connect<Policy>(port);
  const ending = watchExit(child, () => written);
  ending.onEnd(failure => close(failure.message));
  // Over a broken channel nothing would ever be answered. A process that is just ending closes it too, and is let tell how.
  port.onClose(reason => void setTimeout(() => ending.cut(reason), LAST_WORDS_MS).unref());
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      // The channel does not know whose end it was.
      throw new FailureError(explained(ending.failure() ?? toFailure(error)));
    }
  };
  let isOpening = false;
  return {
    pid: child.pid!,
    onExit: listener => ending.onEnd((failure, isExpected) => void (isExpected || listener(failure))),
    open: settings => {
      isOpening = true;
      return asked(remote.open(settings)).finally(() => (isOpening = false));
    },
    sample: request => asked(remote.sample(request)),
    forget: keyPrefix => asked(remote.forget(keyPrefix)),
    score: (trees, temperature) => asked(remote.score(trees, temperature)),
    accumulate: (batch, objective) => asked(remote.accumulate(batch, objective)),
    step: settings => asked(remote.step(settings)),
    save: (folder, withOptimizer) => asked(remote.save(folder, withOptimizer)),
    load: folder => asked(remote.load(folder)),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // While it opens it only reads: there is nothing that it should put in order.
      const ask = isOpening ? undefined : () => asked(remote.close());
      await end(child, ending, {
        ask,
        hangUp: () => port.close(),
        withinMs: options.closingMs ?? CLOSING_MS,
      });
    },
  };
}

/** Asks the child to end, and kills it where it is not to be asked or does not end in time. */
async function end(
  child: ChildProcess,
  ending: Ending,
  { ask, hangUp, withinMs }: { ask: (() => Promise<void>) | undefined; hangUp(): void; withinMs: number },
): Promise<void> {
  const exited = once(child, 'exit');
  const kill = (): void => {
    ending.expect();
    child.kill('SIGKILL');
  };
  // What it still computes nobody wants any more.
  const timer = setTimeout(kill, withinMs);
  try {
    if (ask) await Promise.race([ask(), exited]);
    else kill();
  } finally {
    // Also where it refuses to be closed: nobody would end it later.
    ending.expect();
    hangUp();
    await exited;
    clearTimeout(timer);
  }
}

type EndListener = (failure: Failure, isExpected: boolean) => void;

interface Ending {
  onEnd(listener: EndListener): void;
  failure(): Failure | undefined;
  /** The next end is wanted. */
  expect(): void;
  /** Ends what has not ended by itself, and tells why. */
  cut(reason: string): void;
}

function watchExit(child: ChildProcess, written: () => string): Ending {
  const listeners: EndListener[] = [];
  let failure: Failure | undefined;
  let isExpected = false;
  let reason: string | undefined;
  const end = (how: string): void => {
    if (failure) return;
    const quoted = written().trim().split('\n').slice(-QUOTED_LINES).join('\n');
    const message = isExpected
      ? 'The policy was closed.'
      : `The engine's process ${how}${quoted ? `. It wrote last:\n${quoted}` : '.'}`;
    failure = { where: 'policy', message };
    for (const listener of listeners) listener(failure, isExpected);
  };
  // The pipes may still hold the last words when the process is gone. (The event `close` would wait for them too, but
  // never comes where the channel was closed on this side.)
  const pipes = [child.stdout, child.stderr].filter(stream => stream !== null);
  child.on('exit', (code, signal) => {
    const how =
      reason !== undefined
        ? `was ended (${reason})`
        : signal
          ? `was killed (${signal})`
          : `ended with exit code ${code}`;
    void Promise.allSettled(pipes.map(stream => finished(stream))).then(() => end(how));
  });
  child.on('error', error => end(`failed (${error.message})`));
  return {
    onEnd: listener => void (failure ? listener(failure, isExpected) : listeners.push(listener)),
    failure: () => failure,
    expect: () => void (isExpected = true),
    cut(why) {
      if (isExpected || child.exitCode !== null || child.signalCode !== null) return;
      reason = why;
      child.kill('SIGKILL');
    },
  };
}

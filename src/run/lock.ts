/** Who owns a run folder, and how to reach them: run.lock and the worker's socket. Knows nothing of training. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FailureError } from '../core/types.ts';
import type { Remote } from '../protocol/channel.ts';
import { connect } from '../protocol/channel.ts';
import type { WorkerVerbs } from '../protocol/verbs.ts';
import { timestamp } from './clock.ts';
import { besideName, makePrivateFolder, remove, rename, statOf, writeNew } from './disk.ts';
import { FILES } from './layout.ts';
import { socketPort } from './ports.ts';
import { birthOf, isRunning } from './processes.ts';
import type { Shape } from './shape.ts';
import { count, record, text } from './shape.ts';

/** The content of run.lock. */
export interface LockContent {
  pid: number;
  /** Path of the worker's socket, or name of its pipe on Windows. */
  socket: string;
  /** ISO 8601. */
  startedAt: string;
  /** Tells this owner from every other, also from one with the same pid. */
  token: string;
  host: string;
  /** When the process started by its system's count, so that a new process with an old pid is not mistaken; '' where unknown. */
  birth: string;
}

export interface Lock {
  readonly content: LockContent;
  /** Frees the folder and removes the socket; nothing happens where somebody else owns it by now. */
  release(): void;
}

/** Unix sockets have at most 104 characters on macOS and 108 on Linux. */
const LONGEST_SOCKET = 100;
const ANSWER_MS = 5000;

const lockShape: Shape<LockContent> = record<LockContent>({
  pid: count,
  socket: text,
  startedAt: text,
  token: text,
  host: text,
  birth: text,
});

/**
 * Makes this process the owner of the run folder. A lock whose process has died is taken over; throws a FailureError where
 * its process lives. The socket named in the lock is not yet listened on; only this user can reach its folder.
 */
export function acquireLock(runFolder: string): Lock {
  const path = join(runFolder, FILES.lock);
  const token = randomBytes(16).toString('hex');
  const socket = privateSocket(token);
  const content: LockContent = {
    pid: process.pid,
    socket,
    startedAt: timestamp(),
    token,
    host: hostname(),
    birth: birthOf(process.pid),
  };
  try {
    // Two rounds: whoever takes a dead owner's lock away may still lose the race for the free place.
    for (let round = 0; ; round++) {
      try {
        writeNew(path, `${JSON.stringify(content)}\n`, 0o600);
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || round === 2) throw error;
        takeAway(path, runFolder, token);
      }
    }
  } catch (error) {
    removeSocket(socket);
    throw error;
  }
  const release = (): void => {
    if (readLock(runFolder)?.token === token) remove(path);
    removeSocket(socket);
  };
  return { content, release };
}

/** The lock as it is; undefined where there is none, or where it is not readable as one (a dead owner's). */
export function readLock(runFolder: string): LockContent | undefined {
  const path = join(runFolder, FILES.lock);
  if (!statOf(path)) return undefined;
  try {
    return lockShape(JSON.parse(fs.readFileSync(path, 'utf8')), FILES.lock);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof FailureError) return undefined;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The lock of a run whose worker lives; on another machine we cannot look, and believe the lock. */
export function liveLock(runFolder: string): LockContent | undefined {
  const lock = readLock(runFolder);
  return lock && isAlive(lock) ? lock : undefined;
}

/**
 * Reaches the run's live worker. Throws a FailureError where there is none or it does not answer; `onClose` is called
 * once, when the connection has ended, and every ask that is still open is rejected.
 */
export async function connectWorker(
  runFolder: string,
  onClose: () => void = () => undefined,
): Promise<{ remote: Remote<WorkerVerbs>; close(): void }> {
  const lock = liveLock(runFolder);
  if (!lock)
    throw new FailureError({
      where: 'store',
      message: `No worker runs in ${runFolder}: the run has ended, or was interrupted.`,
      fix: 'Resume it where it was interrupted.',
    });
  if (lock.host !== hostname()) throw elsewhere(lock, runFolder);
  const socket = connectSocket(lock.socket);
  await new Promise<void>((done, fail) => {
    const failed = (why: string): void => {
      socket.destroy();
      const message = `The worker of ${runFolder} (process ${lock.pid}) cannot be reached: ${why}`;
      fail(
        new FailureError({
          where: 'store',
          message,
          fix: 'Wait until it has started, or stop it and resume the run.',
        }),
      );
    };
    socket.once('error', error => failed(error.message));
    socket.setTimeout(ANSWER_MS, () => failed('it does not answer.'));
    socket.once('connect', () => done());
  });
  socket.setTimeout(0);
  const port = socketPort(socket);
  const channel = connect<WorkerVerbs>(port);
  port.onClose(() => {
    channel.close(`The worker of ${runFolder} has gone.`);
    onClose();
  });
  return { remote: channel.remote, close: () => port.close() };
}

/** Moves a dead owner's lock away. Throws where the owner lives, also where a living one came in between. */
function takeAway(path: string, runFolder: string, token: string): void {
  const seen = readLock(runFolder);
  if (seen && isAlive(seen))
    throw seen.host === hostname() ? owned(seen, runFolder) : elsewhere(seen, runFolder);
  const aside = besideName(`${path}.${token}`, 'tmp');
  try {
    rename(path, aside);
  } catch (error) {
    // Somebody else moved it first; the place is free or theirs.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = parseLock(fs.readFileSync(aside, 'utf8'));
  if (moved && moved.token !== seen?.token) {
    rename(aside, path);
    throw owned(moved, runFolder);
  }
  remove(aside);
  if (seen) removeSocket(seen.socket);
}

function parseLock(content: string): LockContent | undefined {
  try {
    return lockShape(JSON.parse(content), FILES.lock);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof FailureError) return undefined;
    throw error;
  }
}

const owned = ({ pid, startedAt }: LockContent, runFolder: string): FailureError =>
  new FailureError({
    where: 'store',
    message: `Another worker (process ${pid}, since ${startedAt}) owns ${runFolder}.`,
    fix: 'Stop it first, or start a new run.',
  });
const elsewhere = ({ pid, host }: LockContent, runFolder: string): FailureError =>
  new FailureError({
    where: 'store',
    message: `The worker of ${runFolder} is process ${pid} on ${host}, which cannot be reached from here.`,
    fix: `Use that machine, or remove ${FILES.lock} if you know that the process is gone.`,
  });

const isAlive = ({ pid, host, birth }: LockContent): boolean => host !== hostname() || isRunning(pid, birth);

/** A socket path in a new folder that only this user may enter. */
function privateSocket(token: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\branchpoint-${token}`;
  const long = join(tmpdir(), 'branchpoint-XXXXXX', 'worker.sock').length > LONGEST_SOCKET;
  return join(makePrivateFolder(join(long ? '/tmp' : tmpdir(), 'branchpoint-')), 'worker.sock');
}

function removeSocket(socket: string): void {
  // Only a folder of our own making is removed, whatever a lock says.
  if (process.platform !== 'win32' && /[\\/]branchpoint-[^\\/]+[\\/]worker\.sock$/.test(socket))
    remove(dirname(socket));
}

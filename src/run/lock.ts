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
import { now, timestamp } from './clock.ts';
import { besideName, makePrivateFolder, remove, rename, statOf, touch, writeNew } from './disk.ts';
import { FILES } from './layout.ts';
import { socketPort } from './ports.ts';
import { birthOf, bootOf, HERE, isRunning } from './processes.ts';
import type { Shape } from './shape.ts';
import { count, optional, record, text } from './shape.ts';

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
  /** Where its process id means this process: see HERE. Absent in locks of earlier versions, whose owners do not touch them. */
  where?: string;
}

export interface Lock {
  readonly content: LockContent;
  /** Frees the folder and removes the socket; nothing happens where somebody else owns it by now. */
  release(): void;
}

/** Unix sockets have at most 104 characters on macOS and 108 on Linux. */
const LONGEST_SOCKET = 100;
const ANSWER_MS = 5000;
/** An owner touches its lock so often, and one that did not for so long counts as gone where nobody can look for its process. */
const TOUCH_MS = 10_000;
const SILENCE_MS = 60_000;

const BOOT = bootOf(birthOf(process.pid));

const lockShape: Shape<LockContent> = record<LockContent>({
  pid: count,
  socket: text,
  startedAt: text,
  token: text,
  host: text,
  birth: text,
  where: optional(text),
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
    where: HERE,
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
  const beating = setInterval(() => keepAlive(path, runFolder, token), TOUCH_MS).unref();
  const release = (): void => {
    clearInterval(beating);
    if (readLock(runFolder)?.token === token) remove(path);
    removeSocket(socket);
  };
  return { content, release };
}

/** Shows those who cannot look for this process that it lives. */
function keepAlive(path: string, runFolder: string, token: string): void {
  try {
    if (readLock(runFolder)?.token === token) touch(path);
  } catch (error) {
    // One that is missed is made up for by the next; what keeps all of them away keeps the journal from being written, too.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
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

/** The lock of a run whose worker lives, as far as can be known here: see isAlive. */
export function liveLock(runFolder: string): LockContent | undefined {
  const lock = readLock(runFolder);
  return lock && isAlive(lock, runFolder) ? lock : undefined;
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
  if (!isOfHere(lock)) throw elsewhere(lock, runFolder);
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
  if (seen && isAlive(seen, runFolder))
    throw isOfHere(seen) ? owned(seen, runFolder) : elsewhere(seen, runFolder);
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
function elsewhere({ pid, host }: LockContent, runFolder: string): FailureError {
  const isNamesake = host === hostname();
  const place = isNamesake ? `another container or machine named ${host}` : host;
  return new FailureError({
    where: 'store',
    message: `The worker of ${runFolder} is process ${pid} on ${place}, which cannot be reached from here.`,
    fix: isNamesake
      ? 'Use that one; or, if the process is gone, try again in a minute.'
      : `Use that machine, or remove ${FILES.lock} if you know that the process is gone.`,
  });
}

/**
 * Whether the owner's process can be looked for here. Containers may have one name, and count their processes each from 1, as machines
 * do: a process of ours with its id says nothing of it.
 */
const isOfHere = ({ host, where, birth }: LockContent): boolean =>
  host === hostname() && (where === undefined || (where === HERE && bootOf(birth) === BOOT));

/**
 * Where we cannot look we believe the lock: of a machine with another name for good, of a namesake as long as it touches it. What was
 * this machine before it was started anew is such a namesake, too.
 */
function isAlive(lock: LockContent, runFolder: string): boolean {
  if (isOfHere(lock)) return isRunning(lock.pid, lock.birth);
  if (lock.host !== hostname()) return true;
  const touched = statOf(join(runFolder, FILES.lock))?.mtimeMs;
  return touched !== undefined && now() - touched < SILENCE_MS;
}

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

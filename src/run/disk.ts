/**
 * Makes, renames and removes the files of runs, so that tests can make every write fail. Three writes go past it: safetensors.ts
 * streams tensors, and an engine writes its model's files, both in the engine's process, which no test's hook reaches, and into a
 * folder that gets its name here; and SQLite writes the cache of tool results itself. Knows nothing of what it writes.
 */
import type { Stats } from 'node:fs';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { FailureError } from '../core/types.ts';
import { now } from './clock.ts';
import { HERE, isRunning } from './processes.ts';

export type Operation =
  'open' | 'append' | 'write' | 'sync' | 'rename' | 'truncate' | 'mkdir' | 'remove' | 'link' | 'touch';

/** Called before every write; what it throws is thrown in place of the write. */
type Fault = (operation: Operation, path: string, bytes?: Uint8Array) => void;

let fault: Fault = () => undefined;

/** For tests: asks `hook` before every write until the returned function is called. */
export function interceptWrites(hook: Fault): () => void {
  const before = fault;
  fault = hook;
  return () => (fault = before);
}

/** What the file system refused, as a failure that somebody can mend, and then go on as the words say; any other error as it is. */
export function attributed(error: unknown, goOn = 'resume the run'): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof FailureError || code === undefined || syscall === undefined) return error;
  const fix =
    code === 'ENOENT'
      ? `Put the file or folder back, then ${goOn}.`
      : `Free disk space or correct the folder’s rights, then ${goOn}.`;
  return new FailureError({ where: 'store', message: (error as Error).message, fix });
}

/** Where this process writes what is to become the file or folder: of no other process, so that nobody waits for anybody. */
export const besideName = (path: string, ending: 'new' | 'tmp'): string =>
  `${path}.${process.pid}-${HERE}.${ending}`;

const BESIDE = /\.(\d+)-([0-9a-f]{8})\.(?:new|tmp)$/;

/** Nothing is written for as long. */
const LONGEST_WRITE_MS = 24 * 3600_000;

/**
 * Removes what killed processes left beside the files of a folder; nothing happens where there is none. What a living process may be
 * writing stays, be it here or, as far as its age tells, on another machine that shares the folder; this process is writing nothing
 * there, for its own writes end before anything else is done.
 */
export function removeInterrupted(folder: string): void {
  if (!statOf(folder)) return;
  for (const name of fs.readdirSync(folder)) {
    const [, pid, where] = BESIDE.exec(name) ?? [];
    if (pid !== undefined && isLeft(join(folder, name), Number(pid), where)) remove(join(folder, name));
  }
}

function isLeft(path: string, pid: number, where: string | undefined): boolean {
  if (where === HERE) return pid === process.pid || !isRunning(pid);
  const changed = statOf(path)?.mtimeMs;
  return changed !== undefined && now() - changed > LONGEST_WRITE_MS;
}

/** A file that is only ever appended to. `length` is its length in bytes as far as its writes succeeded. */
export interface AppendFile {
  readonly path: string;
  readonly handle: number;
  length: number;
}

/** Opens or makes a file for appending; what lies behind `keep` bytes, where given, is cut off. */
export function openAppend(path: string, keep?: number): AppendFile {
  fault('open', path);
  const handle = fs.openSync(path, 'a');
  const { size } = fs.fstatSync(handle);
  const file = { path, handle, length: size };
  if (keep !== undefined && keep < size) truncate(file, keep);
  return file;
}

/** Appends all bytes or, where that fails, none: what was written of them is cut off again. */
export function append(file: AppendFile, bytes: Uint8Array): void {
  try {
    appendAmong(file, bytes);
  } catch (error) {
    fs.truncateSync(file.path, file.length);
    throw error;
  }
  file.length += bytes.length;
}

/** Appends to a file that others append to as well: where that fails a part may stay, for what is cut off could be theirs. */
export function appendAmong({ path, handle }: AppendFile, bytes: Uint8Array): void {
  fault('append', path, bytes);
  for (let done = 0; done < bytes.length;) done += fs.writeSync(handle, bytes, done);
}

export function truncate(file: AppendFile, length: number): void {
  fault('truncate', file.path);
  fs.truncateSync(file.path, length);
  file.length = length;
}

/** Waits until the file's bytes are on the medium. */
export function sync(file: AppendFile): void {
  fault('sync', file.path);
  fs.fsyncSync(file.handle);
}

export function close(file: AppendFile): void {
  fs.closeSync(file.handle);
}

/** Writes beside, syncs and renames: a reader sees the old file or the new one, never a part. */
export function writeAtomically(path: string, content: string | Uint8Array, mode = 0o644): void {
  const beside = besideName(path, 'tmp');
  try {
    fault('write', path);
    const handle = fs.openSync(beside, 'w', mode);
    try {
      fs.writeFileSync(handle, content);
      fs.fsyncSync(handle);
    } finally {
      fs.closeSync(handle);
    }
    rename(beside, path);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}

/** Copies a file's content; syncs nothing. */
export async function copy(from: string, to: string): Promise<void> {
  fault('write', to);
  await fs.promises.copyFile(from, to);
}

/** Makes the file with its whole content, or throws EEXIST where there is one already. */
export function writeNew(path: string, content: string, mode = 0o644): void {
  const beside = besideName(path, 'new');
  try {
    fault('link', path);
    fs.writeFileSync(beside, content, { mode });
    linkOrWrite(beside, path, content, mode);
  } finally {
    fs.rmSync(beside, { force: true });
  }
}

/** A link appears with its whole content; where the file system has none (exFAT, some network drives) a new file must do. */
function linkOrWrite(from: string, to: string, content: string, mode: number): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    const hasNoLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(
      (error as NodeJS.ErrnoException).code ?? '',
    );
    if (!hasNoLinks) throw error;
    fs.writeFileSync(to, content, { mode, flag: 'wx' });
  }
}

/** Renames and syncs the folder that the name is in. */
export function rename(from: string, to: string): void {
  fault('rename', to);
  fs.renameSync(from, to);
  syncPath(dirname(to));
}

export function makeFolder(path: string, mode = 0o755): void {
  fault('mkdir', path);
  fs.mkdirSync(path, { recursive: true, mode });
}

/** Makes a folder that must not be there yet; throws EEXIST where it is. */
export function makeNewFolder(path: string): void {
  fault('mkdir', path);
  fs.mkdirSync(path);
}

/** Throws where this user may not write into a folder: nobody shall wait for what then cannot be kept. */
export function mustBeWritable(folder: string): void {
  fault('write', folder);
  fs.accessSync(folder, fs.constants.W_OK);
}

/** Makes a folder with a random name that only this user may enter. */
export function makePrivateFolder(prefix: string): string {
  fault('mkdir', prefix);
  return fs.mkdtempSync(prefix);
}

/** Sets the time at which a file was changed last to now. */
export function touch(path: string): void {
  fault('touch', path);
  const time = now() / 1000;
  fs.utimesSync(path, time, time);
}

/** Removes a file or a folder with all that is in it; nothing happens where there is none. */
export function remove(path: string): void {
  fault('remove', path);
  fs.rmSync(path, { recursive: true, force: true });
}

/** Syncs every file of a folder and the folder itself. */
export async function syncFolder(folder: string): Promise<void> {
  fault('sync', folder);
  for (const entry of await fs.promises.readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const handle = await fs.promises.open(join(folder, entry.name), 'r+');
    await handle.sync().finally(() => handle.close());
  }
  syncPath(folder);
}

/** A file's or folder's facts; undefined where there is none. */
export const statOf = (path: string): Stats | undefined => fs.statSync(path, { throwIfNoEntry: false });

/** Syncs a folder's list of names. Windows has no such call, and some network drives refuse it. */
function syncPath(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(handle);
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    fs.closeSync(handle);
  }
}

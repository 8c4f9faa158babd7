/**
 * A copy of the worker's program outside the extension's folder, so that an update or a removal of the extension leaves a worker
 * that runs alone. Knows nothing of what the program does.
 */
import {
  constants,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { basename, join } from 'node:path';

/** What a worker opens while it runs; the extension's own bundle and its views are not among them. */
const PROGRAM = /^(?!extension\.cjs).*\.cjs$|^native$|^pyodide$/;
const ENTRY = 'branchpoint.cjs';
/** A copy that nothing was started from for so long is removed. */
const KEPT_DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Returns the path of the program's entry in its copy under `to`, which is made where this build has none yet. Files are linked where
 * the disk can, so that a copy costs nothing while its original is there.
 */
export async function ownProgram(dist: string, to: string): Promise<string> {
  const { size, mtimeMs } = await stat(join(dist, ENTRY));
  const copy = join(to, `${Math.round(mtimeMs).toString(36)}-${size.toString(36)}`);
  await mkdir(to, { recursive: true });
  if (!(await readdir(to)).includes(basename(copy))) await makeCopy(dist, to, copy);
  const now = new Date();
  await utimes(copy, now, now);
  await removeOld(to, now);
  return join(copy, ENTRY);
}

async function makeCopy(dist: string, to: string, copy: string): Promise<void> {
  const made = await mkdtemp(join(to, 'new-'));
  try {
    for (const name of await readdir(dist))
      if (PROGRAM.test(name)) await linkAll(join(dist, name), join(made, name));
    await rename(made, copy);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    // Another window may have been quicker.
    if (!(await readdir(to)).includes(basename(copy))) throw error;
  }
}

async function linkAll(from: string, to: string): Promise<void> {
  if ((await stat(from)).isDirectory()) {
    await mkdir(to);
    for (const name of await readdir(from)) await linkAll(join(from, name), join(to, name));
    return;
  }
  try {
    await link(from, to);
  } catch {
    // Other disks, and disks without links: a copy fails with a reason of its own where nothing can be written at all.
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

async function removeOld(to: string, now: Date): Promise<void> {
  const oldest = now.getTime() - KEPT_DAYS * DAY_MS;
  for (const name of await readdir(to)) {
    // Another window may be naming what it has just made.
    const found = await stat(join(to, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (found && found.mtimeMs < oldest) await rm(join(to, name), { recursive: true, force: true });
  }
}

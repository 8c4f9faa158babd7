/** Saves and finds checkpoints: written beside, synced, renamed, with hashes. Knows nothing of weights or optimisers. */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { join, relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { FailureError } from '../core/types.ts';
import { besideName, makeFolder, remove, rename, statOf, syncFolder, writeAtomically } from './disk.ts';
import { CHECKPOINT_FILES, FILES, checkpointName } from './layout.ts';
import type { Shape } from './shape.ts';
import { count, optional, record, table, text } from './shape.ts';

/** What resuming needs beside weights and optimiser state. */
export interface TrainerState {
  /** Last finished step. */
  step: number;
  seed: number;
  /** `seq` of the next fact when the checkpoint was begun: facts of later steps told after it are void once resumed. */
  journalSeq: number;
}

/** One checkpoint that can be resumed from. */
export interface Checkpoint {
  /** Absolute path. */
  folder: string;
  /** Name relative to the run folder, as the journal tells it. */
  name: string;
  state: TrainerState;
  /** Over all files, as saveCheckpoint said it. */
  hash: string;
  /** Newer ones that were passed over, and why. */
  skipped: string[];
}

interface FileFacts {
  bytes: number;
  sha256: string;
}
interface Sidecar {
  format: { major: number; minor: number };
  state: TrainerState;
  files: Record<string, FileFacts>;
  /** CRC-32 of state and files; absent in checkpoints written by others. */
  crc?: number;
}

const MAJOR = 1;
const sidecarShape: Shape<Sidecar> = record<Sidecar>({
  format: record<Sidecar['format']>({ major: count, minor: count }),
  state: record<TrainerState>({ step: count, seed: count, journalSeq: count }),
  files: table(record<FileFacts>({ bytes: count, sha256: text })),
  crc: optional(count),
});
const sumOf = (state: TrainerState, files: Sidecar['files']): number => crc32(JSON.stringify([state, files]));

/**
 * Lets `write` fill a new folder, then makes it the checkpoint of the step, replacing one of the same step. A reader sees
 * a whole checkpoint or none. `hash` is over all files; throws what `write` throws, leaving nothing behind.
 */
export async function saveCheckpoint(
  runFolder: string,
  step: number,
  write: (folder: string) => Promise<void>,
  state: TrainerState,
): Promise<{ folder: string; hash: string }> {
  const name = `${FILES.checkpoints}/${checkpointName(step)}`;
  const folder = join(runFolder, name);
  const beside = besideName(join(runFolder, FILES.checkpoints, `.${checkpointName(step)}`), 'tmp');
  remove(beside);
  makeFolder(beside);
  try {
    await write(beside);
    const files = await hashFolder(beside);
    const sidecar: Sidecar = { format: { major: MAJOR, minor: 0 }, state, files, crc: sumOf(state, files) };
    writeAtomically(join(beside, CHECKPOINT_FILES.state), `${JSON.stringify(sidecar, null, 2)}\n`);
    await syncFolder(beside);
    replace(beside, folder);
    return { folder: name, hash: hashOf(files) };
  } catch (error) {
    remove(beside);
    throw error;
  }
}

/**
 * The newest checkpoint that is whole and has its optimiser state, by the hashes of its files; undefined where there is
 * none at all. Broken ones are passed over and named; throws where there are only such, because going on from the start would void
 * all that was learned.
 */
export async function lastCheckpoint(runFolder: string): Promise<Checkpoint | undefined> {
  const skipped: string[] = [];
  for (const name of listCheckpoints(runFolder).reverse()) {
    const folder = join(runFolder, name);
    if (!statOf(join(folder, CHECKPOINT_FILES.optimizer))) {
      skipped.push(`${name} has no optimiser state.`);
      continue;
    }
    try {
      const { state, files } = await verifyCheckpoint(folder);
      return { folder, name, state, hash: hashOf(files), skipped };
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      skipped.push(`${name} is passed over: ${error.message}`);
    }
  }
  if (skipped.length === 0) return undefined;
  throw new FailureError({
    where: 'store',
    message: `${runFolder} has no checkpoint that can be gone on from: ${skipped.join(' ')}`,
    fix: 'Restore one of them from a copy, or start a new run.',
  });
}

/** Names of all checkpoints relative to the run folder, oldest step first; some may have weights only. */
export function listCheckpoints(runFolder: string): string[] {
  const folder = join(runFolder, FILES.checkpoints);
  if (!statOf(folder)) return [];
  return fs
    .readdirSync(folder)
    .filter(name => /^step-\d{6,}$/.test(name))
    .sort((a, b) => stepOf(a) - stepOf(b))
    .map(name => `${FILES.checkpoints}/${name}`);
}

/**
 * Drops the optimiser state of all but the newest `keep` checkpoints (0 keeps all), the weights of those too whose step `keepsWeights`
 * denies, and what interrupted saves left. Those of steps after `newest` are not counted and not touched: a run that had to pass
 * over them has gone on from an earlier one, and they must not take its place among the newest.
 */
export function pruneCheckpoints(
  runFolder: string,
  keep: number,
  keepsWeights: (step: number) => boolean = () => true,
  newest = Infinity,
): void {
  const folder = join(runFolder, FILES.checkpoints);
  if (!statOf(folder)) return;
  for (const name of fs.readdirSync(folder))
    if (/^\.step-.*\.(tmp|old)$/.test(name)) remove(join(folder, name));
  if (keep === 0) return;
  const counted = listCheckpoints(runFolder).filter(name => stepOf(name) <= newest);
  for (const name of counted.slice(0, -keep)) {
    const path = join(runFolder, name, CHECKPOINT_FILES.optimizer);
    // What has no optimiser state is not resumed from, so that one that is half removed does no harm.
    if (statOf(path)) remove(path);
    if (!keepsWeights(stepOf(name))) remove(join(runFolder, name));
  }
}

const stepOf = (name: string): number => Number(name.slice(name.lastIndexOf('-') + 1));

/** Between the two renames there is no checkpoint of this step; the one before it is still there. */
function replace(from: string, to: string): void {
  const old = join(to, '..', `.${checkpointName(stepOf(to))}.old`);
  remove(old);
  if (statOf(to)) rename(to, old);
  rename(from, to);
  remove(old);
}

/** The checkpoint's sidecar, after every file that it names was found as it was written; throws a FailureError where one was not. */
export async function verifyCheckpoint(folder: string, mayLack: readonly string[] = []): Promise<Sidecar> {
  const sidecar = readSidecar(folder);
  for (const [name, facts] of Object.entries(sidecar.files)) {
    const stat = statOf(join(folder, name));
    if (!stat && mayLack.includes(name)) continue;
    if (stat?.size !== facts.bytes)
      throw broken(`${name} has ${stat?.size ?? 'no'} bytes instead of ${facts.bytes}.`);
    if ((await hashFile(join(folder, name))) !== facts.sha256)
      throw broken(`${name} is not what was written (hash).`);
  }
  return sidecar;
}

const broken = (message: string): FailureError => new FailureError({ where: 'store', message });

/** What a checkpoint says of itself; its files are not looked at. Throws a FailureError where that is not what was written. */
function readSidecar(folder: string): Sidecar {
  let json: unknown;
  try {
    json = JSON.parse(fs.readFileSync(join(folder, CHECKPOINT_FILES.state), 'utf8'));
  } catch (error) {
    throw broken(`${CHECKPOINT_FILES.state} cannot be read (${(error as Error).message}).`);
  }
  const sidecar = sidecarShape(json, CHECKPOINT_FILES.state);
  if (sidecar.format.major > MAJOR) throw broken('it was written by a newer version of Branchpoint.');
  if (sidecar.crc !== undefined && sidecar.crc !== sumOf(sidecar.state, sidecar.files))
    throw broken(`${CHECKPOINT_FILES.state} is not what was written (checksum).`);
  return sidecar;
}

/** One hash over the files of a folder that hold weights, or of a file: the same for the same weights, in a checkpoint or not. */
export async function hashWeights(folder: string): Promise<string> {
  if (statOf(folder)?.isFile() === true) return hashFile(folder);
  // A checkpoint's sidecar tells the hashes; weights elsewhere are read.
  const files = statOf(join(folder, CHECKPOINT_FILES.state))
    ? readSidecar(folder).files
    : await hashFolder(folder);
  const isWeights = (name: string): boolean =>
    name.endsWith('.safetensors') && name !== CHECKPOINT_FILES.optimizer;
  return hashOf(Object.fromEntries(Object.entries(files).filter(([name]) => isWeights(name))));
}

/** Size and SHA-256 of every file in a folder, by name in order, without the sidecar itself. */
export async function hashFolder(folder: string): Promise<Record<string, FileFacts>> {
  const files: Record<string, FileFacts> = {};
  const entries = fs.readdirSync(folder, { withFileTypes: true, recursive: true });
  const names = entries.flatMap(entry =>
    entry.isFile() ? [relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')] : [],
  );
  for (const name of names.sort())
    if (name !== CHECKPOINT_FILES.state)
      files[name] = {
        bytes: fs.statSync(join(folder, name)).size,
        sha256: await hashFile(join(folder, name)),
      };
  return files;
}

/** One hash over the names and hashes of a folder's files. */
export const hashOf = (files: Record<string, FileFacts>): string => {
  const hash = createHash('sha256');
  for (const name of Object.keys(files).sort()) hash.update(`${name}\0${files[name]!.sha256}\n`);
  return hash.digest('hex');
};

/** SHA-256 of a file, read in pieces. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of fs.createReadStream(path, { highWaterMark: 1 << 20 }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Rollouts of another program as a run that can be read and followed. Writes nothing; knows no program's format. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Event, Fact } from '../../core/events.ts';
import { FORMAT } from '../../core/events.ts';
import type { TokenColumns } from '../../core/types.ts';
import { FailureError } from '../../core/types.ts';
import { statOf } from '../disk.ts';
import { readSpan } from '../lines.ts';
import type { TreeEntry } from '../offsets.ts';
import type { EventBatch, Run } from '../run.ts';
import type { TreeLine } from '../treeShape.ts';
import { watchFolder } from '../watch.ts';
import { isCompressed } from './compressed.ts';
import { factsOfFile, type Group, groupsOf, summaryOf } from './facts.ts';
import type { Format, StepFile } from './format.ts';
import { PRIME_RL } from './primeRl.ts';
import { type Sample, treeOf } from './sample.ts';
import { bytesOf, type IndexedFile, indexFile, samplesIn } from './stepFile.ts';
import { VERL } from './verl.ts';

const FORMATS: readonly Format[] = [VERL, PRIME_RL];

/** A file that was not written for so long is whole. */
const SETTLED_MS = 2000;
/** A folder that got nothing new for so long is taken for done: nothing says how long a step takes there. */
const FRESH_MS = 600_000;
/** Least time between two looks, and what share of the time looking may take at most. */
const LOOK_MS = 1000;
const LOOK_SHARE = 0.05;
/** Events of a batch. */
const BATCH = 5000;
const HEAD = 1 << 16;

interface Found {
  format: Format;
  files: StepFile[];
}

/** Undefined where the folder's files are of no format that is known here. */
function formatOf(folder: string): Found | undefined {
  for (const format of FORMATS) {
    let head = '';
    const files = filesIn(format, folder);
    // A long run has thousands of files: no more of them are opened than are empty.
    const begun = files.find(({ path }) => (head = headOf(path)) !== '');
    if (begun && format.begins(head)) return { format, files };
  }
  return undefined;
}

/** What of a foreign folder cannot be read, or was just deleted, is not of a run that is known here. */
function orNothing<T>(read: () => T, nothing: T): T {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM'].includes(code ?? '')) return nothing;
    throw error;
  }
}

/** Of two files of one step, as 1.jsonl and 01.jsonl are, only the first counts. */
const filesIn = (format: Format, folder: string): StepFile[] =>
  orNothing(() => format.filesIn(folder), []).filter(({ step }, i, files) => step !== files[i - 1]?.step);

/** Of a compressed file its name must do: only those of a known format end so. */
const headOf = (path: string): string =>
  orNothing(
    () => (isCompressed(path) && statSync(path).size > 0 ? '{' : readSpan(path, 0, HEAD).toString('utf8')),
    '',
  );

/** The index of a folder: of each file what its former look found. */
interface Index {
  format: Format;
  files: IndexedFile[];
  lookedAt: number;
  looking?: Promise<void>;
}

/** Indexes by folder, the last used last: opening a run again reads only what is new. */
const known = new Map<string, Index>();
const KEPT = 8;

function indexOf(folder: string, format: Format): Index {
  const index = known.get(folder) ?? { format, files: [], lookedAt: -Infinity };
  known.delete(folder);
  known.set(folder, index);
  for (const oldest of known.keys()) if (known.size > KEPT) known.delete(oldest);
  return index;
}

/** Looks at all files again; one that runs already serves all who ask meanwhile. */
function look(folder: string, index: Index): Promise<void> {
  index.looking ??= lookAtAll(folder, index).finally(() => delete index.looking);
  return index.looking;
}

async function lookAtAll(folder: string, index: Index): Promise<void> {
  const former = new Map(index.files.map(file => [file.path, file]));
  const files: IndexedFile[] = [];
  for (const file of filesIn(index.format, folder))
    try {
      files.push(await indexFile(index.format, file, former.get(file.path)));
    } catch (error) {
      // A resumed run deletes what comes after its checkpoint, also while it is looked at.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  index.files = files;
  refuseUnread(files);
  index.lookedAt = performance.now();
}

/** A file that cannot be decompressed is told of beside the others; where there is nothing else, it is all that can be said. */
function refuseUnread(files: readonly IndexedFile[]): void {
  const damaged = files.find(({ path, damage }) => isCompressed(path) && damage.length > 0);
  if (damaged && files.every(({ rows }) => rows.length === 0)) throw new FailureError(damaged.damage[0]!);
}

/** Files that nobody writes to any more: all but the newest, and that one once it has been quiet. */
const settled = (files: readonly IndexedFile[]): IndexedFile[] =>
  files.filter((file, i) => i < files.length - 1 || Date.now() - file.mtimeMs >= SETTLED_MS);

/** The folder as a run; undefined where it holds no rollouts of a program that is known here. */
export function importOf(folder: string): Run | undefined {
  const found = formatOf(folder);
  if (found === undefined) return undefined;
  const { source } = found.format;
  const index = indexOf(folder, found.format);
  const fresh = async (): Promise<Index> => {
    if (performance.now() - index.lookedAt > LOOK_MS / 4) await look(folder, index);
    return index;
  };
  const groups = async (): Promise<(Group & { file: IndexedFile })[]> =>
    settled((await fresh()).files).flatMap(file => groupsOf(file).map(group => ({ ...group, file })));
  const tree = async (id: string): Promise<TreeLine> => {
    const group = (await groups()).find(({ entry }) => entry.id === id);
    if (group === undefined) throw broken(`${folder} has no tree ${id}.`);
    return readGroup(found.format, group);
  };
  return {
    folder,
    source,
    get manifest(): never {
      throw broken(
        `${folder} was imported from ${source}: it has no configuration, and nothing can be run or written there.`,
        'Choose a run of Branchpoint’s own.',
      );
    },
    events: async () => eventsOf(basename(folder), source, settled((await fresh()).files)),
    follow: (from, signal) => follow(folder, index, { from, signal }),
    trees: async (): Promise<TreeEntry[]> => (await groups()).map(({ entry }) => entry),
    tree,
    columns: async id => noColumns((await tree(id)).tokens.count),
    pieces: () => Promise.resolve(undefined),
  };
}

const broken = (message: string, fix?: string): FailureError =>
  new FailureError({ where: 'store', message, ...(fix !== undefined && { fix }) });

/** Reads the group's rows, and nothing else of the file. */
async function readGroup(
  { source, ...format }: Format,
  { entry, rows, file }: Group & { file: IndexedFile },
): Promise<TreeLine> {
  const samples: Sample[] = [];
  for (const row of rows) {
    const text = (await bytesOf(file.path, row)).toString('utf8');
    const sample = sampleIn({ source, ...format }, text, row.nth);
    if (!sample) throw broken(`${file.path} was changed while it was read.`, 'Open the tree again.');
    samples.push(sample);
  }
  return treeOf({ id: entry.id, step: entry.step, source }, samples);
}

/** What is wrong with the bytes says less than that they are others than before. */
function sampleIn(format: Format, text: string, nth: number): Sample | undefined {
  try {
    return samplesIn(format, text)[nth];
  } catch {
    return undefined;
  }
}

/** What was not logged is not a number, as in columns of our own. */
function noColumns(count: number): TokenColumns {
  const none = (): Float32Array => new Float32Array(count).fill(NaN);
  return {
    ids: new Int32Array(count),
    samplerLogProbs: none(),
    trainerLogProbs: none(),
    entropies: none(),
  };
}

/** Facts of the files, which are kept with them. */
const factsByFile = new WeakMap<IndexedFile, Fact[]>();

function factsAt(file: IndexedFile): Fact[] {
  const facts = factsByFile.get(file) ?? factsOfFile(file);
  factsByFile.set(file, facts);
  return facts;
}

/** All events, numbered: a start, then each file's. They happened when their file was written. */
function eventsOf(run: string, source: string, files: readonly IndexedFile[]): Event[] {
  const [first] = files;
  if (!first) return [];
  const started: Fact = { type: 'run-started', format: FORMAT, run, source, steps: 0, tools: {} };
  const at = (file: IndexedFile): string => new Date(file.mtimeMs).toISOString();
  return [
    { ...started, seq: 0, at: at(first), step: 0 },
    ...files
      .flatMap(file => factsAt(file).map(fact => ({ fact, at: at(file), step: file.step })))
      .map(({ fact, ...when }, i): Event => ({ ...fact, ...when, seq: i + 1 })),
  ];
}

/** Batches by number of event. Where a file that was told of is another, all begins anew, as with a journal that was replaced. */
async function* follow(
  folder: string,
  index: Index,
  { from, signal }: { from: number; signal: AbortSignal },
): AsyncGenerator<EventBatch> {
  let took = 0;
  const changes = watchFolder(folder, () => Math.max(LOOK_MS, took / LOOK_SHARE));
  let told: string[] = [];
  let next = from;
  try {
    while (!signal.aborted) {
      changes.arm();
      const began = performance.now();
      await look(folder, index);
      took = performance.now() - began;
      const files = settled(index.files);
      const stamps = files.map(({ path, stamp }) => `${path} ${stamp}`);
      if (told.some((stamp, i) => stamps[i] !== stamp)) {
        next = 0;
        yield { events: [], from: 0, next: 0 };
      }
      const isNew = told.length !== stamps.length || next === 0;
      told = stamps;
      const events = isNew ? eventsOf(basename(folder), index.format.source, files) : [];
      while (next < events.length) {
        const batch = events.slice(next, next + BATCH);
        yield { events: batch, from: next, next: next + batch.length };
        next += batch.length;
        if (signal.aborted) return;
      }
      await changes.wait(signal);
    }
  } finally {
    changes.close();
  }
}

/** What a glance at such a folder shows: only the newest file is read. */
export interface ImportGlance {
  source: string;
  isLive: boolean;
  /** ISO 8601: when the first file was written. */
  created: string;
  step: number;
  reward?: number;
}

export async function glanceAtImport(folder: string): Promise<ImportGlance | undefined> {
  const found = formatOf(folder);
  const [first] = found?.files ?? [];
  const last = found?.files.at(-1);
  if (found === undefined || first === undefined || last === undefined) return undefined;
  const index = indexOf(folder, found.format);
  const former = index.files.find(({ path }) => path === last.path);
  const file = await indexFile(found.format, last, former);
  if (former) index.files = index.files.map(one => (one === former ? file : one));
  else if (index.files.length === 0) index.files = [file];
  refuseUnread([file]);
  const isJudged = file.rows.some(({ reward }) => reward !== undefined);
  return {
    source: found.format.source,
    isLive: isFresh(file),
    created: new Date(statSync(first.path).mtimeMs).toISOString(),
    step: last.step,
    ...(isJudged && { reward: summaryOf(groupsOf(file)).reward.mean }),
  };
}

const isFresh = ({ mtimeMs }: { mtimeMs: number }): boolean => Date.now() - mtimeMs < FRESH_MS;

/** What changes with the newest file, how many there are, and what time makes of them; undefined where it is no such folder. */
export function stampOfImport(folder: string): string | undefined {
  const found = formatOf(folder);
  const last = found?.files.at(-1);
  if (found === undefined || last === undefined) return undefined;
  const { size = 0, mtimeMs = 0 } = statOf(last.path) ?? {};
  const isSettled = Date.now() - mtimeMs >= SETTLED_MS;
  return [
    found.format.source,
    found.files.length,
    last.path,
    size,
    mtimeMs,
    isSettled,
    isFresh({ mtimeMs }),
  ].join(' ');
}

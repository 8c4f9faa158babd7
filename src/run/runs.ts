/** What a glance at a run folder shows. Reads ends of journals, never whole ones. */
import { open, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Event, EventOf } from '../core/events.ts';
import { FailureError } from '../core/types.ts';
import { attributed, statOf } from './disk.ts';
import { eventOf } from './eventShape.ts';
import { glanceAtImport, stampOfImport } from './imports/imported.ts';
import { readLabel, type Label } from './label.ts';
import { FILES } from './layout.ts';
import type { Line } from './lines.ts';
import { split } from './lines.ts';
import { liveLock } from './lock.ts';
import { manifestHead } from './manifest.ts';
import { parseLine } from './shape.ts';

/** `live`: its worker runs; `interrupted`: it ended without saying so; the others as it said; `unreadable`: see `problem`. */
export type RunStatus = 'live' | 'finished' | 'stopped' | 'failed' | 'interrupted' | 'unreadable';

export interface RunSummary {
  folder: string;
  name: string;
  /** What the user calls it, and sorts it by. */
  label?: string;
  tags: readonly string[];
  /** Name of its configuration; '' where it cannot be read. */
  config: string;
  /** Whose program wrote it (`verl`), where it was not ours. */
  source?: string;
  status: RunStatus;
  /** Only where the run is live: whether it waits. */
  isPaused: boolean;
  created: string;
  /** Last finished step, 0 before; and all steps of its config. */
  step: number;
  steps: number;
  /** Mean reward and entropy (nats) of that step. */
  reward?: number;
  entropy?: number;
  /** Mean rewards of the last steps, ascending; only where the run is followed. */
  recent?: readonly number[];
  /** Tool calls that its step waits for; only where the run is followed, and in a step. */
  waiting?: number;
  /** Why the run failed or cannot be read. */
  problem?: string;
}

/** Journal bytes that are looked at for the last step; more only where they hold none. */
const TAIL = 1 << 14;
const LONGEST_TAIL = 1 << 24;

/** What a glance at a run folder showed, and what of it must be the same for that to hold still. */
export interface Glance {
  stamp: string;
  summary: RunSummary;
}

/** Reads no content where nothing changed since the former glance. Undefined where the folder is no run's. */
export async function glanceAt(folder: string, former?: Glance): Promise<Glance | undefined> {
  const stamp = await stampOf(folder);
  if (stamp === undefined) return undefined;
  if (former?.stamp === stamp) return former;
  try {
    return { stamp, summary: await summarizeRun(folder) };
  } catch (error) {
    // A folder that is deleted while it is looked at is no run's any more.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Folders that are looked at together: a disk far away answers each of them late. */
const TOGETHER = 16;

/** Looks at folders in their order; `told` is called for each as soon as it is known, with undefined where it is no run's. */
export async function glanceAtAll(
  folders: readonly string[],
  former: ReadonlyMap<string, Glance>,
  told: (folder: string, glance: Glance | undefined) => void,
): Promise<void> {
  for (let i = 0; i < folders.length; i += TOGETHER)
    await Promise.all(
      folders
        .slice(i, i + TOGETHER)
        .map(async folder => told(folder, await glanceAt(folder, former.get(folder)))),
    );
}

/** Whether a changed file is the lock of a run that is known to live: its owner touches it, which is no news. */
export const isSignOfLife = (path: string, isKnown: (runFolder: string) => boolean): boolean =>
  basename(path) === FILES.lock && isKnown(dirname(path));

/** What changes with a run folder's journal, lock and label, or with the newest of imported rollouts; undefined where it is neither. */
const stampOf = (folder: string): Promise<string | undefined> =>
  stampOfFiles(folder, [FILES.events, FILES.lock, FILES.label]);

/** The same of its facts alone: what a run is called, or who owns it, is none of them. */
export const stampOfFacts = (folder: string): Promise<string | undefined> =>
  stampOfFiles(folder, [FILES.events]);

async function stampOfFiles(folder: string, names: readonly string[]): Promise<string | undefined> {
  const [manifest, ...others] = await Promise.all(
    [FILES.manifest, ...names].map(name => stampOfFile(join(folder, name))),
  );
  return manifest === '' ? stampOfImport(folder) : [manifest, ...others].join(' ');
}

async function stampOfFile(path: string): Promise<string> {
  try {
    const { size, mtimeMs } = await stat(path);
    return `${size}@${mtimeMs}`;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // A folder that may not be looked into is no run that is known here.
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(code)) return '';
    throw error;
  }
}

/** What a glance at one run folder shows; a folder that cannot be read is `unreadable` and says why. */
export async function summarizeRun(folder: string): Promise<RunSummary> {
  const name = basename(folder);
  let called: Label = { tags: [] };
  try {
    const imported = await summarizeImport(folder);
    if (imported) return { folder, name, ...imported };
    called = await readLabel(folder);
    return { folder, name, ...called, ...(await summarize(folder)) };
  } catch (error) {
    // One that is gone is no run; one that the system does not let be read says so in the list.
    const known = (error as NodeJS.ErrnoException).code === 'ENOENT' ? error : attributed(error);
    if (!(known instanceof FailureError)) throw error;
    const nothing = { config: '', isPaused: false, created: '', step: 0, steps: 0 };
    return { folder, name, ...called, status: 'unreadable', ...nothing, problem: known.message };
  }
}

/** Undefined where the folder is a run of our own. Nothing says how many steps another program is to do. */
async function summarizeImport(folder: string): Promise<Omit<RunSummary, 'folder' | 'name'> | undefined> {
  if (statOf(join(folder, FILES.manifest))) return undefined;
  const glance = await glanceAtImport(folder);
  if (glance === undefined) return undefined;
  const { isLive, ...seen } = glance;
  return { tags: [], config: '', status: isLive ? 'live' : 'finished', isPaused: false, steps: 0, ...seen };
}

async function summarize(folder: string): Promise<Omit<RunSummary, 'folder' | 'name' | 'tags'>> {
  const path = join(folder, FILES.manifest);
  const [written, { ended, finished, change }] = await Promise.all([
    readFile(path, 'utf8'),
    lastFacts(join(folder, FILES.events)),
  ]);
  const { config, created } = manifestHead(written, path);
  const isLive = liveLock(folder) !== undefined;
  return {
    config: config.name,
    status: isLive ? 'live' : (ended?.outcome ?? 'interrupted'),
    isPaused: isLive && change?.type === 'paused',
    created,
    step: finished?.step ?? 0,
    steps: config.steps,
    ...(finished && {
      reward: finished.summary.reward.mean,
      entropy: finished.summary.entropy.all,
    }),
    ...(!isLive && ended?.failure && { problem: ended.failure.message }),
  };
}

/** The last of each kind that still holds. */
interface LastFacts {
  ended?: EventOf<'run-ended'>;
  finished?: EventOf<'step-finished'>;
  change?: EventOf<'paused' | 'resumed'>;
}

/** Reads the journal from its end, at least back to the last finished step where there is one in reach. */
async function lastFacts(path: string): Promise<LastFacts> {
  for (let tail = TAIL; ; tail *= 16) {
    const { lines, isWhole } = await readTail(path, tail);
    const facts = lastOf(lines, path);
    if (facts.finished || isWhole || tail >= LONGEST_TAIL) return facts;
  }
}

/** The whole lines in the last bytes of a file; none where there is no file. */
async function readTail(path: string, size: number): Promise<{ lines: Line[]; isWhole: boolean }> {
  let handle;
  try {
    handle = await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { lines: [], isWhole: true };
    throw error;
  }
  try {
    const total = (await handle.stat()).size;
    const start = Math.max(0, total - size);
    const { buffer, bytesRead } = await handle.read(
      Buffer.allocUnsafe(total - start),
      0,
      total - start,
      start,
    );
    // What a window inside the file begins with may be the end of a longer line.
    return {
      lines: split(buffer.subarray(0, bytesRead), start).slice(start > 0 ? 1 : 0),
      isWhole: start === 0,
    };
  } finally {
    await handle.close();
  }
}

/** Most lines of a journal tell of segments: they are passed without being parsed. */
const TELLING = /"type":"(?:step-finished|run-ended|paused|resumed)"/;

/** As core/fold says it, walking back: after `resumed` only what is not later than its step holds, and no end does. */
function lastOf(lines: readonly Line[], path: string): LastFacts {
  const facts: LastFacts = {};
  let latest = Infinity;
  for (const line of lines.toReversed()) {
    if (!TELLING.test(line.text)) continue;
    const event = parsed(line, path);
    if (event === undefined || event.step > latest) continue;
    if (event.type === 'step-finished') return { ...facts, finished: event };
    if (event.type === 'run-ended' && latest === Infinity) facts.ended ??= event;
    if (event.type === 'resumed') latest = event.step;
    if (event.type === 'paused' || event.type === 'resumed') facts.change ??= event;
  }
  return facts;
}

function parsed(line: Line, path: string): Event | undefined {
  return eventOf(parseLine(line, path), `${path}, byte ${line.offset}: event`).event;
}

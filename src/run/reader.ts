/** Opens a run folder for reading, live or long ended. Knows nothing of who writes it and changes nothing. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { isCounterfactual } from '../core/counterfactual.ts';
import type { Event } from '../core/events.ts';
import type { Pieces } from '../core/pieces.ts';
import { decodePieces } from '../core/pieces.ts';
import { FailureError } from '../core/types.ts';
import { readCounterfactual } from './counterfactuals.ts';
import { statOf } from './disk.ts';
import { FILES } from './layout.ts';
import { importOf } from './imports/imported.ts';
import { readManifest } from './manifest.ts';
import type { Looking, TreeEntry } from './offsets.ts';
import { readOffsets, scan } from './offsets.ts';
import { readEvents } from './readEvents.ts';
import type { Asked, EventBatch, Run } from './run.ts';
import type { TreeLine } from './treeShape.ts';
import { readColumns, readTree } from './trees.ts';
import { watchFolder } from './watch.ts';

export type { EventBatch, Run } from './run.ts';

/** How often is looked where nothing tells of changes. */
const POLL_MS = 250;

/**
 * A run of our own, or rollouts of another program in the shape of one (see run/imports). Throws a FailureError where the folder is
 * neither or a newer version wrote it.
 */
export function openRun(folder: string): Run {
  if (!statOf(join(folder, FILES.manifest))) {
    const imported = importOf(folder);
    if (imported) return imported;
  }
  const manifest = readManifest(folder);
  let entries: TreeEntry[] = [];
  const trees = async ({ told, signal }: Looking = {}): Promise<TreeEntry[]> => {
    entries = await readOffsets(folder, entries, {
      ...(signal && { signal }),
      ...(told && { told: (bytes, found) => told(bytes, () => stillHolding(found())) }),
    });
    return stillHolding(entries);
  };
  const tree = async (id: string): Promise<TreeLine> => {
    if (isCounterfactual(id)) return readCounterfactual(folder, id).tree;
    const found = treeAt(folder, await trees(), id);
    if (found) return found;
    // An index is a cache: one that misleads is not believed a second time.
    entries = await scan(join(folder, FILES.trees));
    const scanned = treeAt(folder, stillHolding(entries), id);
    if (scanned) return scanned;
    const { keepTrees } = manifest.config.record;
    throw new FailureError({
      where: 'store',
      message: `${folder} has no tree ${id}.`,
      ...(keepTrees > 1 && { fix: `It keeps the trees of every ${keepTrees}. step (record.keepTrees).` }),
    });
  };
  return {
    folder,
    manifest,
    events: async (asked = {}) => {
      const events: Event[] = [];
      for await (const batch of readEvents(folder, { from: 0, seq: undefined, ...asked }))
        for (const event of batch.events) events.push(event);
      return events;
    },
    follow: (from, signal, asked = {}) => follow(folder, { from, signal, ...asked }),
    trees,
    tree,
    columns: async id =>
      isCounterfactual(id)
        ? readCounterfactual(folder, id).columns
        : readColumns(folder, (await tree(id)).tokens),
    pieces: () => readPieces(folder),
  };
}

/** The tree where the entries say it is; undefined where it is not there. */
function treeAt(folder: string, entries: readonly TreeEntry[], id: string): TreeLine | undefined {
  const entry = entries.find(candidate => candidate.id === id);
  if (!entry) return undefined;
  try {
    const tree = readTree(folder, entry);
    return tree.id === id ? tree : undefined;
  } catch (error) {
    if (error instanceof FailureError) return undefined;
    throw error;
  }
}

async function readPieces(folder: string): Promise<Pieces | undefined> {
  const path = join(folder, FILES.pieces);
  if (!statOf(path)) return undefined;
  try {
    return decodePieces(await fs.promises.readFile(path));
  } catch (error) {
    throw new FailureError({ where: 'store', message: `${path}: ${(error as Error).message}` });
  }
}

async function* follow(
  folder: string,
  { from, signal, ...asked }: { from: number; signal: AbortSignal } & Asked,
): AsyncGenerator<EventBatch> {
  const path = join(folder, FILES.events);
  const changes = watchFolder(folder, () => POLL_MS);
  let next = from;
  let seq: number | undefined;
  try {
    while (!signal.aborted) {
      changes.arm();
      const size = statOf(path)?.size ?? 0;
      if (size < next) {
        // Only a journal that was replaced is shorter: a torn line is cut where nobody has read yet.
        next = 0;
        seq = 0;
        yield { events: [], from: 0, next: 0 };
      }
      for await (const batch of size > next ? readEvents(folder, { from: next, seq, ...asked }) : []) {
        ({ next, seq } = batch);
        yield { events: batch.events, from: batch.from, next };
        if (signal.aborted) return;
      }
      await changes.wait(signal);
    }
  } finally {
    changes.close();
  }
}

/**
 * The entries that hold, ascending by step and by tree within one, which is the order in which a worker writes them. Where they go
 * back, the run went on from an earlier step: what was written of that step and later ones is void, as it is in the journal.
 */
function stillHolding(entries: readonly TreeEntry[]): TreeEntry[] {
  const index = ({ id }: TreeEntry): number => Number(id.slice(id.indexOf('.') + 1));
  const holding: TreeEntry[] = [];
  for (const entry of entries) {
    const last = holding.at(-1);
    const goesBack =
      last !== undefined &&
      (entry.step < last.step || (entry.step === last.step && index(entry) <= index(last)));
    while (goesBack && holding.length > 0 && holding.at(-1)!.step >= entry.step) holding.pop();
    holding.push(entry);
  }
  return holding;
}

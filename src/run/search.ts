/** Looks for trajectories through a whole trees.jsonl, a piece of the file at a time. Knows nothing of what is looked for. */
import { join } from 'node:path';
import type { TrajectoryMatch, TrajectoryQuery } from '../core/trajectorySearch.ts';
import { isEmpty, matchesIn, mayHold } from '../core/trajectorySearch.ts';
import { FILES } from './layout.ts';
import type { Line } from './lines.ts';
import { wholeLines } from './lines.ts';
import type { TreeEntry } from './offsets.ts';
import { treeOfLine } from './offsets.ts';
import { watchSeals } from './seals.ts';
import { readTree } from './trees.ts';

/** So many trees are read one by one rather than with all that lies between them. */
const FEW = 64;

/** A tree with a trajectory that was looked for. */
export interface FoundTree {
  entry: TreeEntry;
  /** Empty where only the prompt was asked for: then all are meant. */
  matches: TrajectoryMatch[];
}

/** What was found since the last, and how far the file is looked through. */
export interface FoundBatch {
  found: FoundTree[];
  bytes: number;
}

/**
 * In the file's order, among the entries that are given. Ends quietly after the signal. Throws a FailureError with file and
 * byte where a line is not a tree.
 */
export async function* searchTrees(
  runFolder: string,
  entries: readonly TreeEntry[],
  query: TrajectoryQuery,
  signal: AbortSignal,
): AsyncGenerator<FoundBatch> {
  const { prompt = '', ...rest } = query;
  const candidates = prompt === '' ? entries : entries.filter(({ question }) => question === prompt);
  const end = entries.reduce((most, { offset, length }) => Math.max(most, offset + length), 0);
  if (isEmpty(rest)) yield { found: candidates.map(entry => ({ entry, matches: [] })), bytes: end };
  else if (prompt !== '' || candidates.length <= FEW) yield* inSome(runFolder, candidates, rest, signal);
  else yield* inAll(runFolder, candidates, rest, signal);
}

/** A few trees, each read where it lies. */
async function* inSome(
  runFolder: string,
  entries: readonly TreeEntry[],
  query: TrajectoryQuery,
  signal: AbortSignal,
): AsyncGenerator<FoundBatch> {
  for (const entry of entries) {
    // Others may run between two trees: reading one is quick, but waits.
    await new Promise(resolve => setImmediate(resolve));
    if (signal.aborted) return;
    const matches = matchesIn(readTree(runFolder, entry), query);
    yield { found: matches.length > 0 ? [{ entry, matches }] : [], bytes: entry.offset + entry.length };
  }
}

async function* inAll(
  runFolder: string,
  entries: readonly TreeEntry[],
  query: TrajectoryQuery,
  signal: AbortSignal,
): AsyncGenerator<FoundBatch> {
  const path = join(runFolder, FILES.trees);
  const byOffset = new Map(entries.map(entry => [entry.offset, entry]));
  const may = mayHold(query.text ?? '');
  const expectSeal = watchSeals(path);
  const look = (line: Line): FoundTree[] => {
    expectSeal(line);
    // A line that no entry names was voided by a resumption.
    const entry = byOffset.get(line.offset);
    if (entry === undefined || !may(line.text)) return [];
    const matches = matchesIn(treeOfLine(line, path), query);
    return matches.length > 0 ? [{ entry, matches }] : [];
  };
  for await (const { lines, next } of wholeLines(path, 0)) {
    if (signal.aborted) return;
    yield { found: lines.flatMap(look), bytes: next };
  }
}

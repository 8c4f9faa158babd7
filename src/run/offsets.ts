/** Where every tree lies in trees.jsonl, and what a list of trees shows. A cache of that file; knows nothing of tokens. */
import { join } from 'node:path';
import type { DecisionOutcome, Tree } from '../core/types.ts';
import { statOf } from './disk.ts';
import { FILES } from './layout.ts';
import type { Line } from './lines.ts';
import { endOf, wholeLines } from './lines.ts';
import { watchSeals } from './seals.ts';
import type { Shape } from './shape.ts';
import { count, number, optional, parseLine, record, text, unsealed } from './shape.ts';
import { treeLine } from './treeShape.ts';

/** One tree of the list. */
export interface TreeEntry {
  id: string;
  step: number;
  /** Bytes of its line in trees.jsonl, without the line feed. */
  offset: number;
  length: number;
  /** The task's question, cut where it is long. */
  question: string;
  /** Mean over the paths that were judged; absent where none was. */
  reward?: number;
  paths: number;
  /** Branching questions answered with a child, and refused by the gate; absent in imported runs, which tell of none. */
  branches?: number;
  refused?: number;
}

const QUESTION_LENGTH = 300;

const entryShape: Shape<TreeEntry> = record<TreeEntry>({
  id: text,
  step: count,
  offset: count,
  length: count,
  question: text,
  reward: optional(number),
  paths: count,
  branches: optional(count),
  refused: optional(count),
});

export function entryOf(tree: Tree, offset: number, length: number): TreeEntry {
  const rewards = tree.paths.flatMap(({ reward }) => (reward ? [reward.total] : []));
  const answered = (wanted: DecisionOutcome): number =>
    tree.decisions.filter(({ outcome }) => outcome === wanted).length;
  return {
    id: tree.id,
    step: tree.step,
    offset,
    length,
    question: tree.task.question.slice(0, QUESTION_LENGTH),
    ...(rewards.length > 0 && { reward: rewards.reduce((sum, r) => sum + r, 0) / rewards.length }),
    paths: tree.paths.length,
    branches: answered('branch'),
    refused: answered('refuse'),
  };
}

/** What a long look through trees.jsonl tells while it goes on, and what ends it. */
export interface Looking {
  /** Bytes of the file that were passed, and the entries so far. */
  told?(bytes: number, entries: () => TreeEntry[]): void;
  /** Once it is given the look rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * Entries of all whole lines of trees.jsonl, in order; those of `known` (a former answer) are not read again. The index
 * file is used as far as it fits the trees file, and the rest is scanned. Throws a FailureError with file and byte where
 * a line is not a tree.
 */
export async function readOffsets(
  runFolder: string,
  known: readonly TreeEntry[] = [],
  looking: Looking = {},
): Promise<TreeEntry[]> {
  const path = join(runFolder, FILES.trees);
  const size = statOf(path)?.size ?? 0;
  const entries = known.length > 0 ? [...known] : await readIndex(runFolder, size);
  if (nextByte(entries) > size) return readOffsets(runFolder, [], looking);
  if (nextByte(entries) === size) return entries;
  const { told, signal } = looking;
  const further = await scan(path, nextByte(entries), {
    ...(signal && { signal }),
    ...(told && { told: (bytes, found) => told(bytes, () => [...entries, ...found()]) }),
  });
  return [...entries, ...further];
}

/** Entries by a scan of trees.jsonl alone. */
export async function scan(path: string, from = 0, { told, signal }: Looking = {}): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  const expectSeal = watchSeals(path, from);
  for await (const { lines, next } of wholeLines(path, from)) {
    signal?.throwIfAborted();
    for (const line of lines) {
      expectSeal(line);
      entries.push(entryOf(treeOfLine(line, path), line.offset, line.length));
    }
    told?.(next, () => entries);
  }
  return entries;
}

/** A line of trees.jsonl as a tree; the error names file and byte. */
export const treeOfLine = (line: Line, path: string) =>
  treeLine(parseLine(line, path), `${path}, byte ${line.offset}: tree`);

const nextByte = (entries: readonly TreeEntry[]): number =>
  entries.length === 0 ? 0 : endOf(asLine(entries.at(-1)!));
const asLine = ({ offset, length }: TreeEntry): Line => ({ text: '', offset, length });

/** The index as far as its entries follow each other and lie inside the trees file; what comes after is not believed. */
async function readIndex(runFolder: string, size: number): Promise<TreeEntry[]> {
  const path = join(runFolder, FILES.treeIndex);
  const entries: TreeEntry[] = [];
  if (!statOf(path)) return entries;
  for await (const { lines } of wholeLines(path, 0))
    for (const line of lines) {
      const entry = believed(line);
      if (!entry || entry.offset !== nextByte(entries) || entry.offset + entry.length >= size) return entries;
      entries.push(entry);
    }
  return entries;
}

/** An entry that cannot be read is no error: the index is a cache, and what it lacks is scanned. */
function believed(line: Line): TreeEntry | undefined {
  try {
    const json = unsealed(line.text);
    // One without a checksum may say anything.
    return json === undefined || json === line.text ? undefined : entryShape(JSON.parse(json), 'entry');
  } catch {
    return undefined;
  }
}

/** The index of one foreign file: where its rollouts lie and what they came to. Reads the file once, and then what was added. Knows no program. */
import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Failure } from '../../core/types.ts';
import { FailureError } from '../../core/types.ts';
import { endOf, type Line, readSpan, split, wholeLines } from '../lines.ts';
import { inflated, isCompressed } from './compressed.ts';
import { type Format, isRecord, type StepFile } from './format.ts';
import { factsOf, type Sample, type SampleFacts } from './sample.ts';

/** Bytes and place of the row that a rollout is told by; `nth`: which of the row's rollouts. */
export type IndexRow = SampleFacts & { offset: number; length: number; nth: number };

export interface IndexedFile extends StepFile {
  size: number;
  mtimeMs: number;
  /** Changes with the file's content. */
  stamp: string;
  rows: readonly IndexRow[];
  /** One for each row that could not be read, or one for a file that could not be decompressed. */
  damage: readonly Failure[];
  /** What a later look goes on from: whole lines only. */
  read: { rows: IndexRow[]; damage: Failure[]; next: number; lines: number; check: number };
}

/** A last line without its end is believed where it is a row; longer ones are being written. */
const LONGEST_TAIL = 1 << 24;
const CHECKED = 4096;

/** Indexes a file; of `former`, an index of the same file, what still holds is not read again. Throws where it cannot be read. */
export async function indexFile(format: Format, file: StepFile, former?: IndexedFile): Promise<IndexedFile> {
  const { size, mtimeMs, ino } = await fs.promises.stat(file.path);
  const stamp = `${size}@${mtimeMs} ${ino}`;
  if (former?.stamp === stamp) return former;
  if (isCompressed(file.path))
    return { ...file, size, mtimeMs, stamp, ...(await readInflated(format, file)) };
  const isGrown =
    former !== undefined && size > former.size && checkOf(file.path, former.read.next) === former.read.check;
  const read = isGrown
    ? { ...former.read, rows: [...former.read.rows], damage: [...former.read.damage] }
    : { rows: [], damage: [], next: 0, lines: 0, check: 0 };
  for await (const { lines, next } of wholeLines(file.path, read.next)) {
    for (const line of lines) take(format, file, line, read);
    read.next = next;
  }
  read.check = checkOf(file.path, read.next);
  return { ...file, size, mtimeMs, stamp, ...withTail(format, file, read), read };
}

/** All of a compressed file, also where it has only grown: offsets are those of what was compressed. */
async function readInflated(
  format: Format,
  file: StepFile,
): Promise<Pick<IndexedFile, 'rows' | 'damage' | 'read'>> {
  const read: IndexedFile['read'] = { rows: [], damage: [], next: 0, lines: 0, check: 0 };
  let bytes: Buffer;
  try {
    bytes = await inflated(file.path);
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    return { rows: [], damage: [error.failure], read };
  }
  for (const line of split(bytes, 0)) {
    take(format, file, line, read);
    read.next = endOf(line);
  }
  return { ...tailOf(format, file, read, bytes.subarray(read.next)), read };
}

/** The bytes that a row was read from. */
export async function bytesOf(path: string, { offset, length }: IndexRow): Promise<Buffer> {
  return isCompressed(path)
    ? (await inflated(path)).subarray(offset, offset + length)
    : readSpan(path, offset, length);
}

/** Of the first and the last bytes before a place: a file that was rewritten begins or goes on otherwise. */
const checkOf = (path: string, end: number): number => {
  const span = Math.min(CHECKED, end);
  return crc32(readSpan(path, end - span, span), crc32(readSpan(path, 0, span)));
};

interface Found {
  rows: IndexRow[];
  damage: Failure[];
  lines: number;
}

function take(format: Format, file: StepFile, line: Line, found: Found): void {
  found.lines++;
  const { offset, length } = line;
  if (line.text.trim() === '') return;
  try {
    samplesIn(format, line.text).forEach((sample, nth) =>
      found.rows.push({ ...factsOf(sample), offset, length, nth }),
    );
  } catch (error) {
    found.damage.push({
      where: 'store',
      message: `${file.path}, line ${found.lines}: ${(error as Error).message}. The row is left out.`,
    });
  }
}

/** Rollouts of a row. Throws where it is no row of the format. */
export function samplesIn(format: Format, text: string): Sample[] {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    throw new FailureError({ where: 'store', message: `the row is not JSON: ${(error as Error).message}` });
  }
  if (!isRecord(row)) throw new FailureError({ where: 'store', message: 'the row is not an object' });
  return format.samplesOf(row);
}

function withTail(
  format: Format,
  file: StepFile,
  read: IndexedFile['read'],
): Pick<IndexedFile, 'rows' | 'damage'> {
  const size = fs.statSync(file.path).size - read.next;
  const isRow = size > 0 && size <= LONGEST_TAIL;
  return tailOf(format, file, read, isRow ? readSpan(file.path, read.next, size) : Buffer.alloc(0));
}

/** Some writers leave out the last line's end; one that is torn tells nothing yet, and is no damage. */
function tailOf(
  format: Format,
  file: StepFile,
  { rows, damage, next, lines }: IndexedFile['read'],
  bytes: Buffer,
): Pick<IndexedFile, 'rows' | 'damage'> {
  if (bytes.length === 0) return { rows, damage };
  const found: Found = { rows: [], damage: [], lines };
  take(format, file, { text: bytes.toString('utf8'), offset: next, length: bytes.length }, found);
  return { rows: [...rows, ...found.rows], damage };
}

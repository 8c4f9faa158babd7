/** Rows of a Parquet or JSON Lines file, and values in them by dotted name. Knows nothing of what a task is. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { FailureError, refusal, errorText, type Failure } from '../core/types.ts';
import type { ParquetAnswer, ParquetQuestion } from './parquetThread.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A row, or why it is none, with its place in the file, from 1 (the line number in JSON Lines). */
export type PlacedRow = { place: number } & ({ row: Row } | { failure: Failure });

/**
 * All rows of a file. Of a Parquet file only the columns that `wanted` names are read, in at most `limitMs`. Throws a
 * FailureError that names the file where it cannot be read.
 */
export async function readRows(
  path: string,
  wanted: readonly string[],
  { limitMs }: { limitMs?: number } = {},
): Promise<PlacedRow[]> {
  try {
    return extname(path) === '.parquet' ? await readParquet(path, wanted, limitMs) : await readLines(path);
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = errorText(error);
    throw refusal(
      `The dataset ${path} cannot be read (${reason}).`,
      'Set data.train or data.heldOut to a .parquet or .jsonl file.',
    );
  }
}

/** In a bundle the thread's program lies beside this one. */
function threadProgram(): string {
  const bundled = join(import.meta.dirname, 'parquetThread.cjs');
  return existsSync(bundled) ? bundled : join(import.meta.dirname, 'parquetThread.ts');
}

/** 64 MB of compressed text took 17 s on a slow core. */
const LEAST_MS = 60_000;
const MS_PER_MEGABYTE = 2_000;

async function readParquet(
  path: string,
  wanted: readonly string[],
  limitMs = LEAST_MS + MS_PER_MEGABYTE * (statSync(path).size / 1e6),
): Promise<PlacedRow[]> {
  const question: ParquetQuestion = { path, wanted };
  const thread = new Worker(threadProgram(), { workerData: question });
  let timer: NodeJS.Timeout | undefined;
  try {
    const answer = await new Promise<ParquetAnswer>((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
      thread.once('exit', () => reject(new Error('its decoder ended without an answer')));
      timer = setTimeout(
        () => reject(new Error(`it was not decoded in ${Math.round(limitMs / 1000)} s; it may be broken`)),
        limitMs,
      );
    });
    if ('reason' in answer) throw new Error(answer.reason);
    return answer.rows.map((row, i) => ({ row, place: i + 1 }));
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}

async function readLines(path: string): Promise<PlacedRow[]> {
  const rows: PlacedRow[] = [];
  let place = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    place++;
    if (line.trim() !== '') rows.push({ ...parseLine(line, `${path}, row ${place}`), place });
  }
  return rows;
}

function parseLine(line: string, where: string): { row: Row } | { failure: Failure } {
  const broken = (what: string): { failure: Failure } => ({
    failure: { where: 'config', message: `${where} ${what}.`, fix: 'Write one JSON object per line.' },
  });
  try {
    const row: unknown = JSON.parse(line.replace(/^\uFEFF/, ''));
    return isRow(row) ? { row } : broken('is not a JSON object');
  } catch (error) {
    // Every row is a first line.
    return broken(`is not JSON (${errorText(error).replace(/ \(line 1 column \d+\)$/, '')})`);
  }
}

/** The value at a dotted name, through objects and lists; undefined where the row has none. A whole key goes before its parts. */
export function valueAt(row: Row, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name];
  return name.split('.').reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return /^\d+$/.test(step) ? value[Number(step)] : undefined;
    return isRow(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }, row);
}

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

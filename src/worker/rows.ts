/** Rows of a Parquet or JSON Lines file, and values in them by dotted name. Knows nothing of what a task is. */
import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { FailureError } from '../core/types.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A row with its place in the file, from 1 (the line number in JSON Lines). */
export interface PlacedRow {
  row: Row;
  place: number;
}

/**
 * All rows of a file. Of a Parquet file only the columns that `wanted` names are read. Throws a FailureError that names file and
 * row where it cannot be read.
 */
export async function readRows(path: string, wanted: readonly string[]): Promise<PlacedRow[]> {
  try {
    return extname(path) === '.parquet' ? await readParquet(path, wanted) : await readLines(path);
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw refusal(
      `The dataset ${path} cannot be read (${reason}).`,
      'Set data.train or data.heldOut to a .parquet or .jsonl file.',
    );
  }
}

async function readParquet(path: string, wanted: readonly string[]): Promise<PlacedRow[]> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = present.filter(column => wanted.includes(column));
  // Without any column the library would make no rows at all, and their number would be lost.
  const rows = await parquetReadObjects({
    file,
    metadata,
    compressors,
    columns: columns.length > 0 ? columns : present,
  });
  return rows.map((row, i) => ({ row, place: i + 1 }));
}

async function readLines(path: string): Promise<PlacedRow[]> {
  const rows: PlacedRow[] = [];
  let place = 0;
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    place++;
    if (line.trim() !== '') rows.push({ row: parseLine(line, `${path}, row ${place}`), place });
  }
  return rows;
}

function parseLine(line: string, where: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(line.replace(/^\uFEFF/, ''));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refusal(`${where} is not JSON (${reason}).`, 'Write one JSON object per line.');
  }
  if (!isRow(row)) throw refusal(`${where} is not a JSON object.`, 'Write one JSON object per line.');
  return row;
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

export const refusal = (message: string, fix: string): FailureError =>
  new FailureError({ where: 'config', message, fix });

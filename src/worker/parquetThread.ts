/**
 * The thread that decodes a parquet file: in a broken one the decoder may leave failures unheard, take all memory or never end, and a
 * thread bears all of that alone. Knows nothing of what the rows mean.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors as purely } from 'hyparquet-compressors';
import { errorText } from '../core/types.ts';

/** What the thread is asked for. */
export interface ParquetQuestion {
  path: string;
  /** Top-level columns that are of use; others are not decoded, where any of these is there. */
  wanted: readonly string[];
}

/** What it answers: the rows, or why there are none. */
export type ParquetAnswer = { rows: Record<string, unknown>[] } | { reason: string };

/** Node's own decoders where it has them: they make an error of broken bytes at once. */
const compressors: typeof purely = {
  ...purely,
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: length }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: length }),
};

async function decode({ path, wanted }: ParquetQuestion): Promise<ParquetAnswer> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = parquetSchema(metadata).children.map(({ element }) => element.name);
  const named = present.filter(column => wanted.includes(column));
  // Without any column the library would make no rows at all, and their number would be lost.
  const columns = named.length > 0 ? named : present;
  return { rows: await parquetReadObjects({ file, metadata, compressors, columns }) };
}

const tell = (answer: ParquetAnswer): void => parentPort?.postMessage(answer);
void decode(workerData as ParquetQuestion).then(tell, (error: unknown) => tell({ reason: errorText(error) }));

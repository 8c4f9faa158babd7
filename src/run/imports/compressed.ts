/** The bytes of a compressed file of rollouts. Keeps the last one for a while, for it is read in many small pieces. Knows nothing of rows. */
import * as fs from 'node:fs';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { FailureError } from '../../core/types.ts';

/** What ends the names of compressed files. */
export const COMPRESSIONS = ['.gz', '.zst'] as const;
type Compression = (typeof COMPRESSIONS)[number];

/** Decompressed bytes of a file that are held in memory at most. */
const MOST = 1 << 30;

/** Frames of a file that is being written may end anywhere: what is whole of it is given. */
const INFLATE: Record<Compression, (bytes: Buffer, path: string) => Promise<Buffer>> = {
  '.gz': bytes =>
    promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip)(bytes, {
      finishFlush: zlib.constants.Z_SYNC_FLUSH,
      maxOutputLength: MOST,
    }),
  '.zst': (bytes, path) => unframed(bytes, path, zlib),
};

const compressionOf = (path: string): Compression | undefined =>
  COMPRESSIONS.find(name => name === extname(path));

export const isCompressed = (path: string): boolean => compressionOf(path) !== undefined;

/** Nobody reads of a file any more that was asked for so long ago. */
const KEPT_MS = 30_000;

let kept: { stamp: string; bytes: Promise<Buffer>; timer: NodeJS.Timeout } | undefined;

/** All bytes of the file as they were before it was compressed. Throws a FailureError where it cannot be, or not here. */
export async function inflated(path: string): Promise<Buffer> {
  const { size, mtimeMs } = await fs.promises.stat(path);
  const stamp = `${path} ${size}@${mtimeMs}`;
  if (kept?.stamp === stamp) kept.timer.refresh();
  else {
    clearTimeout(kept?.timer);
    kept = { stamp, bytes: inflate(path), timer: setTimeout(() => (kept = undefined), KEPT_MS).unref() };
  }
  return kept.bytes;
}

async function inflate(path: string): Promise<Buffer> {
  const bytes = await fs.promises.readFile(path);
  const compression = compressionOf(path);
  if (compression === undefined || bytes.length === 0) return bytes;
  try {
    return await INFLATE[compression](bytes, path);
  } catch (error) {
    if (error instanceof FailureError) throw error;
    throw new FailureError({
      where: 'store',
      message: `${path} cannot be decompressed: ${(error as Error).message}.`,
      fix: 'Copy the file again, or decompress it beside itself: what is not compressed is read first.',
    });
  }
}

/** Writers that add to a file begin a frame each time, and the host's own function ends with the first. */
export async function unframed(
  bytes: Buffer,
  path: string,
  { zstdDecompress }: Pick<Partial<typeof zlib>, 'zstdDecompress'>,
): Promise<Buffer> {
  if (zstdDecompress === undefined)
    throw new FailureError({
      where: 'store',
      message: `${path} is compressed by zstd, which Node ${process.versions.node} cannot read.`,
      fix: `Update VS Code, or decompress it beside itself: zstd -d ${path}`,
    });
  const frame = promisify<Buffer, object, unknown>(zstdDecompress);
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    const options = { info: true, finishFlush: zlib.constants.ZSTD_e_flush, maxOutputLength: MOST - length };
    // With `info` the answer says how many bytes the frame was.
    const { buffer, engine } = (await frame(bytes.subarray(at), options)) as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    parts.push(buffer);
    length += buffer.length;
    if (engine.bytesWritten === 0) break;
    at += engine.bytesWritten;
  }
  return Buffer.concat(parts);
}

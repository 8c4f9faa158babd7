/** Tensors on disk in the safetensors format, read as 32-bit floats. Knows nothing of what the tensors mean. */
import { createHash, type Hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FailureError } from '../core/types.ts';
import { attributed } from './disk.ts';

/** One tensor, row-major. */
export interface Tensor {
  shape: readonly number[];
  data: Float32Array;
}

/** What a file says about one of its tensors; `start` and `end` count bytes from the beginning of the file. */
export interface TensorEntry {
  dtype: string;
  shape: number[];
  start: number;
  end: number;
}

/** Bytes of one element of every type that the format names. */
const SIZES: Readonly<Record<string, number>> = {
  ...{ F64: 8, I64: 8, U64: 8, F32: 4, I32: 4, U32: 4, F16: 2, BF16: 2, I16: 2, U16: 2 },
  ...{ I8: 1, U8: 1, BOOL: 1, F8_E4M3: 1, F8_E5M2: 1 },
};
/** The format's own limit; a longer header is another kind of file. */
const LONGEST_HEADER = 100_000_000;
/** One read or write moves at most this many bytes, because Node refuses single ones of 2 GiB. */
const PIECE_BYTES = 64 << 20;

const AGAIN = 'Copy or download the file again.';

function fail(path: string, message: string, fix = AGAIN): never {
  throw new FailureError({ where: 'store', message: `${path}: ${message}`, fix });
}

/** Reads every tensor of a file as Float32Array. Throws a Failure that names the file, the tensor and what to do. */
export async function readTensors(path: string, hash?: Hash): Promise<Map<string, Tensor>> {
  const file = await open(path, 'r').catch((error: Error) =>
    fail(path, `cannot be opened (${error.message}).`, 'Check the path and its rights.'),
  );
  try {
    const { entries, header } = await readHeader(file, path);
    hash?.update(header);
    const tensors = new Map<string, Tensor>();
    for (const [name, entry] of [...entries].sort((a, b) => a[1].start - b[1].start)) {
      const bytes = await readBytes(file, path, entry);
      hash?.update(bytes);
      tensors.set(name, {
        shape: entry.shape,
        data: toFloats(bytes, entry.dtype, `${path}: tensor ${name}`),
      });
    }
    return tensors;
  } finally {
    await file.close();
  }
}

/**
 * Reads `model.safetensors`, or the shards that `model.safetensors.index.json` names, and the hex SHA-256 of the files'
 * bytes in order of their names.
 */
export async function readModelTensors(
  folder: string,
): Promise<{ tensors: Map<string, Tensor>; sha256: string }> {
  const hash = createHash('sha256');
  const tensors = new Map<string, Tensor>();
  for (const shard of await shardsOf(folder)) {
    for (const [name, tensor] of await readTensors(join(folder, shard), hash)) {
      if (tensors.has(name)) fail(join(folder, shard), `tensor ${name} is in another shard too.`);
      tensors.set(name, tensor);
    }
  }
  return { tensors, sha256: hash.digest('hex') };
}

/** Writes tensors as F32 and has them on the disk before it returns. Whoever wants it atomic renames a folder or file. */
export async function writeTensors(
  path: string,
  tensors: Iterable<readonly [string, Tensor]>,
  metadata: Record<string, string> = { format: 'pt' },
): Promise<void> {
  const list = [...tensors];
  const header = encodeHeader(path, list, metadata);
  try {
    const file = await open(path, 'w');
    try {
      let at = await writeAll(file, header, 0);
      for (const [, { data }] of list)
        at = await writeAll(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    // Attributed here, because an engine's process can send no error codes to its worker.
    throw attributed(error);
  }
}

/** Names of the weight files of a Hugging Face folder, ascending. */
async function shardsOf(folder: string): Promise<string[]> {
  if (existsSync(join(folder, 'model.safetensors'))) return ['model.safetensors'];
  const path = join(folder, 'model.safetensors.index.json');
  if (!existsSync(path))
    fail(
      folder,
      'there is neither model.safetensors nor model.safetensors.index.json.',
      'Point to a folder in Hugging Face layout.',
    );
  const index = JSON.parse(await readFile(path, 'utf8')) as { weight_map?: Record<string, unknown> };
  const shards = [...new Set(Object.values(index.weight_map ?? {}))].sort();
  if (shards.length === 0) fail(path, 'names no shard under weight_map.');
  return shards.map(shard => {
    if (typeof shard === 'string' && shard === basename(shard) && shard !== '..' && !shard.includes('\\'))
      return shard;
    return fail(
      path,
      `names the shard ${JSON.stringify(shard)}, which is not a plain file name.`,
      'Shards must lie beside the index.',
    );
  });
}

async function readHeader(
  file: FileHandle,
  path: string,
): Promise<{ entries: Map<string, TensorEntry>; header: Buffer }> {
  const { size } = await file.stat();
  if (size < 8) fail(path, `is ${size} bytes long, too short for a safetensors file.`);
  const lengthBytes = Buffer.alloc(8);
  await file.read(lengthBytes, 0, 8, 0);
  const length = Number(lengthBytes.readBigUInt64LE());
  if (length > LONGEST_HEADER || length + 8 > size)
    fail(
      path,
      `says that its header has ${length} bytes, and has ${size} in all: it is cut off, or no safetensors file.`,
    );
  const header = Buffer.alloc(8 + length);
  await file.read(header, 0, header.length, 0);
  return { entries: parseHeader(header.subarray(8), path, { base: header.length, size }), header };
}

/** Checks that the tensors fill the file without holes or overlaps, as the format demands. */
function parseHeader(
  json: Uint8Array,
  path: string,
  { base, size }: { base: number; size: number },
): Map<string, TensorEntry> {
  const entries = new Map<string, TensorEntry>();
  for (const [name, value] of Object.entries(parseJson(json, path))) {
    if (name !== '__metadata__') entries.set(name, toEntry(value, base, `${path}: tensor ${name}`));
  }
  let end = base;
  for (const [name, entry] of [...entries].sort((a, b) => a[1].start - b[1].start || a[1].end - b[1].end)) {
    if (entry.start !== end)
      fail(path, `tensor ${name} begins at byte ${entry.start}, but the one before it ends at ${end}.`);
    end = entry.end;
  }
  if (end !== size) fail(path, `its tensors end at byte ${end}, but the file has ${size}.`);
  return entries;
}

function parseJson(json: Uint8Array, path: string): object {
  try {
    const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
    if (typeof header === 'object' && header !== null && !Array.isArray(header)) return header;
  } catch (error) {
    return fail(path, `its header is not JSON (${(error as Error).message}).`);
  }
  return fail(path, 'its header is not a JSON object.');
}

function toEntry(value: unknown, base: number, where: string): TensorEntry {
  const {
    dtype,
    shape,
    data_offsets: offsets,
  } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  if (typeof dtype !== 'string' || !isCounts(shape) || !isCounts(offsets) || offsets.length !== 2)
    fail(where, 'lacks dtype, shape or data_offsets.');
  const [start, end] = offsets as [number, number];
  const size = SIZES[dtype];
  if (size === undefined)
    fail(where, `has the unknown type ${dtype}.`, 'Convert the weights to F32, F16 or BF16.');
  const bytes = shape.reduce((product, n) => product * n, size);
  if (end - start !== bytes)
    fail(where, `has ${end - start} bytes, but its shape [${shape.join(', ')}] of ${dtype} needs ${bytes}.`);
  return { dtype, shape, start: base + start, end: base + end };
}

const isCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(n => Number.isSafeInteger(n) && n >= 0);

async function readBytes(file: FileHandle, path: string, { start, end }: TensorEntry): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, Math.min(bytes.length - at, PIECE_BYTES), start + at);
    if (bytesRead === 0) fail(path, 'ended while it was being read.');
    at += bytesRead;
  }
  return bytes;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(
      bytes,
      at,
      Math.min(bytes.length - at, PIECE_BYTES),
      position + at,
    );
    at += bytesWritten;
  }
  return position + bytes.length;
}

function encodeHeader(
  path: string,
  tensors: readonly (readonly [string, Tensor])[],
  metadata: Record<string, string>,
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const [name, { shape, data }] of tensors) {
    const size = shape.reduce((product, n) => product * n, 1);
    if (size !== data.length)
      fail(
        path,
        `tensor ${name} has ${data.length} numbers, but its shape [${shape.join(', ')}] needs ${size}.`,
        'This is a bug: please report it.',
      );
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, (offset += data.byteLength)] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, ' ');
  padded.writeBigUInt64LE(BigInt(padded.length - 8));
  json.copy(padded, 8);
  return padded;
}

/** Widens to 32 bits. The bytes of an F32 tensor are used as they are. */
function toFloats(bytes: Uint8Array, dtype: string, where: string): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  if (dtype === 'BF16') return fromBfloat16(halves);
  if (dtype === 'F16') return fromFloat16(halves);
  return fail(
    where,
    `has type ${dtype}, which holds no weights that we can train.`,
    'Convert the weights to F32, F16 or BF16.',
  );
}

/** A bfloat16 is the upper half of a float32. */
export function fromBfloat16(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length);
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16;
  return new Float32Array(bits.buffer);
}

let halfTable: Float32Array | undefined;

/** By a table of all 65,536 patterns: measured twice as fast as Float16Array, which older Node versions lack. */
export function fromFloat16(halves: Uint16Array): Float32Array {
  halfTable ??= Float32Array.from({ length: 65536 }, (_, half) => {
    const sign = half >> 15 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) floats[i] = halfTable[halves[i]!]!;
  return floats;
}

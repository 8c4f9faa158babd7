import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { FailureError } from '../../src/core/types.ts';
import {
  fromBfloat16,
  fromFloat16,
  readModelTensors,
  readTensors,
  writeTensors,
  type Tensor,
} from '../../src/run/safetensors.ts';

/** A file with any header, also a wrong one. */
function fileOf(header: unknown, data: Uint8Array = new Uint8Array()): Uint8Array {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, data]);
}

describe('safetensors', () => {
  let folder = '';
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'safetensors-'))));
  after(() => rm(folder, { recursive: true }));

  const refused = async (bytes: Uint8Array, ...words: RegExp[]): Promise<void> => {
    const path = join(folder, 'wrong.safetensors');
    await writeFile(path, bytes);
    await assert.rejects(readTensors(path), (error: unknown) => {
      assert.ok(error instanceof FailureError);
      for (const word of [/wrong\.safetensors/, ...words]) assert.match(error.message, word);
      return error.failure.where === 'store' && error.failure.fix !== undefined;
    });
  };

  it('reads what it wrote, bit for bit, special values and empty tensors included', async () => {
    const tensors = new Map<string, Tensor>([
      ['b', { shape: [2, 3], data: Float32Array.of(1, -0, NaN, Infinity, 1e-45, 3.4e38) }],
      ['a', { shape: [0, 4], data: new Float32Array() }],
      ['ü', { shape: [], data: Float32Array.of(7) }],
    ]);
    const path = join(folder, 'all.safetensors');
    await writeTensors(path, tensors);
    const found = await readTensors(path);
    assert.deepEqual([...found.keys()].sort(), [...tensors.keys()].sort());
    for (const [name, { shape, data }] of tensors) {
      assert.deepEqual(found.get(name)!.shape, shape);
      assert.deepEqual(Buffer.from(found.get(name)!.data.buffer), Buffer.from(data.buffer));
    }
    const bytes = await readFile(path);
    assert.equal(Number(bytes.readBigUInt64LE()) % 8, 0, 'the data begins at a multiple of 8');
  });

  it('writes only the part of a buffer that the tensor is', async () => {
    const path = join(folder, 'part.safetensors');
    await writeTensors(path, [['x', { shape: [2], data: Float32Array.of(1, 2, 3, 4).subarray(1, 3) }]]);
    assert.deepEqual((await readTensors(path)).get('x')!.data, Float32Array.of(2, 3));
  });

  it('widens F16 and BF16 exactly', async () => {
    assert.deepEqual(
      fromBfloat16(Uint16Array.of(0x3f80, 0xc000, 0x7f80, 0x8000)),
      Float32Array.of(1, -2, Infinity, -0),
    );
    const halves = [0x3c00, 0xc000, 0x7c00, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x8000, 0x3555];
    const values = [1, -2, Infinity, 2 ** -24, 1023 * 2 ** -24, 2 ** -14, 65504, -0, 0.333251953125];
    assert.deepEqual(fromFloat16(Uint16Array.from(halves)), Float32Array.from(values));
    const entry = (dtype: string, start: number): object => ({
      dtype,
      shape: [2],
      data_offsets: [start, start + 4],
    });
    const data = new Uint8Array(Uint16Array.of(0x3c00, 0xc000, 0x3f80, 0xc000).buffer);
    const path = join(folder, 'half.safetensors');
    await writeFile(path, fileOf({ f: entry('F16', 0), b: entry('BF16', 4) }, data));
    const found = await readTensors(path);
    assert.deepEqual(found.get('f')!.data, Float32Array.of(1, -2));
    assert.deepEqual(found.get('b')!.data, Float32Array.of(1, -2));
  });

  it('refuses files that do not say what they hold, and names file, tensor and fix', async () => {
    const f32 = (shape: number[], start: number, end: number): object => ({
      dtype: 'F32',
      shape,
      data_offsets: [start, end],
    });
    await refused(Buffer.from('GGUF'), /too short/);
    await refused(Buffer.from('this is no such file'), /header/);
    await refused(fileOf('[1]'), /not a JSON object/);
    await refused(fileOf('{"a":'), /not JSON/);
    await refused(fileOf({ a: {} }), /tensor a/, /lacks/);
    await refused(fileOf({ a: f32([2], 0, 4) }, new Uint8Array(4)), /tensor a/, /4 bytes.*needs 8/);
    await refused(
      fileOf({ a: f32([1], 0, 4), b: f32([1], 8, 12) }, new Uint8Array(12)),
      /tensor b begins at byte/,
    );
    await refused(
      fileOf({ a: f32([2], 0, 8), b: f32([2], 4, 12) }, new Uint8Array(12)),
      /tensor b begins at byte/,
    );
    await refused(fileOf({ a: f32([1], 0, 4) }, new Uint8Array(5)), /tensors end at byte/);
    await refused(fileOf({ a: f32([2], 0, 8) }, new Uint8Array(4)), /tensors end at byte/);
    await refused(fileOf({ a: f32([-1], 0, 4) }, new Uint8Array(4)), /tensor a/);
    await refused(
      fileOf({ a: { dtype: 'F4', shape: [1], data_offsets: [0, 1] } }, new Uint8Array(1)),
      /tensor a/,
      /F4/,
    );
    await refused(
      fileOf({ a: { dtype: 'I32', shape: [1], data_offsets: [0, 4] } }, new Uint8Array(4)),
      /tensor a/,
      /I32/,
    );
  });

  it('reads sharded models and hashes the files in order of their names', async () => {
    const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
    await writeTensors(join(folder, shards[0]!), [['x', { shape: [1], data: Float32Array.of(1) }]]);
    await writeTensors(join(folder, shards[1]!), [['y', { shape: [1], data: Float32Array.of(2) }]]);
    await writeFile(
      join(folder, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { y: shards[1], x: shards[0] } }),
    );
    const { tensors, sha256 } = await readModelTensors(folder);
    assert.deepEqual([tensors.get('x')!.data[0], tensors.get('y')!.data[0]], [1, 2]);
    const bytes = Buffer.concat([
      await readFile(join(folder, shards[0]!)),
      await readFile(join(folder, shards[1]!)),
    ]);
    assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
  });

  it('refuses an index that points out of its folder', async () => {
    for (const shard of ['../x.safetensors', 'a/b.safetensors', 'a\\b', '..', 7]) {
      await writeFile(
        join(folder, 'model.safetensors.index.json'),
        JSON.stringify({ weight_map: { x: shard } }),
      );
      await assert.rejects(readModelTensors(folder), /not a plain file name/);
    }
  });
});

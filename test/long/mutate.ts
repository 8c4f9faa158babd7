/**
 * Damages every kind of file that is read and looks at what comes of it: correct data, or a failure that names the file.
 * `node test/long/mutate.ts [--count 10000] [--seed N] [--json]`. Ends with one line, and 1 where anything else came of one.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import parquet from 'parquetjs-lite';
import { below, streamKey, uniform } from '../../src/core/random.ts';
import { FailureError } from '../../src/core/types.ts';
import { lastCheckpoint } from '../../src/run/checkpoint.ts';
import { loadConfig } from '../../src/run/configFile.ts';
import { readCounterfactual } from '../../src/run/counterfactuals.ts';
import { PRIME_RL } from '../../src/run/imports/primeRl.ts';
import { indexFile } from '../../src/run/imports/stepFile.ts';
import { openRun } from '../../src/run/reader.ts';
import { openDataset } from '../../src/worker/dataset.ts';
import { readModel, readOptimizer } from '../../src/worker/policy/embedded/weights.ts';
import { openTokenizer } from '../../src/worker/tokenizer.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { branch } from '../../src/worker/branch.ts';
import { makeTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';

/** One kind of file: where it is, how it is read, and whether a changed byte must be noticed. */
interface Kind {
  name: string;
  file: string;
  /** What is read; compared as JSON. */
  read(): Promise<unknown>;
  /**
   * `same`: what is read is what was written; `prefix`: or a beginning of it, for a file that may end early; `any`: the file is its own
   * truth, so that other data are as right.
   */
  truth: 'same' | 'prefix' | 'any';
}

export interface MutationReport {
  seed: number;
  count: number;
  /** By kind: read as written, read as other data where that is right, refused. */
  outcomes: Record<string, { same: number; other: number; refused: number }>;
  slowestMs: number;
  problems: string[];
}

/** A flipped bit, a changed, doubled, lost or moved stretch, or an end cut off. */
export function damaged(bytes: Uint8Array, key: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const draw = (n: number, size: number): number => below(key, n, Math.max(1, size));
  const at = draw(1, copy.length);
  const length = 1 + draw(2, Math.min(64, copy.length - at));
  switch (draw(0, 6)) {
    case 0:
      copy[at]! ^= 1 << draw(3, 8);
      return copy;
    case 1:
      for (let i = at; i < at + length; i++) copy[i] = draw(10 + i, 256);
      return copy;
    case 2:
      return copy.subarray(0, at);
    case 3:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + length)]);
    case 4:
      return Buffer.concat([copy.subarray(0, at + length), copy.subarray(at)]);
    default:
      copy[at] = 48 + draw(4, 10);
      return copy;
  }
}

async function writeParquet(path: string): Promise<void> {
  const schema = new parquet.ParquetSchema({
    question: { type: 'UTF8', compression: 'SNAPPY' },
    answer: { type: 'UTF8' },
  });
  const writer = await parquet.ParquetWriter.openFile(schema, path);
  for (let i = 0; i < 40; i++)
    await writer.appendRow({ question: `What is ${i} + 1?`, answer: String(i + 1) });
  await writer.close();
}

/** Compressed rollouts of prime-rl, as they are looked at when their run is opened. */
function writeRollouts(path: string, compress: (text: string) => Uint8Array): () => Promise<unknown> {
  const rows = Array.from({ length: 20 }, (_, i) =>
    JSON.stringify({ example_id: i, prompt: `${i}?`, completion: String(i), reward: i / 7 }),
  );
  writeFileSync(path, compress(`${rows.join('\n')}\n`));
  return async () => {
    const { rows, damage } = await indexFile(PRIME_RL, { path, step: 0 });
    if (damage[0]) throw new FailureError(damage[0]);
    return rows;
  };
}

/** Everything that is read, once, whole. */
async function makeKinds(parent: string): Promise<Kind[]> {
  const { folder } = await makeTinyRun(parent, {
    steps: 2,
    change: config => void (config.record.alternatives = 2),
  });
  const run = join(parent, 'run');
  cpSync(folder, run, { recursive: true });
  const { id: counterfactual } = await branch(openRun(run), tinyEquipment(), {
    tree: '1.0',
    at: { path: 0, segment: 0 },
    samples: 2,
    versions: {},
    progress: () => undefined,
    signal: new AbortController().signal,
  });
  const model = await makeTinyModel(join(parent, 'model'));
  await writeParquet(join(parent, 'tasks.parquet'));
  const rows = Array.from({ length: 20 }, (_, i) => JSON.stringify({ question: `${i}?`, answer: String(i) }));
  writeFileSync(join(parent, 'tasks.jsonl'), rows.join('\n'));
  const config = join(parent, 'tiny.branchpoint.json');
  cpSync(join(folder, 'config.branchpoint.json'), config);
  const at = (name: string): string => join(run, name);
  const trees = async (): Promise<unknown> => {
    const opened = openRun(run);
    const ids = (await opened.trees()).map(({ id }) => id);
    return Promise.all(ids.map(async id => [await opened.tree(id), await opened.columns(id)]));
  };
  const kind = (name: string, file: string, truth: Kind['truth'], read: Kind['read']): Kind => ({
    name,
    file,
    truth,
    read,
  });
  const checkpoint = 'checkpoints/step-000002';
  const packed = (ending: string): string => join(parent, `rollouts.jsonl.${ending}`);
  const resumable = async (): Promise<unknown> => ({ ...(await lastCheckpoint(run)), folder: '' });
  const tokens = async (): Promise<unknown> => {
    const tokenizer = await openTokenizer(model);
    const text = 'the <search>cat</search> 12';
    return [...tokenizer.encode(text), ...tokenizer.encodePrompt([{ role: 'user', content: text }])];
  };
  const weights = async (): Promise<unknown> => {
    const stored = await readModel(model);
    await readOptimizer(model, stored.shape);
    return [stored.sha256, stored.shape];
  };
  return [
    kind('journal', at('events.jsonl'), 'prefix', () => openRun(run).events()),
    kind('trees', at('trees.jsonl'), 'prefix', trees),
    kind('tree index', at('trees.index'), 'same', trees),
    kind('tokens', at('tokens.bin'), 'same', trees),
    kind('counterfactual', at(`branches/${counterfactual}.json`), 'same', () =>
      Promise.resolve(readCounterfactual(run, counterfactual)),
    ),
    kind('manifest', at('run.json'), 'any', () => Promise.resolve(openRun(run).manifest)),
    kind('config', config, 'any', () => Promise.resolve(loadConfig(config).config)),
    kind('checkpoint state', at(`${checkpoint}/checkpoint.json`), 'same', resumable),
    kind('checkpoint weights', at(`${checkpoint}/model.safetensors`), 'same', resumable),
    kind('checkpoint optimiser', at(`${checkpoint}/optimizer.safetensors`), 'same', resumable),
    kind('model', join(model, 'model.safetensors'), 'any', weights),
    kind('model config', join(model, 'config.json'), 'any', weights),
    kind('tokenizer', join(model, 'tokenizer.json'), 'any', tokens),
    kind('tokenizer config', join(model, 'tokenizer_config.json'), 'any', tokens),
    kind(
      'parquet',
      join(parent, 'tasks.parquet'),
      'any',
      async () => (await openDataset(join(parent, 'tasks.parquet'))).tasks,
    ),
    kind(
      'JSON lines',
      join(parent, 'tasks.jsonl'),
      'any',
      async () => (await openDataset(join(parent, 'tasks.jsonl'))).tasks,
    ),
    kind('rollouts by gzip', packed('gz'), 'prefix', writeRollouts(packed('gz'), gzipSync)),
    // These have no checksum.
    kind('rollouts by zstd', packed('zst'), 'any', writeRollouts(packed('zst'), zstdCompressSync)),
  ];
}

/** Whether all that was written is there, besides what a changed name of a field adds. */
function holds(read: unknown, written: unknown): boolean {
  if (typeof written !== 'object' || written === null) return read === written;
  if (typeof read !== 'object' || read === null) return false;
  return Object.entries(written).every(([name, value]) =>
    holds((read as Record<string, unknown>)[name], value),
  );
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** What reading a damaged file came to; a text where it is wrong. */
async function tried(
  kind: Kind,
  written: unknown,
): Promise<'same' | 'other' | 'refused' | { problem: string }> {
  let read: unknown;
  try {
    read = json(await kind.read());
  } catch (error) {
    if (!(error instanceof FailureError))
      return { problem: `threw ${(error as Error).stack ?? String(error)}` };
    const names = [basename(kind.file), 'model', 'tokenizer', 'config', 'checkpoint'];
    const isClear = names.some(name => error.message.toLowerCase().includes(name.toLowerCase()));
    return isClear ? 'refused' : { problem: `names no file: ${error.message}` };
  }
  if (holds(read, written) && JSON.stringify(read).length >= JSON.stringify(written).length) return 'same';
  if (kind.truth === 'any') return 'other';
  const isPrefix =
    kind.truth === 'prefix' &&
    Array.isArray(read) &&
    read.length < (written as unknown[]).length &&
    read.every((item, i) => holds(item, (written as unknown[])[i]));
  return isPrefix ? 'other' : { problem: 'was read as something else' };
}

export async function mutate(count: number, seed: number): Promise<MutationReport> {
  const parent = mkdtempSync(join(tmpdir(), 'mutate-'));
  mkdirSync(parent, { recursive: true });
  const report: MutationReport = { seed, count, outcomes: {}, slowestMs: 0, problems: [] };
  try {
    const kinds = await makeKinds(parent);
    const originals = await Promise.all(
      kinds.map(async kind => ({ bytes: readFileSync(kind.file), written: json(await kind.read()) })),
    );
    for (let i = 0; i < count; i++) {
      const kind = kinds[i % kinds.length]!;
      const { bytes, written } = originals[i % kinds.length]!;
      const key = streamKey('mutation', seed, i);
      let changed = damaged(bytes, key);
      if (uniform(key, 9) < 0.3) changed = damaged(changed, streamKey('again', key));
      writeFileSync(kind.file, changed);
      const started = performance.now();
      const outcome = await tried(kind, written);
      report.slowestMs = Math.max(report.slowestMs, performance.now() - started);
      const counts = (report.outcomes[kind.name] ??= { same: 0, other: 0, refused: 0 });
      if (typeof outcome === 'string') counts[outcome]++;
      else report.problems.push(`${kind.name}, seed ${seed}, number ${i}: ${outcome.problem}`);
      writeFileSync(kind.file, bytes);
    }
  } finally {
    rmSync(parent, { recursive: true });
  }
  return report;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean' },
    },
  });
  const { problems, ...report } = await mutate(Number(values.count), Number(values.seed));
  for (const problem of problems.slice(0, 50)) console.error(problem);
  if (!values.json) console.table(report.outcomes);
  console.log(JSON.stringify({ ...report, problems: problems.length }));
  assert.ok(problems.length === 0, `${problems.length} of ${report.count} damaged files were not handled`);
}

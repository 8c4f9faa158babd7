/**
 * Kills tiny runs at random moments and compares what they come to with a run that nobody killed:
 * `node test/long/kill.ts [--moments 200] [--seed N] [--first 0] [--jobs 1] [--json]`. Ends with one line, and 1 where any differs.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Config } from '../../src/core/config.ts';
import { below, streamKey, uniform } from '../../src/core/random.ts';
import { readTensors, writeTensors } from '../../src/run/safetensors.ts';
import type { Moment } from '../fakes/killable.ts';
import { deedsOf } from '../fakes/sameRun.ts';
import { makeTinyModel, TINY_IDS } from '../fakes/tinyModel.ts';
import { createTinyRun } from '../fakes/tinyRun.ts';

export interface KillReport {
  seed: number;
  moments: number;
  /** Kills that happened; runs that ended before their moment came are not among them. */
  kills: number;
  /** By what was killed and in the midst of what. */
  byMoment: Record<string, number>;
  /** Runs that did not come to the same, each with its moments and the difference. */
  failures: { moments: Moment[]; message: string }[];
}

type Counts = Partial<Record<Moment['at'], number>> & { ms: number };

const MODEL_STRENGTH = 5;

/** A model that calls tools: the rows of its head for the tags of calls are large. */
async function callingModel(folder: string): Promise<string> {
  await makeTinyModel(folder, { tied: false, hidden: 16, heads: 2, kvHeads: 1, layers: 1, ffn: 16 });
  const file = join(folder, 'model.safetensors');
  const tensors = await readTensors(file);
  const head = tensors.get('lm_head.weight')!;
  const width = head.shape[1]!;
  for (const tag of ['<search>', '</search>', '<python>', '</python>', '</answer>']) {
    const row = head.data.subarray(TINY_IDS.get(tag)! * width, (TINY_IDS.get(tag)! + 1) * width);
    row.forEach((value, i) => (row[i] = value * MODEL_STRENGTH));
  }
  await writeTensors(file, tensors);
  return folder;
}

const change =
  (model: string) =>
  (config: Config): void => {
    config.policy.path = model;
    config.algorithm.entropyBonus = 0.1;
    config.optimizer.learningRate = 1e-3;
    config.checkpoint.every = 2;
    config.record.alternatives = 3;
    Object.assign(config.evaluation, { tasks: 2, samples: 1, greedy: false });
    Object.assign(config.rollout, {
      tasksPerStep: 2,
      groupSize: 4,
      initialRollouts: 2,
      maxPromptTokens: 64,
      maxResponseTokens: 64,
    });
  };

/** A worker takes seconds; whoever takes longer waits for what never comes. */
const LONGEST_WORK_MS = 180_000;

/** One worker; resolves when its process has ended, whoever ended it. */
async function workOn(
  folder: string,
  moment: Moment | 'none',
): Promise<{ code: number | null; counts?: Counts }> {
  const program = join(import.meta.dirname, '../fakes/killable.ts');
  const argument = moment === 'none' ? moment : JSON.stringify(moment);
  const child = spawn(process.execPath, [program, folder, argument], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  let hangs = false;
  const end = (): void => void (hangs = child.kill('SIGKILL'));
  const timer = setTimeout(end, LONGEST_WORK_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  if (hangs) throw new Error(`The worker had not ended after ${LONGEST_WORK_MS / 1000} s: ${argument}`);
  if (err !== '') throw new Error(`The worker wrote: ${err}`);
  return { code, ...(out !== '' && { counts: JSON.parse(out) as Counts }) };
}

const PLACES = ['time', 'time', 'write', 'write', 'sample', 'accumulate', 'step', 'save', 'tool'] as const;

function momentOf(key: number, n: number, counts: Counts): Moment {
  const at = PLACES[below(key, 5 * n, PLACES.length)]!;
  return {
    at,
    victim: at === 'write' || uniform(key, 5 * n + 1) < 0.6 ? 'worker' : 'engine',
    ms: Math.floor(uniform(key, 5 * n + 2) * counts.ms),
    count: 1 + below(key, 5 * n + 3, counts[at] ?? 1),
    share: uniform(key, 5 * n + 4),
  };
}

/** A run that is killed once or twice and brought to its end. */
async function broken(folder: string, moments: readonly Moment[]): Promise<Moment[]> {
  const happened: Moment[] = [];
  for (const moment of moments) {
    const { code } = await workOn(folder, moment);
    if (code === 0) return happened;
    happened.push(moment);
  }
  const { code } = await workOn(folder, 'none');
  assert.equal(code, 0, 'the run did not reach its end');
  return happened;
}

export async function killTest(options: {
  moments: number;
  seed: number;
  /** Number of the first run, so that one that failed can be repeated. */
  first?: number;
  jobs?: number;
  progress?: (line: string) => void;
}): Promise<KillReport> {
  const { moments, seed, first = 0, jobs = 1, progress } = options;
  const parent = mkdtempSync(join(tmpdir(), 'kill-'));
  const report: KillReport = { seed, moments, kills: 0, byMoment: {}, failures: [] };
  try {
    const model = await callingModel(join(parent, 'model'));
    const make = (): Promise<string> => createTinyRun(parent, { change: change(model) });
    const unbroken = await make();
    const { code, counts } = await workOn(unbroken, 'none');
    assert.ok(code === 0 && counts, 'the unbroken run did not reach its end');
    assert.ok((counts.tool ?? 0) > 5, `the policy calls tools ${counts.tool ?? 0} times`);
    const wanted = await deedsOf(unbroken);
    let next = first;
    const attempt = async (n: number): Promise<void> => {
      const key = streamKey('kill', seed, n);
      const planned = Array.from({ length: uniform(key, 1000) < 0.3 ? 2 : 1 }, (_, i) =>
        momentOf(key, i, counts),
      );
      const folder = await make();
      try {
        for (const { victim, at } of await broken(folder, planned)) {
          report.kills++;
          report.byMoment[`${victim} ${at}`] = (report.byMoment[`${victim} ${at}`] ?? 0) + 1;
        }
        assert.deepEqual(await deedsOf(folder), wanted);
      } catch (error) {
        const { message } = error as Error;
        report.failures.push({ moments: planned, message });
        progress?.(`run ${n}: ${JSON.stringify(planned)} ${message}`);
      }
      rmSync(folder, { recursive: true });
      progress?.(`${n + 1 - first}/${moments}: ${report.kills} kills, ${report.failures.length} failures`);
    };
    const takeTurns = async (): Promise<void> => {
      while (next < first + moments) await attempt(next++);
    };
    await Promise.all(Array.from({ length: jobs }, takeTurns));
  } finally {
    rmSync(parent, { recursive: true });
  }
  return report;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      moments: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      first: { type: 'string', default: '0' },
      jobs: { type: 'string', default: '1' },
      json: { type: 'boolean' },
    },
  });
  const report = await killTest({
    moments: Number(values.moments),
    seed: Number(values.seed),
    first: Number(values.first),
    jobs: Number(values.jobs),
    progress: line => void (values.json || console.log(line)),
  });
  for (const { moments, message } of report.failures) console.error(JSON.stringify(moments), message);
  const { seed, kills, failures, byMoment } = report;
  console.log(JSON.stringify({ seed, moments: report.moments, kills, failures: failures.length, byMoment }));
  process.exitCode = failures.length === 0 ? 0 : 1;
}

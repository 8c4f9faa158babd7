/**
 * Measures training: tokens per CPU-second of forward and backward, and their share of ONNX Runtime's own MatMul rate in
 * the same run. `node .ci/node24.mjs test/bench/engine.ts [--large] [--json]`; knows nothing of what is trained.
 */
import { readFileSync } from 'node:fs';
import type { PackedTree } from '../../src/core/batch.ts';
import { LIKELIHOOD } from '../../src/core/objective.ts';
import { Graph } from '../../src/worker/policy/embedded/graph.ts';
import { gemm } from '../../src/worker/policy/embedded/ops.ts';
import { compile, float32 } from '../../src/worker/policy/embedded/sessions.ts';
import { modelTensors, parameterCount, sizeOf } from '../../src/worker/policy/embedded/shape.ts';
import type { ModelShape } from '../../src/worker/policy/embedded/shape.ts';
import { createTrainer } from '../../src/worker/policy/embedded/trainer.ts';

const common = {
  architecture: 'llama',
  epsilon: 1e-5,
  ropeTheta: 10_000,
  tiedHead: true,
  attentionBias: false,
  headNorm: false,
} as const;
const cases = {
  sample: {
    shape: {
      ...common,
      hidden: 128,
      layers: 4,
      heads: 4,
      keyValueHeads: 2,
      headDim: 32,
      feedForward: 352,
      vocabulary: 2048,
      contextLength: 1024,
    },
    rows: 32,
    length: 120,
  },
  '4M': {
    shape: {
      ...common,
      hidden: 256,
      layers: 4,
      heads: 4,
      keyValueHeads: 2,
      headDim: 64,
      feedForward: 704,
      vocabulary: 4096,
      contextLength: 1024,
    },
    rows: 4,
    length: 512,
  },
  '135M': {
    shape: {
      ...common,
      hidden: 576,
      layers: 30,
      heads: 9,
      keyValueHeads: 3,
      headDim: 64,
      feedForward: 1536,
      vocabulary: 49_152,
      contextLength: 2048,
    },
    rows: 8,
    length: 256,
  },
} satisfies Record<string, { shape: ModelShape; rows: number; length: number }>;

interface Measurement {
  tokens: number;
  tokensPerCpuSecond: number;
  tokensPerSecond: number;
  /** GFLOP of useful matrix products per CPU-second, and that of ONNX Runtime's Gemm on the model's own sizes. */
  gflops: number;
  gemmGflops: number;
  share: number;
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Runs something a few times, after one run that does not count; the best run counts. */
async function best(run: () => Promise<void>, runs: number): Promise<{ cpu: number; wall: number }> {
  await run();
  let found = { cpu: Infinity, wall: Infinity };
  for (let i = 0; i < runs; i++) {
    const [cpu, wall] = [cpuSeconds(), performance.now()];
    await run();
    found = {
      cpu: Math.min(found.cpu, cpuSeconds() - cpu),
      wall: Math.min(found.wall, (performance.now() - wall) / 1000),
    };
  }
  return found;
}

/** GFLOP/s of Gemm over the matrices of one layer, weighted by their work. */
async function gemmRate({ hidden, feedForward, heads, headDim }: ModelShape, rows: number): Promise<number> {
  let flops = 0;
  let seconds = 0;
  for (const [inner, outer] of [
    [hidden, heads * headDim],
    [hidden, feedForward],
    [feedForward, hidden],
  ] as const) {
    const g = new Graph();
    g.output('y', gemm(g, g.input('x', [rows, inner]), g.input('w', [outer, inner]), { transB: true }));
    const program = await compile(g.build(), { threads: 1 });
    const feeds = {
      x: float32(new Float32Array(rows * inner).fill(0.5), [rows, inner]),
      w: float32(new Float32Array(outer * inner).fill(0.1), [outer, inner]),
    };
    const repeats = Math.max(1, Math.round(5e8 / (rows * inner * outer)));
    const { cpu } = await best(async () => {
      for (let i = 0; i < repeats; i++) await program.run(feeds);
    }, 3);
    await program.release();
    flops += 2 * rows * inner * outer;
    seconds += cpu / repeats;
  }
  return flops / seconds / 1e9;
}

function rowOf(length: number, vocabulary: number, seed: number): PackedTree {
  const all = Int32Array.from({ length }, (_, i) => i);
  return {
    ids: all.map(i => (i * 7919 + seed * 104_729) % vocabulary),
    positions: all,
    subtreeEnd: all.map(() => length),
    previous: all.map(i => i - 1),
    termStart: Int32Array.from({ length: length + 1 }, (_, i) => Math.max(0, i - 1)),
    termAdvantage: new Float32Array(length - 1).fill(1),
    termWeight: new Float32Array(length - 1).fill(1e-3),
    termPath: new Int32Array(length - 1),
  };
}

function weightsOf(shape: ModelShape): Map<string, Float32Array> {
  let state = 1;
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  return new Map(
    [...modelTensors(shape)].map(([name, dims]) => [
      name,
      Float32Array.from({ length: sizeOf(dims) }, () =>
        dims.length === 1 ? 1 : (3 / Math.sqrt(dims[1]!)) * next(),
      ),
    ]),
  );
}

async function measure(shape: ModelShape, rows: number, length: number): Promise<Measurement> {
  const gemmGflops = await gemmRate(shape, Math.min(2048, rows * length));
  const trainer = createTrainer(shape, weightsOf(shape), {
    threads: 1,
    memoryLimitBytes: 12e9,
    trainable: true,
  });
  const trees = Array.from({ length: rows }, (_, i) => rowOf(length, shape.vocabulary, i));
  const tokens = rows * length;
  const { cpu, wall } = await best(
    async () => {
      await trainer.accumulate({ trees, temperature: 1 }, LIKELIHOOD);
    },
    shape.layers > 10 ? 1 : 4,
  );
  await trainer.release();
  // Forward and backward: 6 per parameter (the embedding counts once, as the head), and causal attention.
  const attention = (3 * 2 * 2 * shape.layers * shape.heads * shape.headDim * length) / 2;
  const gflops = (tokens * (6 * parameterCount(shape) + attention)) / cpu / 1e9;
  return {
    tokens,
    tokensPerCpuSecond: tokens / cpu,
    tokensPerSecond: tokens / wall,
    gflops,
    gemmGflops,
    share: gflops / gemmGflops,
  };
}

const isLarge = process.argv.includes('--large');
const hasAvx512 = readFileSync('/proc/cpuinfo', 'utf8').includes('avx512f');
const results: Record<string, Measurement> = {};
console.log(`AVX-512: ${hasAvx512 ? 'yes' : 'no'}; one thread`);
for (const [name, { shape, rows, length }] of Object.entries(cases)) {
  if (name === '135M' && !isLarge) continue;
  const result = await measure(shape, rows, length);
  results[name] = result;
  console.log(
    `${name.padEnd(7)} ${rows} × ${length} tokens: ${result.tokensPerCpuSecond.toFixed(0)} tokens per CPU-second, ` +
      `${result.gflops.toFixed(1)} GFLOP/s = ${(100 * result.share).toFixed(0)} % of MatMul's ${result.gemmGflops.toFixed(1)}`,
  );
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ avx512: hasAvx512, threads: 1, results }));

/** Models and rows that the benchmarks run: shapes by name, random weights. Knows nothing of what is measured. */
import { streamKey, uniform } from '../../src/core/random.ts';
import { packRows } from '../../src/core/batch.ts';
import type { PackedTree } from '../../src/core/batch.ts';
import { modelTensors, sizeOf } from '../../src/core/modelShape.ts';
import type { ModelShape } from '../../src/core/modelShape.ts';

const common = {
  architecture: 'llama',
  epsilon: 1e-5,
  ropeTheta: 10_000,
  tiedHead: true,
  attentionBias: false,
  headNorm: false,
  contextLength: 2048,
} as const;

/** The same sizes stand in peers/models.py. */
export const shapes = {
  sample: {
    ...common,
    ...{ hidden: 128, layers: 4, heads: 4, keyValueHeads: 2, headDim: 32 },
    ...{ feedForward: 352, vocabulary: 2048 },
  },
  '4M': {
    ...common,
    ...{ hidden: 256, layers: 4, heads: 4, keyValueHeads: 2, headDim: 64 },
    ...{ feedForward: 704, vocabulary: 4096 },
  },
  '135M': {
    ...common,
    ...{ hidden: 576, layers: 30, heads: 9, keyValueHeads: 3, headDim: 64 },
    ...{ feedForward: 1536, vocabulary: 49_152 },
  },
  '05B': {
    ...common,
    ...{ hidden: 896, layers: 24, heads: 14, keyValueHeads: 2, headDim: 64 },
    ...{ feedForward: 4864, vocabulary: 151_936 },
    ...({ architecture: 'qwen2', attentionBias: true } as const),
  },
} satisfies Record<string, ModelShape>;
export type ShapeName = keyof typeof shapes;

/** What forward and backward are measured on. */
export const rowsOf: Readonly<Record<ShapeName, { rows: number; length: number }>> = {
  sample: { rows: 32, length: 120 },
  '4M': { rows: 4, length: 512 },
  '135M': { rows: 8, length: 256 },
  '05B': { rows: 4, length: 256 },
};

/** Speed does not depend on the weights, as long as nothing overflows or vanishes. */
export function randomWeights(shape: ModelShape): Map<string, Float32Array> {
  let state = 1;
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  return new Map(
    [...modelTensors(shape)].map(([name, dims]) => {
      const spread = 3 / Math.sqrt(dims[1] ?? 1);
      return [
        name,
        Float32Array.from({ length: sizeOf(dims) }, () => (dims.length === 1 ? 1 : spread * next())),
      ];
    }),
  );
}

export const randomIds = (shape: ModelShape, count: number, seed: number): Int32Array =>
  Int32Array.from({ length: count }, (_, i) =>
    Math.floor(uniform(streamKey('ids', seed), i) * shape.vocabulary),
  );

/** Rows all tokens of which but the first are trained. */
export function trainedRows(shape: ModelShape, rows: number, length: number): readonly PackedTree[] {
  const weights = Float32Array.from({ length }, (_, i) => (i === 0 ? 0 : 1));
  return packRows(Array.from({ length: rows }, (_, i) => ({ ids: randomIds(shape, length, i), weights })))
    .trees;
}

export const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

export interface Spent {
  /** Seconds of all threads, and of the clock. */
  cpu: number;
  wall: number;
}

/** Runs something a few times, after `warmUps` runs that do not count; the best run counts. */
export async function best(run: () => Promise<unknown>, runs: number, warmUps = 1): Promise<Spent> {
  for (let i = 0; i < warmUps; i++) await run();
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

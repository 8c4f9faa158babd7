/** Measures forward and backward of a model, beside ONNX Runtime's own matrix products and the memory estimate. */
import { LIKELIHOOD } from '../../src/core/objective.ts';
import { Graph } from '../../src/worker/policy/embedded/graph.ts';
import { estimate, packSizeOf } from '../../src/core/modelMemory.ts';
import { gemm } from '../../src/worker/policy/embedded/ops.ts';
import { compile, float32 } from '../../src/worker/policy/embedded/sessions.ts';
import { parameterCount } from '../../src/core/modelShape.ts';
import type { ModelShape } from '../../src/core/modelShape.ts';
import { createTrainer } from '../../src/worker/policy/embedded/trainer.ts';
import { best, randomWeights, rowsOf, shapes, trainedRows } from './models.ts';
import type { ShapeName, Spent } from './models.ts';

export interface TrainResult extends Spent {
  tokens: number;
  /** GFLOP of useful matrix products per CPU-second, and that of ONNX Runtime's Gemm on the model's own sizes. */
  gflops: number;
  gemmGflops: number;
  share: number;
  /** Of the whole process, an optimiser step included, as measured and as estimated. */
  peakBytes: number;
  estimatedBytes: number;
}

/** GFLOP/s of Gemm over the matrices of one layer, weighted by their work. */
async function gemmRate(shape: ModelShape, rows: number, threads: number): Promise<number> {
  const { hidden, feedForward, heads, headDim } = shape;
  let flops = 0;
  let seconds = 0;
  for (const [inner, outer] of [
    [hidden, heads * headDim],
    [hidden, feedForward],
    [feedForward, hidden],
  ] as const) {
    const g = new Graph();
    g.output('y', gemm(g, g.input('x', [rows, inner]), g.input('w', [outer, inner]), { transB: true }));
    const program = await compile(g.build(), { threads });
    const feeds = {
      x: float32(new Float32Array(rows * inner).fill(0.5), [rows, inner]),
      w: float32(new Float32Array(outer * inner).fill(0.1), [outer, inner]),
    };
    const repeats = Math.max(1, Math.round(5e8 / (rows * inner * outer)));
    const { cpu } = await best(async () => {
      for (let i = 0; i < repeats; i++) await program.run(feeds);
    }, 5);
    await program.release();
    flops += 2 * rows * inner * outer;
    seconds += cpu / repeats;
  }
  return flops / seconds / 1e9;
}

const STEP = {
  learningRate: 1e-6,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
};

export async function measureTraining(
  name: ShapeName,
  { threads, isKept, runs }: { threads: number; isKept: boolean; runs: number },
): Promise<TrainResult> {
  const shape = shapes[name];
  const { rows, length } = rowsOf[name];
  const tokens = rows * length;
  const memoryLimitBytes = isKept ? Infinity : 0;
  const trainer = createTrainer(shape, randomWeights(shape), { threads, memoryLimitBytes, trainable: true });
  const trees = trainedRows(shape, rows, length);
  const learn = () => trainer.accumulate({ trees, temperature: 1 }, LIKELIHOOD);
  await learn();
  trainer.step(STEP);
  const spent = await best(learn, runs);
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  await trainer.release();
  // Only now, so that the peak is that of training alone; twice, because other processes slow either down.
  const rate = (): Promise<number> => gemmRate(shape, Math.min(2048, tokens), threads);
  const gemmGflops = Math.max(await rate(), await rate());
  // Forward and backward: 6 per parameter (the embedding counts once, as the head), and causal attention.
  const attention = (3 * 2 * 2 * shape.layers * shape.heads * shape.headDim * length) / 2;
  const gflops = (tokens * (6 * parameterCount(shape) + attention)) / spent.cpu / 1e9;
  const size = packSizeOf({ tokens, treeTokens: length, longest: length });
  const estimatedBytes = estimate(shape, size, isKept);
  return { ...spent, tokens, gflops, gemmGflops, share: gflops / gemmGflops, peakBytes, estimatedBytes };
}

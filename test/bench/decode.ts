/**
 * Decoding speed of the embedded engine: tokens per second at several batch sizes, and of prefilling many prompts at once.
 * Usage: node .ci/node24.mjs test/bench/decode.ts [--large] [--json]. Random weights; speed does not depend on them.
 */
import { cpus } from 'node:os';
import { makePieces } from '../../src/core/pieces.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import { openSampler, type Sampler } from '../../src/worker/policy/embedded/sampler.ts';
import { modelTensors, sizeOf, type ModelShape } from '../../src/worker/policy/embedded/shape.ts';

const isLarge = process.argv.includes('--large');
const small = {
  hidden: 128,
  layers: 4,
  heads: 4,
  keyValueHeads: 2,
  headDim: 32,
  feedForward: 352,
  vocabulary: 2048,
};
const large = {
  hidden: 576,
  layers: 30,
  heads: 9,
  keyValueHeads: 3,
  headDim: 64,
  feedForward: 1536,
  vocabulary: 49152,
};
const shape: ModelShape = {
  ...(isLarge ? large : small),
  ...{
    architecture: 'llama',
    epsilon: 1e-5,
    ropeTheta: 10000,
    tiedHead: true,
    attentionBias: false,
    headNorm: false,
    contextLength: 2048,
  },
};
const setting = isLarge
  ? { prompt: 150, tokens: 24, sizes: [1, 8, 32] }
  : { prompt: 150, tokens: 100, sizes: [1, 8, 32, 64] };

const weights = new Map(
  [...modelTensors(shape)].map(([name, dims]) => {
    const spread = dims.length === 1 ? 0.1 : 1 / Math.sqrt(dims[1]!);
    const stream = streamKey(name);
    return [
      name,
      Float32Array.from(
        { length: sizeOf(dims) },
        (_, i) => (dims.length === 1 ? 1 : 0) + spread * 3.4 * (uniform(stream, i) - 0.5),
      ),
    ];
  }),
);

const promptOf = (seed: number): Int32Array =>
  Int32Array.from({ length: setting.prompt }, (_, i) =>
    Math.floor(uniform(streamKey('prompt', seed), i) * shape.vocabulary),
  );

let requests = 0;
async function seconds(sampler: Sampler, rows: number, maxTokens: number): Promise<number> {
  const started = process.cpuUsage();
  await Promise.all(
    Array.from({ length: rows }, () => {
      const n = requests++;
      const path = [{ key: `prompt ${n}`, ids: promptOf(n) }];
      return sampler.sample({
        path,
        key: `answer ${n}`,
        maxTokens,
        temperature: 1,
        stream: n,
        streamOffset: 0,
        topLogProbs: 0,
      });
    }),
  );
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1e6;
}

const sampler = await openSampler({
  ...{
    shape,
    weights,
    threads: 1,
    maxPathTokens: 512,
    pieces: makePieces([]),
    stops: [],
    endIds: [],
    cacheBytes: 256 << 20,
  },
});
await seconds(sampler, 2, 4);
const decode: Record<string, number> = {};
const prefill: Record<string, number> = {};
for (const rows of setting.sizes) {
  const filled = await seconds(sampler, rows, 1);
  const whole = await seconds(sampler, rows, setting.tokens + 1);
  sampler.forget('');
  decode[rows] = Math.round((rows * setting.tokens) / (whole - filled));
  prefill[rows] = Math.round((rows * setting.prompt) / filled);
  if (!process.argv.includes('--json'))
    console.log(
      `batch ${rows}: decode ${decode[rows]} tokens/s, prefill ${prefill[rows]} tokens/s (CPU time, one thread)`,
    );
}
await sampler.close();
console.log(
  JSON.stringify({
    bench: 'decode',
    shape: isLarge ? '135M' : 'sample',
    cpu: cpus()[0]?.model,
    ...{ decode, prefill },
  }),
);

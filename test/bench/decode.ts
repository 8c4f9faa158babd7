/** Measures the sampler: tokens per second at a batch size, and of reading prompts. */
import { makePieces } from '../../src/core/pieces.ts';
import { openSampler } from '../../src/worker/policy/embedded/sampler.ts';
import type { Sampler } from '../../src/worker/policy/embedded/sampler.ts';
import { cpuSeconds, randomIds, randomWeights, shapes } from './models.ts';
import type { ShapeName, Spent } from './models.ts';

/** The same numbers stand in peers/decode.py. */
const PROMPT = 150;
const TOKENS = 24;

export interface DecodeResult {
  /** Tokens per CPU-second and per second, drawn and read. */
  decode: number;
  decodeWall: number;
  prefill: number;
}

export async function measureDecoding(
  name: ShapeName,
  { threads, rows }: { threads: number; rows: number },
): Promise<DecodeResult> {
  const shape = shapes[name];
  const sampler = await openSampler({
    ...{ shape, weights: randomWeights(shape), threads, maxPathTokens: 512, pieces: makePieces([]) },
    ...{ stops: [], endIds: [], cacheBytes: 1 << 30 },
  });
  let seed = 0;
  const run = async (maxTokens: number): Promise<Spent> => {
    const paths = Array.from({ length: rows }, () => ({
      key: `prompt ${seed}`,
      ids: randomIds(shape, PROMPT, seed++),
    }));
    const [cpu, wall] = [cpuSeconds(), performance.now()];
    await Promise.all(paths.map(path => drawn(sampler, path, maxTokens)));
    const spent = { cpu: cpuSeconds() - cpu, wall: (performance.now() - wall) / 1000 };
    sampler.forget('');
    return spent;
  };
  await run(4);
  const [first, second] = [await run(1), await run(1)];
  const filled = { cpu: Math.min(first.cpu, second.cpu), wall: Math.min(first.wall, second.wall) };
  const [third, fourth] = [await run(TOKENS + 1), await run(TOKENS + 1)];
  const whole = { cpu: Math.min(third.cpu, fourth.cpu), wall: Math.min(third.wall, fourth.wall) };
  await sampler.close();
  return {
    decode: (rows * TOKENS) / (whole.cpu - filled.cpu),
    decodeWall: (rows * TOKENS) / (whole.wall - filled.wall),
    prefill: (rows * PROMPT) / filled.cpu,
  };
}

const drawn = (sampler: Sampler, stretch: { key: string; ids: Int32Array }, maxTokens: number) =>
  sampler.sample({
    ...{ path: [stretch], key: `${stretch.key} answer`, maxTokens, temperature: 1 },
    ...{ stream: stretch.ids[0]!, streamOffset: 0, topLogProbs: 0 },
  });

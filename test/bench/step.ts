/**
 * Measures a whole ARPO step half of whose trajectories are branches: a turn, a tool's result, a second turn by the path
 * itself and by its branch, one update. Trained as trees, and, for comparison, as separate rows.
 */
import type { PackedTree } from '../../src/core/batch.ts';
import type { ObjectiveSettings } from '../../src/core/objective.ts';
import { makePieces } from '../../src/core/pieces.ts';
import { openSampler } from '../../src/worker/policy/embedded/sampler.ts';
import type { Sampler } from '../../src/worker/policy/embedded/sampler.ts';
import { createTrainer } from '../../src/worker/policy/embedded/trainer.ts';
import type { Trainer } from '../../src/worker/policy/embedded/trainer.ts';
import type { Stretch } from '../../src/worker/policy/policy.ts';
import { packPieces } from '../worker/policy/embedded/fixtures.ts';
import type { Piece } from '../worker/policy/embedded/fixtures.ts';
import { best, randomIds, randomWeights, shapes } from './models.ts';
import type { ShapeName, Spent } from './models.ts';

/** The same numbers stand in peers/step.py: tokens of a prompt, a turn and a tool's result, and initial paths per prompt. */
const [PROMPT, TURN, RESULT, INITIAL] = [64, 32, 32, 4];
/** Prompts per step; each has twice as many trajectories as initial paths. */
export const prompts: Readonly<Record<ShapeName, number>> = { sample: 4, '4M': 4, '135M': 1, '05B': 1 };

const OBJECTIVE: ObjectiveSettings = {
  ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klWeight: 0, entropyWeight: 0 },
};
const STEP = {
  learningRate: 1e-6,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradientNorm: 1,
};

export interface StepResult {
  step: Spent;
  sampling: Spent;
  /** Update from trees, and from the same trajectories as rows. */
  trees: Spent;
  rows: Spent;
  /** Tokens that go through the layers with and without sharing. */
  treeTokens: number;
  rowTokens: number;
}

/** Stretches of one prompt's tree. */
interface Rollout {
  prompt: Stretch;
  paths: { turn: Stretch; result: Stretch; ends: Stretch[] }[];
}

export async function measureStep(name: ShapeName, threads: number): Promise<StepResult> {
  const shape = shapes[name];
  const weights = randomWeights(shape);
  const sampler = await openSampler({
    ...{ shape, weights, threads, maxPathTokens: 512, pieces: makePieces([]), stops: [], endIds: [] },
    cacheBytes: 1 << 30,
  });
  const trainer = createTrainer(shape, weights, { threads, memoryLimitBytes: Infinity, trainable: true });
  let seed = 0;
  const roll = (): Promise<Rollout[]> =>
    Promise.all(
      Array.from({ length: prompts[name] }, () =>
        rollout(sampler, seed++, count => randomIds(shape, count, seed++)),
      ),
    );
  let rollouts: Rollout[] = [];
  const sample = async (): Promise<void> => {
    sampler.forget('');
    rollouts = await roll();
  };
  const updateFrom = async (trees: readonly PackedTree[]): Promise<void> => {
    await trainer.accumulate({ trees, temperature: 1 }, OBJECTIVE);
    trainer.step(STEP);
  };
  const runs = shape.layers > 10 ? 2 : 4;
  const step = await best(async () => {
    await sample();
    await updateFrom(rollouts.map(asTree));
  }, runs);
  const sampling = await best(sample, runs, 0);
  const treeTokens = await tokensOf(trainer, () => updateFrom(rollouts.map(asTree)));
  const rowTokens = await tokensOf(trainer, () => updateFrom(rollouts.flatMap(asRows)));
  const trees = await best(() => updateFrom(rollouts.map(asTree)), runs, 0);
  const rows = await best(() => updateFrom(rollouts.flatMap(asRows)), runs, 0);
  await Promise.all([sampler.close(), trainer.release()]);
  return { step, sampling, trees, rows, treeTokens, rowTokens };
}

async function tokensOf(trainer: Trainer, task: () => Promise<void>): Promise<number> {
  const before = trainer.work().tokens;
  await task();
  return trainer.work().tokens - before;
}

async function rollout(sampler: Sampler, seed: number, ids: (count: number) => Int32Array): Promise<Rollout> {
  const prompt = { key: `prompt ${seed}`, ids: ids(PROMPT) };
  const continued = async (path: readonly Stretch[], key: string): Promise<Stretch> => {
    const stream = seed * 1000 + key.length;
    const request = { path, key, maxTokens: TURN, temperature: 1, stream, streamOffset: 0, topLogProbs: 0 };
    return { key, ids: (await sampler.sample(request)).ids };
  };
  const paths = Array.from({ length: INITIAL }, async (_, i) => {
    const turn = await continued([prompt], `turn ${seed} ${i}`);
    const result = { key: `result ${seed} ${i}`, ids: ids(RESULT) };
    const ends = ['own', 'branch'].map(end => continued([prompt, turn, result], `${end} ${seed} ${i}`));
    return { turn, result, ends: await Promise.all(ends) };
  });
  return { prompt, paths: await Promise.all(paths) };
}

/** Advantages of any size do, as long as none is 0. */
const termsOf = ({ ids }: Stretch, advantages: readonly number[]): Piece['terms'] =>
  Array.from(ids, () => advantages.map(advantage => ({ advantage, weight: 1e-3 })));

function asTree({ prompt, paths }: Rollout): PackedTree {
  const pieces: Piece[] = [{ parent: -1, ids: [...prompt.ids] }];
  const add = (parent: number, { ids }: Stretch, terms: Piece['terms']): number =>
    pieces.push({ parent, ids: [...ids], ...(terms && { terms }) }) - 1;
  for (const { turn, result, ends } of paths) {
    const turnPiece = add(0, turn, termsOf(turn, [1, -0.5]));
    const resultPiece = add(turnPiece, result, undefined);
    ends.forEach((end, i) => add(resultPiece, end, termsOf(end, [i === 0 ? 1 : -0.5])));
  }
  return packPieces(pieces);
}

const asRows = ({ prompt, paths }: Rollout): PackedTree[] =>
  paths.flatMap(({ turn, result, ends }) =>
    ends.map((end, i) => {
      const advantages = [i === 0 ? 1 : -0.5];
      const terms = [undefined, termsOf(turn, advantages), undefined, termsOf(end, advantages)];
      const stretches = [prompt, turn, result, end];
      return packPieces(
        stretches.map(({ ids }, n) => ({
          ...{ parent: n - 1, ids: [...ids] },
          ...(terms[n] && { terms: terms[n] }),
        })),
      );
    }),
  );

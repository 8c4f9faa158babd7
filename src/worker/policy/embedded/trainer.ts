/** Scores packed trees, accumulates gradients and steps: training in this process. Knows nothing of files or sampling. */
import type { Batch, PackedTree } from '../../../core/batch.ts';
import { evaluate, mergeReports } from '../../../core/objective.ts';
import type { ObjectiveReport, ObjectiveSettings, ObjectiveSums } from '../../../core/objective.ts';
import { FailureError } from '../../../core/types.ts';
import type { Scores, StepReport, StepSettings } from '../policy.ts';
import { clipFactor, emptyState, globalNorm, updateTensor } from './adamw.ts';
import type { OptimizerState } from './adamw.ts';
import { estimate } from './memory.ts';
import { backward, forward, makeModel, runHead, runHeadBackward } from './passes.ts';
import type { Gradients, HeadRows, Model } from './passes.ts';
import { packs } from './plan.ts';
import type { Pack } from './plan.ts';
import { checkWeights, modelTensors } from './shape.ts';
import type { ModelShape } from './shape.ts';

export interface TrainerOptions {
  threads: number;
  /** Activations are recomputed where keeping them would take more than this. */
  memoryLimitBytes: number;
  /** False for scoring only: accumulate and step then fail. */
  trainable: boolean;
  /** Tokens that run together; more cost memory, fewer cost time. Default 2048. */
  packTokens?: number;
}

/** The verbs must be asked one after the other: each waits for the promise of the one before. */
export interface Trainer {
  /** Log-probability and entropy of every token but the first, by the current weights. */
  score(trees: readonly PackedTree[], temperature: number): Promise<Scores[]>;
  /** Adds the gradient of the batch's loss. The scores are NaN where a token is not trained. */
  accumulate(
    batch: Batch,
    objective: ObjectiveSettings,
  ): Promise<{ report: ObjectiveReport; scores: Scores[] }>;
  /** AdamW on the sum of the gradients since the last step, in place; forgets them also where it refuses them. */
  step(settings: StepSettings): StepReport;
  /** The live state, not a copy. */
  optimizer(): OptimizerState;
  setOptimizer(state: OptimizerState): void;
  /** The live sums since the last step, by tensor; empty after a step. */
  gradients(): ReadonlyMap<string, Float32Array>;
  release(): Promise<void>;
}

const PACK_TOKENS = 2048;

/** The tokens that the head is asked about, as rows of the pack. */
interface Asked extends HeadRows {
  /** [entry] row of the token itself. */
  tokens: Int32Array;
}

/** All tokens that have a predecessor, or only those that have terms in the loss. */
function askedOf({ trees, rowStart }: Pack, onlyTrained: boolean): Asked {
  const tokens: number[] = [];
  const rows: number[] = [];
  const targets: number[] = [];
  trees.forEach(({ ids, previous, termStart }, t) => {
    for (let i = 0; i < ids.length; i++) {
      if (previous[i]! < 0 || (onlyTrained && termStart[i] === termStart[i + 1])) continue;
      tokens.push(rowStart[t]! + i);
      rows.push(rowStart[t]! + previous[i]!);
      targets.push(ids[i]!);
    }
  });
  return { tokens: Int32Array.from(tokens), rows: Int32Array.from(rows), targets: Int32Array.from(targets) };
}

/** Spreads values [entry] over the pack's rows; NaN elsewhere. */
function spread({ trees, rowStart }: Pack, { tokens }: Asked, values: Float32Array): Float32Array {
  const out = new Float32Array(rowStart[trees.length]!).fill(NaN);
  tokens.forEach((row, i) => (out[row] = values[i]!));
  return out;
}

function scoresByTree(pack: Pack, asked: Asked, { logProbs, entropies }: Scores): Scores[] {
  const spreadLogProbs = spread(pack, asked, logProbs);
  const spreadEntropies = spread(pack, asked, entropies);
  return pack.trees.map((_, t) => ({
    logProbs: spreadLogProbs.slice(pack.rowStart[t], pack.rowStart[t + 1]),
    entropies: spreadEntropies.slice(pack.rowStart[t], pack.rowStart[t + 1]),
  }));
}

const noScores = ({ ids }: PackedTree): Scores => ({
  logProbs: new Float32Array(ids.length).fill(NaN),
  entropies: new Float32Array(ids.length).fill(NaN),
});

function check(shape: ModelShape, trees: readonly PackedTree[], temperature: number): void {
  if (!(temperature > 0))
    throw new FailureError({
      where: 'policy',
      message: `The temperature must be above 0, but is ${temperature}.`,
    });
  for (const { ids } of trees)
    for (const id of ids)
      if (id < 0 || id >= shape.vocabulary)
        throw new FailureError({
          where: 'policy',
          message: `Token id ${id} is outside the model's vocabulary of ${shape.vocabulary}.`,
        });
}

async function score(
  model: Model,
  trees: readonly PackedTree[],
  temperature: number,
  budget: number,
): Promise<Scores[]> {
  check(model.shape, trees, temperature);
  const scores = trees.map(noScores);
  for (const pack of packs(model.shape, trees, budget)) {
    const asked = askedOf(pack, false);
    if (asked.rows.length === 0) continue;
    const { hidden } = await forward(model, pack, 'nothing');
    const found = await runHead(model, hidden, asked, temperature);
    scoresByTree(pack, asked, found).forEach((each, t) => (scores[pack.indices[t]!] = each));
  }
  return scores;
}

interface PackResult {
  sums: ObjectiveSums[];
  scores: Scores[];
}

/** Forward, loss and backward of one pack. */
async function learn(
  { model, gradients, keep }: { model: Model; gradients: Gradients; keep: boolean },
  pack: Pack,
  objective: ObjectiveSettings,
  temperature: number,
): Promise<PackResult> {
  const asked = askedOf(pack, true);
  const result = await forward(model, pack, keep ? 'activations' : 'inputs');
  const scores = scoresByTree(pack, asked, await runHead(model, result.hidden, asked, temperature));
  const derivatives = pack.trees.map((tree, t) =>
    evaluate(tree, scores[t]!.logProbs, scores[t]!.entropies, objective),
  );
  const gathered = (key: 'dLogProb' | 'dEntropy'): Float32Array => {
    const flat = new Float32Array(pack.rowStart[pack.trees.length]!);
    derivatives.forEach((each, t) => flat.set(each[key], pack.rowStart[t]));
    return Float32Array.from(asked.tokens, row => flat[row]!);
  };
  const at = { hidden: result.hidden, asked, temperature };
  const dHidden = await runHeadBackward(
    model,
    at,
    { dLogProb: gathered('dLogProb'), dEntropy: gathered('dEntropy') },
    gradients,
  );
  await backward(model, pack, result, dHidden, gradients);
  return { sums: derivatives.map(({ sums }) => sums), scores };
}

const packSize = ({ trees, rowStart, feeds }: Pack): { rows: number; keysPerRow: number } => ({
  rows: rowStart[trees.length]!,
  keysPerRow: feeds['keyRows']!.dims[1]!,
});

/** Packs nothing of which is trained are not run at all. */
const isTrained = (tree: PackedTree): boolean => tree.termStart[tree.ids.length]! > 0;

/** The gradient is refused where its norm is not finite: then nothing changes. */
function step(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  gradients: Gradients,
  state: OptimizerState,
  settings: StepSettings,
): StepReport {
  const gradientNorm = globalNorm(gradients.values());
  const applied = Number.isFinite(gradientNorm);
  if (applied) {
    const factor = clipFactor(gradientNorm, settings.maxGradientNorm);
    state.steps++;
    for (const [name, dims] of modelTensors(shape)) {
      const weight = weights.get(name)!;
      const gradient = gradients.get(name) ?? new Float32Array(weight.length);
      updateTensor(state, { name, weight, gradient, decays: dims.length > 1 }, settings, factor);
    }
  }
  gradients.clear();
  return { gradientNorm, applied };
}

/** The weights, by Hugging Face names, are the caller's arrays and are changed in place by steps. */
export function createTrainer(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  options: TrainerOptions,
): Trainer {
  checkWeights(shape, weights);
  const model = makeModel(shape, weights, options.threads);
  const budget = options.packTokens ?? PACK_TOKENS;
  const gradients: Gradients = new Map();
  let state = emptyState();
  const needTrainable = (): void => {
    if (!options.trainable)
      throw new FailureError({
        where: 'bug',
        message: 'The policy was opened for scoring only and cannot learn.',
      });
  };
  return {
    score: (trees, temperature) => score(model, trees, temperature, budget),
    async accumulate({ trees, temperature }, objective) {
      needTrainable();
      check(shape, trees, temperature);
      const scores = trees.map(noScores);
      const sums: ObjectiveSums[] = [];
      const trained = trees.map(tree => (isTrained(tree) ? tree : EMPTY));
      for (const pack of packs(shape, trained, budget)) {
        const keep = estimate(shape, packSize(pack), true) <= options.memoryLimitBytes;
        const result = await learn({ model, gradients, keep }, pack, objective, temperature);
        sums.push(...result.sums);
        result.scores.forEach((each, t) => (scores[pack.indices[t]!] = each));
      }
      return { report: mergeReports(sums), scores };
    },
    step(settings) {
      needTrainable();
      return step(shape, weights, gradients, state, settings);
    },
    optimizer: () => state,
    setOptimizer: next => {
      state = next;
    },
    gradients: () => gradients,
    release: () => model.release(),
  };
}

const EMPTY: PackedTree = {
  ids: new Int32Array(0),
  positions: new Int32Array(0),
  subtreeEnd: new Int32Array(0),
  previous: new Int32Array(0),
  termStart: new Int32Array(1),
  termAdvantage: new Float32Array(0),
  termWeight: new Float32Array(0),
  termPath: new Int32Array(0),
};

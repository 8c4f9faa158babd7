/** Scores packed trees, accumulates gradients and steps: training in this process. Knows nothing of files or sampling. */
import type { Batch, PackedTree } from '../../../core/batch.ts';
import { evaluate, mergeReports } from '../../../core/objective.ts';
import type {
  Derivatives,
  ObjectiveReport,
  ObjectiveSettings,
  ObjectiveSums,
} from '../../../core/objective.ts';
import { FailureError } from '../../../core/types.ts';
import type { Scores, StepReport, StepSettings } from '../policy.ts';
import { clipFactor, emptyState, globalNorm, updateTensor } from './adamw.ts';
import type { OptimizerState } from './adamw.ts';
import { estimate } from './memory.ts';
import { backward, forward, makeModel, runHead, runHeadBackward } from './passes.ts';
import type { Gradients, HeadDerivatives, HeadRows, Model } from './passes.ts';
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
  /** Tokens that run together; more cost memory, fewer cost time. Default 1024. */
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

const PACK_TOKENS = 1024;

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
  const sums = derivatives.map(each => each.sums);
  const changing = changingRows(pack, asked, derivatives);
  if (changing.asked.rows.length === 0) return { sums, scores };
  const at = { hidden: result.hidden, asked: changing.asked, temperature };
  const dHidden = await runHeadBackward(model, at, changing, gradients);
  await backward(model, pack, result, dHidden, gradients);
  return { sums, scores };
}

/** The entries of the head that the loss depends on, with its derivatives [entry]: clipped tokens are none of them. */
function changingRows(
  { trees, rowStart }: Pack,
  { tokens, rows, targets }: Asked,
  derivatives: readonly Derivatives[],
): HeadDerivatives & { asked: HeadRows } {
  const flat = {
    dLogProb: new Float32Array(rowStart[trees.length]!),
    dEntropy: new Float32Array(rowStart[trees.length]!),
  };
  derivatives.forEach(({ dLogProb, dEntropy }, t) => {
    flat.dLogProb.set(dLogProb, rowStart[t]);
    flat.dEntropy.set(dEntropy, rowStart[t]);
  });
  const entries = Int32Array.from(tokens.keys()).filter(entry => {
    const row = tokens[entry]!;
    return flat.dLogProb[row] !== 0 || flat.dEntropy[row] !== 0;
  });
  return {
    asked: { rows: entries.map(entry => rows[entry]!), targets: entries.map(entry => targets[entry]!) },
    dLogProb: Float32Array.from(entries, entry => flat.dLogProb[tokens[entry]!]!),
    dEntropy: Float32Array.from(entries, entry => flat.dEntropy[tokens[entry]!]!),
  };
}

const packSize = ({ trees, rowStart, feeds }: Pack): { rows: number; keysPerRow: number } => ({
  rows: rowStart[trees.length]!,
  keysPerRow: feeds['keyRows']!.dims[1]!,
});

/** Trees nothing of which is trained are not run at all. */
const isTrained = (tree: PackedTree): boolean => tree.termStart[tree.ids.length]! > 0;

/** Trees without any advantage run together, because mostly their loss has no gradient: then they have no backward pass. */
function* trainingPacks(shape: ModelShape, trees: readonly PackedTree[], budget: number): Generator<Pack> {
  const only = (isWanted: (tree: PackedTree) => boolean): PackedTree[] =>
    trees.map(tree => (isTrained(tree) && isWanted(tree) ? tree : EMPTY));
  const hasAdvantage = ({ termAdvantage }: PackedTree): boolean =>
    termAdvantage.some(advantage => advantage !== 0);
  yield* packs(shape, only(hasAdvantage), budget);
  yield* packs(
    shape,
    only(tree => !hasAdvantage(tree)),
    budget,
  );
}

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
      for (const pack of trainingPacks(shape, trees, budget)) {
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

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
import { estimate, PACK_TOKENS } from '../../../core/modelMemory.ts';
import type { PackSize } from '../../../core/modelMemory.ts';
import { runHead, runHeadBackward } from './headPass.ts';
import type { HeadDerivatives, HeadRows } from './headPass.ts';
import { backward, forward, makeModel } from './passes.ts';
import type { Gradients, Model, Sums } from './passes.ts';
import { packs } from './plan.ts';
import type { Pack } from './plan.ts';
import { discard } from './sessions.ts';
import { checkWeights, modelTensors, sizeOf } from '../../../core/modelShape.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

export interface TrainerOptions {
  threads: number;
  /** Activations are recomputed where keeping them would take more than this. */
  memoryLimitBytes: number;
  /** False for scoring only: accumulate and step then fail. */
  trainable: boolean;
  /** Tokens that run together; more cost memory, fewer cost time. Default 2048. */
  packTokens?: number;
  /** Ends a pass, between two layers. */
  ending?: AbortSignal | undefined;
}

/** What has been computed, in numbers that do not depend on the machine. */
export interface Work {
  /** Rows that went through the layers, forward and backward. */
  tokens: number;
  backwardTokens: number;
  /** Rows that the head was asked about, and those whose loss had a gradient. */
  headRows: number;
  backwardHeadRows: number;
  /** Pairs of a query and a key whose scores were computed by a layer's forward pass. */
  pairs: number;
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
  /** Since the trainer was made. */
  work(): Readonly<Work>;
  release(): Promise<void>;
}

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
  { model, work, budget }: State,
  trees: readonly PackedTree[],
  temperature: number,
): Promise<Scores[]> {
  check(model.shape, trees, temperature);
  const scores = trees.map(noScores);
  for (const pack of packs(model.shape, trees, budget)) {
    const asked = askedOf(pack, false);
    if (asked.rows.length === 0) continue;
    count(work, pack, asked);
    const { hidden } = await forward(model, pack, 'nothing');
    const found = await runHead(model, { hidden, asked, temperature }, false);
    for (const tensor of [...Object.values(pack.feeds), hidden]) discard(tensor);
    scoresByTree(pack, asked, found).forEach((each, t) => (scores[pack.indices[t]!] = each));
  }
  return scores;
}

function count(work: Work, { trees, rowStart, pairs }: Pack, asked: Asked): void {
  work.tokens += rowStart[trees.length]!;
  work.headRows += asked.rows.length;
  work.pairs += pairs;
}

interface PackResult {
  sums: ObjectiveSums[];
  scores: Scores[];
}

/** Forward, loss and backward of one pack. */
async function learn(
  { model, sums, work, memoryLimitBytes }: State,
  pack: Pack,
  objective: ObjectiveSettings,
  temperature: number,
): Promise<PackResult> {
  const asked = askedOf(pack, true);
  const keep = estimate(model.shape, packSize(pack), true) <= memoryLimitBytes;
  count(work, pack, asked);
  const found = await forward(model, pack, keep ? 'activations' : 'inputs');
  const at = { hidden: found.hidden, asked, temperature };
  const result = await runHead(model, at, keep);
  const scores = scoresByTree(pack, asked, result);
  const derivatives = pack.trees.map((tree, t) =>
    evaluate(tree, scores[t]!.logProbs, scores[t]!.entropies, objective),
  );
  const { dHidden, entries } = await runHeadBackward(
    model,
    { ...at, result },
    headDerivatives(pack, asked, derivatives),
    sums,
  );
  if (entries > 0) await backward(model, pack, found, dHidden, sums);
  for (const tensor of [...Object.values(pack.feeds), found.hidden, dHidden]) discard(tensor);
  work.backwardHeadRows += entries;
  work.backwardTokens += entries > 0 ? pack.rowStart[pack.trees.length]! : 0;
  return { sums: derivatives.map(each => each.sums), scores };
}

/** The derivatives of the entries that the head was asked about. */
function headDerivatives(
  { trees, rowStart }: Pack,
  { tokens }: Asked,
  derivatives: readonly Derivatives[],
): HeadDerivatives {
  const rows = rowStart[trees.length]!;
  const [dLogProb, dEntropy] = [new Float32Array(rows), new Float32Array(rows)];
  derivatives.forEach((tree, t) => {
    dLogProb.set(tree.dLogProb, rowStart[t]);
    dEntropy.set(tree.dEntropy, rowStart[t]);
  });
  return {
    dLogProb: Float32Array.from(tokens, row => dLogProb[row]!),
    dEntropy: Float32Array.from(tokens, row => dEntropy[row]!),
  };
}

const packSize = ({ trees, rowStart, pairs }: Pack): PackSize => ({
  rows: rowStart[trees.length]!,
  keysPerRow: pairs / rowStart[trees.length]!,
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
  for (const gradient of gradients.values()) discard(gradient);
  gradients.clear();
  return { gradientNorm, applied };
}

interface State {
  model: Model;
  sums: Sums;
  work: Work;
  /** Rows of a pack. */
  budget: number;
  memoryLimitBytes: number;
}

function makeState(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  { threads, trainable, packTokens, memoryLimitBytes, ending }: TrainerOptions,
): State {
  const largest = Math.max(...[...modelTensors(shape).values()].map(sizeOf));
  return {
    model: makeModel(shape, weights, { threads, ending }),
    sums: { gradients: new Map(), zeros: new Float32Array(trainable ? largest : 0) },
    work: { tokens: 0, backwardTokens: 0, headRows: 0, backwardHeadRows: 0, pairs: 0 },
    budget: packTokens ?? PACK_TOKENS,
    memoryLimitBytes,
  };
}

/** The weights, by Hugging Face names, are the caller's arrays and are changed in place by steps. */
export function createTrainer(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  options: TrainerOptions,
): Trainer {
  checkWeights(shape, weights);
  const state = makeState(shape, weights, options);
  const { gradients } = state.sums;
  let optimizer = emptyState();
  const needTrainable = (): void => {
    if (!options.trainable)
      throw new FailureError({
        where: 'bug',
        message: 'The policy was opened for scoring only and cannot learn.',
      });
  };
  return {
    score: (trees, temperature) => score(state, trees, temperature),
    async accumulate({ trees, temperature }, objective) {
      needTrainable();
      check(shape, trees, temperature);
      const scores = trees.map(noScores);
      const parts: ObjectiveSums[] = [];
      for (const pack of trainingPacks(shape, trees, state.budget)) {
        const result = await learn(state, pack, objective, temperature);
        parts.push(...result.sums);
        result.scores.forEach((each, t) => (scores[pack.indices[t]!] = each));
      }
      return { report: mergeReports(parts), scores };
    },
    step(settings) {
      needTrainable();
      return step(shape, weights, gradients, optimizer, settings);
    },
    optimizer: () => optimizer,
    setOptimizer: next => {
      optimizer = next;
    },
    gradients: () => gradients,
    work: () => state.work,
    release: () => state.model.release(),
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

/** Packs trees into what an engine computes on: every token once, in depth-first order. Knows nothing of engines. */
import { isFlat } from './advantage.ts';
import type { Config } from './config.ts';
import { entropyFactors } from './entropyAdvantage.ts';
import { depthFirst, isTrained, pathsThrough, trainedTokens, type Grown } from './tree.ts';
import type { TokenColumns, Tree } from './types.ts';

/**
 * One tree as arrays, tokens in depth-first order so that a subtree is one interval. Query token i sees key token j iff
 * j <= i < subtreeEnd[j]: that is ancestry plus causality. A token is trained iff it has terms. Trees are never split.
 */
export interface PackedTree {
  /** [token] vocabulary id. */
  ids: Int32Array;
  /** [token] position on its paths, from 0 (RoPE position). */
  positions: Int32Array;
  /** [token] first index after the subtree that hangs below the token's segment. */
  subtreeEnd: Int32Array;
  /** [token] index of the token before it on its paths, whose hidden state predicts it; -1 for the first. */
  previous: Int32Array;
  /** [token + 1] the terms of token i are termStart[i] .. termStart[i + 1] - 1. */
  termStart: Int32Array;
  /** [term] advantage of the trajectory (soft) or of the segment (hard). */
  termAdvantage: Float32Array;
  /** [term] weight in the loss; over a whole mini-batch of token-mean they add to 1 (less what groups without variance leave out). */
  termWeight: Float32Array;
  /** [term] trajectory within the tree that the term belongs to, for sequence-level ratios; -1 for hard credit. */
  termPath: Int32Array;
  /** [token] log-probability before the first update; absent in a step's first update, where it is the current one. */
  oldLogProbs?: Float32Array;
  /** [token] log-probability under the reference policy; only where the KL weight is not 0. */
  referenceLogProbs?: Float32Array;
}

/** One mini-batch: one optimiser update. */
export interface Batch {
  trees: readonly PackedTree[];
  /** Sampling temperature: log-probabilities are of softmax(logits / temperature). */
  temperature: number;
}

/** A batch that remembers which of the grown trees its packed trees are, so that scores find their way back. */
export interface Collated extends Batch {
  /** [packed tree] index in what was collated. */
  members: readonly number[];
}

export interface CollateSettings {
  /**
   * `soft`: one term per (token, trajectory); `hard`: one term per token with the mean advantage of its trajectories;
   * `step`: as soft, with what the turn's own comparison adds.
   */
  credit: 'soft' | 'hard' | 'step';
  aggregation: Config['algorithm']['aggregation'];
  temperature: number;
  /** Normaliser of `seq-mean-token-sum-norm`. */
  maxResponseTokens: number;
  /** Whether segments appended in the model's name are trained. */
  trainForced: boolean;
  /** Leaves trees without terms out of the batch, so that nothing is computed for them. */
  skipZeroAdvantage: boolean;
  /**
   * AEPO's entropy-aware advantage: every term's advantage times 1 + a·z of its token's entropy, which then must be handed
   * in. `upstream`: z by the mini-batch's tokens; `paper`: by those of the token's group. None where absent.
   */
  entropyAdvantage?: { form: 'paper' | 'upstream'; weight: number };
  /** True where a KL or entropy weight also pulls on groups without variance: then these keep their terms. */
  regularised?: boolean;
}

/**
 * One mini-batch from judged and credited trees. Normalisers run over all trajectories handed in, groups without variance
 * included: leaving those out changes no gradient (upstream keeps their rows, at advantage 0).
 *
 * @param entropies [tree][packed token] nats by the trainer, before the step's first update; only where advantages are scaled by them.
 */
export function collate(
  grown: readonly Grown[],
  settings: CollateSettings,
  entropies?: readonly Float32Array[],
): Collated {
  const factors = factorsOf(grown, settings, entropies);
  const weights = trajectoryWeights(grown, settings);
  const members: number[] = [];
  const trees: PackedTree[] = [];
  grown.forEach((one, index) => {
    const { credit } = one.tree;
    if (!credit) throw new Error(`Tree ${one.tree.id} has no credit yet.`);
    const isTeaching = settings.regularised === true || !isFlat(credit);
    if (!isTeaching && settings.skipZeroAdvantage) return;
    members.push(index);
    trees.push(isTeaching ? withTerms(one, weights[index]!, settings, factors?.[index]) : pack(one));
  });
  return { trees, temperature: settings.temperature, members };
}

/** A tree as arrays, without terms: what `score` takes. */
export function pack({ tree, columns }: Grown): PackedTree {
  const order = packedOrder(tree);
  const size = order.length;
  const packed: PackedTree = {
    ids: gather(Int32Array, columns.ids, order),
    positions: new Int32Array(size),
    subtreeEnd: new Int32Array(size),
    previous: new Int32Array(size),
    termStart: new Int32Array(size + 1),
    termAdvantage: new Float32Array(),
    termWeight: new Float32Array(),
    termPath: new Int32Array(),
  };
  placeTokens(tree, packed);
  return packed;
}

/** [packed token] index of the token in the tree's columns. */
export function packedOrder(tree: Tree): Int32Array {
  const order = new Int32Array(tree.segments.reduce((sum, segment) => sum + segment.count, 0));
  let next = 0;
  for (const index of depthFirst(tree)) {
    const { start, count } = tree.segments[index]!;
    for (let token = start; token < start + count; token++) order[next++] = token;
  }
  return order;
}

/** Writes an engine's scores of a packed tree into the tree's column of trainer log-probabilities. */
export function putScores({ tree, columns }: Grown, logProbs: Float32Array): void {
  const order = packedOrder(tree);
  if (logProbs.length !== order.length)
    throw new Error(`Tree ${tree.id} has ${order.length} tokens, but ${logProbs.length} scores came back.`);
  order.forEach((token, packed) => (columns.trainerLogProbs[token] = logProbs[packed]!));
}

/** One row of supervised fine-tuning. */
export interface Row {
  ids: ArrayLike<number>;
  /** [token] weight of the token in the loss: 0 for not trained, 1 for trained; the first token's must be 0. */
  weights: ArrayLike<number>;
}

/** One mini-batch of rows, each a tree of one path, with likelihood terms whose weights add to 1. */
export function packRows(rows: readonly Row[], temperature = 1): Batch {
  const total = rows.reduce((sum, row) => sum + Array.from(row.weights).reduce((a, b) => a + b, 0), 0);
  if (!(total > 0)) throw new Error('No token of these rows is trained.');
  return { trees: rows.map(row => packRow(row, total)), temperature };
}

function packRow({ ids, weights }: Row, total: number): PackedTree {
  const size = ids.length;
  if (weights.length !== size) throw new Error(`A row has ${size} tokens but ${weights.length} weights.`);
  if (weights[0]) throw new Error('The first token of a row has nothing before it and cannot be trained.');
  const termStart = new Int32Array(size + 1);
  for (let token = 0; token < size; token++)
    termStart[token + 1] = termStart[token]! + (weights[token] ? 1 : 0);
  const termWeight = Float32Array.from(
    Array.from(weights).filter(weight => weight !== 0),
    weight => weight / total,
  );
  return {
    ids: Int32Array.from(ids),
    positions: Int32Array.from({ length: size }, (_, token) => token),
    subtreeEnd: new Int32Array(size).fill(size),
    previous: Int32Array.from({ length: size }, (_, token) => token - 1),
    termStart,
    termAdvantage: new Float32Array(termWeight.length).fill(1),
    termWeight,
    termPath: new Int32Array(termWeight.length),
  };
}

/** [tree][path] weight in the loss of every trained token of the path. */
function trajectoryWeights(grown: readonly Grown[], settings: CollateSettings): number[][] {
  const counts = grown.map(({ tree }) =>
    tree.paths.map((_, path) => trainedTokens(tree, path, settings.trainForced)),
  );
  const trajectories = counts.reduce((sum, ofTree) => sum + ofTree.length, 0);
  const tokens = counts.flat().reduce((sum, count) => sum + count, 0);
  const weightOf = (count: number): number => {
    switch (settings.aggregation) {
      case 'token-mean':
        return 1 / tokens;
      case 'seq-mean-token-sum':
        return 1 / trajectories;
      case 'seq-mean-token-mean':
        return 1 / (trajectories * count);
      case 'seq-mean-token-sum-norm':
        // upstream: verl leaves the number of trajectories out, so that the gradient grows with the rows of its micro-batch.
        return 1 / (trajectories * settings.maxResponseTokens);
    }
  };
  return counts.map(ofTree => ofTree.map(weightOf));
}

/** [tree][packed token] what the token's advantages are multiplied by; undefined for nothing. */
function factorsOf(
  grown: readonly Grown[],
  { entropyAdvantage, trainForced }: CollateSettings,
  entropies: readonly Float32Array[] | undefined,
): Float64Array[] | undefined {
  if (!entropyAdvantage) return undefined;
  if (entropies?.length !== grown.length)
    throw new Error('Advantages are to be scaled by entropies, but the trees’ entropies were not handed in.');
  const { form, weight } = entropyAdvantage;
  const parts = grown.map(({ tree }, index) => {
    const through = pathsThrough(tree);
    const copies = depthFirst(tree).flatMap(segment => {
      const { kind, count } = tree.segments[segment]!;
      return new Array<number>(count).fill(isTrained(kind, trainForced) ? through[segment]!.length : 0);
    });
    return { entropies: entropies[index]!, copies };
  });
  return form === 'upstream'
    ? entropyFactors(parts, weight)
    : parts.flatMap(part => entropyFactors([part], weight));
}

/** Packs a tree with one term per (trained token, trajectory), or per trained token under hard credit. */
function withTerms(
  one: Grown,
  weights: readonly number[],
  settings: CollateSettings,
  factors?: Float64Array,
): PackedTree {
  const { tree, columns } = one;
  const packed = pack(one);
  const through = pathsThrough(tree);
  const terms: { advantage: number; weight: number; path: number }[] = [];
  let token = 0;
  let isScored = true;
  for (const index of depthFirst(tree)) {
    const { kind, count, start } = tree.segments[index]!;
    const own = isTrained(kind, settings.trainForced)
      ? segmentTerms(tree, index, { paths: through[index]!, weights, settings })
      : [];
    for (let offset = 0; offset < count; offset++, token++) {
      const factor = factors?.[token];
      terms.push(
        ...(factor === undefined ? own : own.map(term => ({ ...term, advantage: factor * term.advantage }))),
      );
      packed.termStart[token + 1] = terms.length;
      if (own.length > 0 && Number.isNaN(columns.trainerLogProbs[start + offset])) isScored = false;
    }
  }
  packed.termAdvantage = Float32Array.from(terms, term => term.advantage);
  packed.termWeight = Float32Array.from(terms, term => term.weight);
  packed.termPath = Int32Array.from(terms, term => term.path);
  if (isScored) packed.oldLogProbs = gather(Float32Array, columns.trainerLogProbs, packedOrder(tree));
  return packed;
}

/** The terms that every token of a segment has. */
function segmentTerms(
  tree: Tree,
  segment: number,
  {
    paths,
    weights,
    settings,
  }: { paths: readonly number[]; weights: readonly number[]; settings: CollateSettings },
): { advantage: number; weight: number; path: number }[] {
  const { soft, hard, steps } = tree.credit!;
  if (settings.credit === 'soft')
    return paths.map(path => ({ advantage: soft[path]!, weight: weights[path]!, path }));
  if (settings.credit === 'step') {
    const added = steps?.[segment];
    if (added?.length !== paths.length)
      throw new Error(`Segment ${segment} of tree ${tree.id} is trained but has no step-level credit.`);
    return paths.map((path, i) => ({ advantage: soft[path]! + added[i]!, weight: weights[path]!, path }));
  }
  const advantage = hard[segment];
  if (advantage === undefined || advantage === null)
    throw new Error(`Segment ${segment} of tree ${tree.id} is trained but has no hard credit.`);
  return [{ advantage, weight: paths.reduce((sum, path) => sum + weights[path]!, 0), path: -1 }];
}

/** Fills positions, predecessors and subtree ends. */
function placeTokens(tree: Tree, packed: PackedTree): void {
  /** [segment] packed index and position of the last token at or before the segment's end on its path. */
  const lastToken = new Int32Array(tree.segments.length).fill(-1);
  const depth = new Int32Array(tree.segments.length);
  const firstToken = new Int32Array(tree.segments.length);
  const order = depthFirst(tree);
  let token = 0;
  for (const index of order) {
    const { parent, count } = tree.segments[index]!;
    let previous = parent < 0 ? -1 : lastToken[parent]!;
    const start = parent < 0 ? 0 : depth[parent]!;
    firstToken[index] = token;
    for (let offset = 0; offset < count; offset++) {
      packed.positions[token] = start + offset;
      packed.previous[token] = previous;
      previous = token++;
    }
    lastToken[index] = previous;
    depth[index] = start + count;
  }
  /** [segment] first packed index after its subtree: children come later in depth-first order, so walk backwards. */
  const end = new Int32Array(tree.segments.length);
  for (const index of order.reverse()) {
    const { parent, count } = tree.segments[index]!;
    const first = firstToken[index]!;
    const last = Math.max(end[index]!, first + count);
    packed.subtreeEnd.fill(last, first, first + count);
    if (parent >= 0) end[parent] = Math.max(end[parent]!, last);
  }
}

function gather<T extends Int32Array | Float32Array>(
  kind: new (length: number) => T,
  column: TokenColumns['ids'] | TokenColumns['entropies'],
  order: Int32Array,
): T {
  const gathered = new kind(order.length);
  order.forEach((token, packed) => (gathered[packed] = column[token]!));
  return gathered;
}

/** Models and packed trees for the engine's tests. Knows nothing of how either is run. */
import type { PackedTree } from '../../../../src/core/batch.ts';
import { modelTensors, sizeOf } from '../../../../src/core/modelShape.ts';
import type { ModelShape } from '../../../../src/core/modelShape.ts';

/** Uniform numbers in [0, 1) by a linear congruential generator. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

export const TINY: ModelShape = {
  architecture: 'llama',
  hidden: 12,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headDim: 4,
  feedForward: 20,
  vocabulary: 23,
  epsilon: 1e-5,
  ropeTheta: 10_000,
  tiedHead: true,
  attentionBias: false,
  headNorm: false,
  contextLength: 64,
};
export const shapes: Readonly<Record<string, ModelShape>> = {
  'Llama with its own head': { ...TINY, tiedHead: false },
  'Qwen2 with biases': { ...TINY, architecture: 'qwen2', attentionBias: true },
  'Qwen3 with head norms': { ...TINY, architecture: 'qwen3', headNorm: true },
};

/** Weights of which none is special: matrices of about unit gain, norms around 1, biases around 0. */
export function randomWeights(shape: ModelShape, seed: number): Map<string, Float32Array> {
  const next = randomNumbers(seed);
  return new Map(
    [...modelTensors(shape)].map(([name, dims]) => {
      const spread = dims.length === 1 ? 0.6 : 3 / Math.sqrt(dims[1]!);
      const middle = dims.length === 1 && !name.endsWith('bias') ? 1 : 0;
      return [name, Float32Array.from({ length: sizeOf(dims) }, () => middle + spread * (next() - 0.5))];
    }),
  );
}

/** A stretch of tokens below another stretch. */
export interface Piece {
  parent: number;
  ids: readonly number[];
  /** [token] paths' terms; none where the stretch is not trained. */
  terms?: readonly (readonly { advantage: number; weight: number }[])[];
}

/** Packs stretches given in depth-first order, parents before children. */
export function packPieces(pieces: readonly Piece[]): PackedTree {
  const starts = pieces.reduce<number[]>((sums, { ids }) => [...sums, sums.at(-1)! + ids.length], [0]);
  const isBelow = (piece: number, ancestor: number): boolean =>
    piece === ancestor || (piece > ancestor && isBelow(pieces[piece]!.parent, ancestor));
  const depth = (piece: number): number =>
    piece < 0 ? 0 : depth(pieces[piece]!.parent) + pieces[piece]!.ids.length;
  const tokens = pieces.flatMap(({ ids, parent, terms }, p) => {
    const below = pieces.reduce((end, _, q) => (isBelow(q, p) ? starts[q + 1]! : end), starts[p + 1]!);
    return ids.map((id, i) => ({
      id,
      position: depth(parent) + i,
      below,
      previous: i > 0 ? starts[p]! + i - 1 : parent < 0 ? -1 : starts[parent + 1]! - 1,
      terms: terms?.[i] ?? [],
    }));
  });
  const all = tokens.flatMap(token => token.terms);
  const ints = (values: number[]): Int32Array => Int32Array.from(values);
  return {
    ids: ints(tokens.map(token => token.id)),
    positions: ints(tokens.map(token => token.position)),
    subtreeEnd: ints(tokens.map(token => token.below)),
    previous: ints(tokens.map(token => token.previous)),
    termStart: ints(
      tokens.reduce<number[]>((sums, { terms }) => [...sums, sums.at(-1)! + terms.length], [0]),
    ),
    termAdvantage: Float32Array.from(all, term => term.advantage),
    termWeight: Float32Array.from(all, term => term.weight),
    termPath: ints(all.map(() => 0)),
  };
}

/** Root mean square of all entries. */
export function rms(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/** Largest difference between two arrays of the same length, relative to the second's root mean square. */
export function worstDifference(found: Float32Array | undefined, wanted: Float32Array): number {
  if (found?.length !== wanted.length) return Infinity;
  return (
    found.reduce((worst, value, i) => Math.max(worst, Math.abs(value - wanted[i]!)), 0) /
    (rms(wanted) + 1e-12)
  );
}

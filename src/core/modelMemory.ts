/** Estimates the memory that training takes. Knows what the embedded engine keeps, nothing of the machine. */
import { modelTensors, parameterCount, sizeOf } from './modelShape.ts';
import type { ModelShape } from './modelShape.ts';

const FLOAT = 4;
/** Rows of a pack: fewer make every gradient be added up more often, more take memory. */
export const PACK_TOKENS = 2048;
/** Node, ONNX Runtime and compiled graphs: what a process takes that trains a model of no size. */
const PROGRAM_BYTES = 130e6;
/** Arrays of a row's width, its feed-forward width and its scores that one layer's way back holds at once. */
const TRANSIENT = { hidden: 12, feedForward: 8, scores: 4 };
/** So much more where it computes the layer's activations again. */
const RECOMPUTED = 2;
/** Arrays of the head's scores at once: scores, probabilities, and their copy as a result. */
const TRANSIENT_LOGITS = 3;
/** A sum of gradients, the new sum, and its copy as a result. */
const TRANSIENT_GRADIENTS = 2;

/**
 * What a backward pass may take from the forward pass instead of computing it again, per row, by name:
 * rotated queries and keys, values, attention's result, the residual stream after attention, and the two products
 * that enter SwiGLU. Everything else is cheap to recompute from them.
 */
export function keptWidths({
  heads,
  keyValueHeads,
  headDim,
  hidden,
  feedForward,
}: ModelShape): Record<Kept, number> {
  const [queries, keys] = [heads * headDim, keyValueHeads * headDim];
  return {
    queries,
    keys,
    values: keys,
    attended: queries,
    middle: hidden,
    gate: feedForward,
    up: feedForward,
  };
}
export type Kept = 'queries' | 'keys' | 'values' | 'attended' | 'middle' | 'gate' | 'up';

/** The head's scores are computed for so many rows at once that they take no more memory than this. */
const LOGITS_BYTES = 256 * 2 ** 20;
/** Where the head's matrix takes no more than this, neither do the scores: then both stay in the processor's cache. */
const CACHED_BYTES = 8 * 2 ** 20;
/** Fewer rows would make slow matrix products, and copy the head's gradient too often. */
const LEAST_HEAD_ROWS = 256;

export function headChunkRows({ vocabulary, hidden }: ModelShape): number {
  const isCached = FLOAT * vocabulary * hidden <= CACHED_BYTES;
  return Math.max(
    LEAST_HEAD_ROWS,
    Math.floor((isCached ? CACHED_BYTES : LOGITS_BYTES) / (FLOAT * vocabulary)),
  );
}

/** How large a pack is: its rows, and the keys that each of them is compared with, on average. */
export interface PackSize {
  rows: number;
  keysPerRow: number;
}

/** The largest pack that trees make which have at most so many tokens each, and in all, and paths of at most `longest`. */
export function packSizeOf({
  tokens,
  treeTokens,
  longest,
}: {
  tokens: number;
  treeTokens: number;
  longest: number;
}): PackSize {
  const rows = Math.min(tokens, Math.max(PACK_TOKENS, treeTokens));
  // A query is compared with what is above it: half of the longest path on average, and what pads.
  return { rows, keysPerRow: Math.max(0.6 * longest, 64) };
}

/** Bytes of everything that stays between steps: weights, and, to train, gradients and both moments. */
export const residentBytes = (shape: ModelShape, trainable: boolean): number =>
  parameterCount(shape) * FLOAT * (trainable ? 4 : 1);

/**
 * Bytes of the engine's process at the peak of a forward and backward pass over one pack, all tokens of which are trained,
 * once an optimiser step has been taken.
 */
export function estimate(
  shape: ModelShape,
  { rows, keysPerRow }: PackSize,
  keepActivations: boolean,
): number {
  const { hidden, feedForward, heads, vocabulary, layers } = shape;
  const kept = keepActivations ? Object.values(keptWidths(shape)).reduce((sum, width) => sum + width, 0) : 0;
  const stored = rows * layers * (hidden + kept);
  const widths =
    TRANSIENT.hidden * hidden + TRANSIENT.feedForward * feedForward + TRANSIENT.scores * heads * keysPerRow;
  const layer = rows * widths * (keepActivations ? 1 : RECOMPUTED);
  const largest = Math.max(...[...modelTensors(shape).values()].map(sizeOf));
  const chunk = Math.min(rows, headChunkRows(shape));
  const scores = Math.max(TRANSIENT_LOGITS * chunk, keepActivations ? rows + chunk : 0);
  const head = vocabulary * scores + TRANSIENT_GRADIENTS * largest;
  // Layers and head hold their arrays at different times, but what stays or is kept in between lies among the holes that the
  // one's leave, and the other's larger or smaller arrays do not fit there.
  return PROGRAM_BYTES + residentBytes(shape, true) + FLOAT * (stored + layer + head);
}

/** Estimates the memory that training takes. Knows the engine's layout, nothing of the machine. */
import { keptWidths } from './blocks.ts';
import { parameterCount } from './shape.ts';
import type { ModelShape } from './shape.ts';

const FLOAT = 4;
/** Rows of width `hidden`, `feedForward` and per head that one layer's backward holds at once, as profiled. */
const TRANSIENT_HIDDEN = 12;
const TRANSIENT_FEED_FORWARD = 8;
const TRANSIENT_SCORES = 5;
/** What the allocator and results that await collection add to activations, as measured at 135M parameters. */
const SLACK = 1.5;

/** The head's logits are computed for so many rows at once that they stay in a processor's cache where they can. */
const LOGITS_BYTES = 4 * 2 ** 20;
/** Fewer rows would make slow matrix products, and copy the head's gradient too often. */
const LEAST_HEAD_ROWS = 256;

export const headChunkRows = ({ vocabulary }: ModelShape): number =>
  Math.max(LEAST_HEAD_ROWS, Math.floor(LOGITS_BYTES / (FLOAT * vocabulary)));

/** How a pack's activations are laid out: its rows, and the keys that each of them is compared with. */
export interface PackSize {
  rows: number;
  keysPerRow: number;
}

/** Bytes of everything that stays between steps: weights, and, to train, gradients and both moments. */
export const residentBytes = (shape: ModelShape, trainable: boolean): number =>
  parameterCount(shape) * FLOAT * (trainable ? 4 : 1);

/** Bytes at the peak of a forward and backward pass over one pack, what stays between steps included. */
export function estimate(
  shape: ModelShape,
  { rows, keysPerRow }: PackSize,
  keepActivations: boolean,
): number {
  const kept = keepActivations ? Object.values(keptWidths(shape)).reduce((sum, width) => sum + width, 0) : 0;
  const stored = rows * shape.layers * (shape.hidden + kept);
  const layer =
    rows *
    (TRANSIENT_HIDDEN * shape.hidden +
      TRANSIENT_FEED_FORWARD * shape.feedForward +
      TRANSIENT_SCORES * shape.heads * keysPerRow);
  const head =
    4 * Math.min(rows, headChunkRows(shape)) * shape.vocabulary + 2 * shape.vocabulary * shape.hidden;
  return residentBytes(shape, true) + SLACK * FLOAT * (stored + Math.max(layer, head));
}

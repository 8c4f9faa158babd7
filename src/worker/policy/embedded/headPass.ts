/** Runs a model's head over chosen rows, forward and backward. Knows nothing of layers, losses or of why rows were chosen. */
import { headChunkRows } from '../../../core/modelMemory.ts';
import { floats, headName, only, sumFeeds, takeSums } from './passes.ts';
import type { Model, Sums } from './passes.ts';
import { discard, float32, int32 } from './sessions.ts';
import type { Tensor } from './sessions.ts';
import { FINAL_NORM } from '../../../core/modelShape.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

/** What the head is asked about: for each entry, the row whose hidden state predicts it, and the token that came. */
export interface HeadRows {
  rows: Int32Array;
  targets: Int32Array;
}

/** Copies the wanted rows of [rows, width]. */
function pick(matrix: Float32Array, rows: Int32Array, width: number): Tensor {
  const out = new Float32Array(rows.length * width);
  rows.forEach((row, i) => out.set(matrix.subarray(row * width, (row + 1) * width), i * width));
  return float32(out, [rows.length, width]);
}

function headFeeds(
  { shape, weights }: Model,
  hidden: Float32Array,
  asked: HeadRows,
  temperature: number,
): Record<string, Tensor> {
  return {
    hidden: pick(hidden, asked.rows, shape.hidden),
    targets: int32(asked.targets, [asked.targets.length, 1]),
    norm: weights.get(FINAL_NORM)!,
    matrix: weights.get(headName(shape))!,
    sharpness: float32(Float32Array.of(1 / temperature), []),
  };
}

function* chunks(
  shape: ModelShape,
  { rows, targets }: HeadRows,
): Generator<{ from: number; asked: HeadRows }> {
  const size = headChunkRows(shape);
  for (let from = 0; from < rows.length; from += size)
    yield {
      from,
      asked: { rows: rows.subarray(from, from + size), targets: targets.subarray(from, from + size) },
    };
}

export interface HeadResult {
  /** [entry] log-probability of the target, and entropy of its distribution in nats. */
  logProbs: Float32Array;
  entropies: Float32Array;
  /** [chunk] what the way back needs, by name, a row per entry; none where it is not to be remembered. */
  chunks: Record<string, Tensor>[];
}

/** Computes what the head is asked about, at the temperature. */
export async function runHead(
  model: Model,
  at: { hidden: Float32Array; asked: HeadRows; temperature: number },
  remember: boolean,
): Promise<HeadResult> {
  const program = await model.program(remember ? 'headKept' : 'head');
  const logProbs = new Float32Array(at.asked.rows.length);
  const entropies = new Float32Array(at.asked.rows.length);
  const remembered: Record<string, Tensor>[] = [];
  for (const { asked, from } of chunks(model.shape, at.asked)) {
    const feeds = headFeeds(model, at.hidden, asked, at.temperature);
    const result = await program.run(feeds);
    discard(feeds['hidden']!);
    logProbs.set(floats(result['logProbs']), from);
    entropies.set(floats(result['entropies']), from);
    if (remember) remembered.push(wayBack(result));
  }
  return { logProbs, entropies, chunks: remembered };
}

const wayBack = ({ probabilities, mixed }: Record<string, Tensor>): Record<string, Tensor> => ({
  probabilities: probabilities!,
  mixed: mixed!,
});

/** Derivatives of the loss by what the head returned, both [entry]; entries where both are 0 are not computed. */
export interface HeadDerivatives {
  dLogProb: Float32Array;
  dEntropy: Float32Array;
}

/**
 * Adds the gradients of the head and of the final norm; returns dL/d(hidden) [rows, hidden] and the number of entries that
 * had a derivative. Consumes what the head remembered and computes again what it did not.
 */
export async function runHeadBackward(
  model: Model,
  at: { hidden: Float32Array; asked: HeadRows; temperature: number; result: HeadResult },
  { dLogProb, dEntropy }: HeadDerivatives,
  sums: Sums,
): Promise<{ dHidden: Float32Array; entries: number }> {
  const { hidden: width } = model.shape;
  const names = new Map([
    ['norm', FINAL_NORM],
    ['matrix', headName(model.shape)],
  ]);
  const withEntropy = dEntropy.some(value => value !== 0);
  const program = await model.program(withEntropy ? 'headBackwardEntropy' : 'headBackward');
  const dHidden = new Float32Array(at.hidden.length);
  let [index, count] = [0, 0];
  for (const { from, asked } of chunks(model.shape, at.asked)) {
    const remembered = at.result.chunks[index++];
    const entries = Int32Array.from(asked.rows.keys()).filter(
      entry => dLogProb[from + entry] !== 0 || dEntropy[from + entry] !== 0,
    );
    if (entries.length > 0) {
      const feeds = headFeeds(model, at.hidden, chosen(asked, entries), at.temperature);
      const taken = remembered
        ? chosenRows(remembered, entries)
        : wayBack(await (await model.program('headKept')).run(feeds));
      const column = (values: Float32Array): Tensor =>
        float32(
          Float32Array.from(entries, entry => values[from + entry]!),
          [entries.length, 1],
        );
      const { rows, targets } = chosen(asked, entries);
      const derivatives = {
        dLogProb: column(dLogProb),
        ...(withEntropy
          ? { dEntropy: column(dEntropy), entropies: column(at.result.entropies) }
          : { surplus: surplusOf(taken['probabilities']!, targets) }),
      };
      const all = { ...feeds, ...taken, ...derivatives, ...sumFeeds(sums, model, names) };
      const { dHidden: pulls, drawn, ...results } = await program.run(only(program, all));
      takeSums(sums, results, names);
      if (drawn) addRows(sums.gradients.get(headName(model.shape))!, floats(drawn), targets, width);
      addRows(dHidden, floats(pulls), rows, width);
      for (const tensor of [...Object.values(taken), feeds['hidden']!, pulls!, ...(drawn ? [drawn] : [])])
        discard(tensor);
      count += entries.length;
    }
    if (remembered) Object.values(remembered).forEach(discard);
  }
  return { dHidden, entries: count };
}

/** The same array, less 1 where the targets are. */
function surplusOf(probabilities: Tensor, targets: Int32Array): Tensor {
  const [p, width] = [floats(probabilities), probabilities.dims[1]!];
  targets.forEach((target, i) => (p[i * width + target] = p[i * width + target]! - 1));
  return probabilities;
}

const chosen = ({ rows, targets }: HeadRows, entries: Int32Array): HeadRows => ({
  rows: entries.map(entry => rows[entry]!),
  targets: entries.map(entry => targets[entry]!),
});

/** The wanted rows; the tensors themselves where these are all. */
const chosenRows = (tensors: Record<string, Tensor>, rows: Int32Array): Record<string, Tensor> =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [
      name,
      rows.length === tensor.dims[0] ? tensor : pick(floats(tensor), rows, tensor.dims[1]!),
    ]),
  );

function addRows(sum: Float32Array, delta: Float32Array, rows: Int32Array, width: number): void {
  rows.forEach((row, i) => {
    for (let k = 0; k < width; k++) sum[row * width + k] = sum[row * width + k]! + delta[i * width + k]!;
  });
}

/** Runs a model's layers and head over packs, forward and backward. Knows nothing of losses, optimisers or trees. */
import { headBackward, headForward, keptWidths, layerBackward, layerForward } from './blocks.ts';
import type { Graph } from './graph.ts';
import { headChunkRows } from './memory.ts';
import type { Pack } from './plan.ts';
import { compile, float32, int32 } from './sessions.ts';
import type { Program, Tensor } from './sessions.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerTensorName, layerTensors, modelTensors } from './shape.ts';
import type { ModelShape } from './shape.ts';

/** Every graph that training runs: one per kind of layer and pass, whatever the batch's size. */
const graphs = {
  forward: shape => layerForward(shape, false),
  forwardKept: shape => layerForward(shape, true),
  backward: shape => layerBackward(shape, false),
  backwardKept: shape => layerBackward(shape, true),
  head: shape => headForward(shape),
  headBackward: shape => headBackward(shape, false),
  headBackwardEntropy: shape => headBackward(shape, true),
} satisfies Record<string, (shape: ModelShape) => Graph>;
export type GraphName = keyof typeof graphs;

/** A model ready to run. */
export interface Model {
  shape: ModelShape;
  /** The arrays that the caller holds: changed in place, read anew by every run. */
  weights: ReadonlyMap<string, Tensor>;
  program(name: GraphName): Promise<Program>;
  release(): Promise<void>;
}

export function makeModel(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  threads: number,
): Model {
  const programs = new Map<GraphName, Promise<Program>>();
  return {
    shape,
    weights: new Map(
      [...modelTensors(shape)].map(([name, dims]) => [name, float32(weights.get(name)!, dims)]),
    ),
    program(name) {
      const known = programs.get(name);
      if (known) return known;
      const made = compile(graphs[name](shape).build(), { threads });
      programs.set(name, made);
      return made;
    },
    async release() {
      const compiled = await Promise.all(programs.values());
      programs.clear();
      await Promise.all(compiled.map(program => program.release()));
    },
  };
}

const headName = ({ tiedHead }: ModelShape): string => (tiedHead ? EMBEDDING : HEAD);
const floats = (tensor: Tensor | undefined): Float32Array => tensor!.data as Float32Array;

function layerWeights({ shape, weights }: Model, layer: number): Record<string, Tensor> {
  return Object.fromEntries(
    Object.keys(layerTensors(shape)).map(name => [name, weights.get(layerTensorName(layer, name))!]),
  );
}

/** Rows of the embedding, [rows, hidden]. */
function embed({ shape: { hidden }, weights }: Model, { trees, rowStart }: Pack): Tensor {
  const table = floats(weights.get(EMBEDDING));
  const rows = rowStart[trees.length]!;
  const x = new Float32Array(rows * hidden);
  trees.forEach(({ ids }, t) =>
    ids.forEach((id, i) =>
      x.set(table.subarray(id * hidden, (id + 1) * hidden), (rowStart[t]! + i) * hidden),
    ),
  );
  return float32(x, [rows, hidden]);
}

/** What the backward pass needs of one layer: its input, and the kept values where they were kept. */
type LayerRecord = Record<string, Tensor>;

export interface ForwardResult {
  /** [rows, hidden] after the last layer, before the final norm. */
  hidden: Float32Array;
  /** One per layer; empty where no backward pass is to follow. */
  layers: LayerRecord[];
}

/** `remember`: nothing for scoring, the layers' inputs, or all that backward would otherwise compute again. */
export async function forward(
  model: Model,
  pack: Pack,
  remember: 'nothing' | 'inputs' | 'activations',
): Promise<ForwardResult> {
  const program = await model.program(remember === 'activations' ? 'forwardKept' : 'forward');
  const layers: LayerRecord[] = [];
  let x = embed(model, pack);
  for (let layer = 0; layer < model.shape.layers; layer++) {
    const { y, ...kept } = await program.run({ x, ...pack.feeds, ...layerWeights(model, layer) });
    if (remember !== 'nothing') layers.push({ x, ...kept });
    x = y!;
  }
  return { hidden: floats(x), layers };
}

/** Sums of gradients by tensor; arrays are made when first needed. */
export type Gradients = Map<string, Float32Array>;

function addTo(gradients: Gradients, name: string, delta: Float32Array): void {
  const sum = gradients.get(name);
  if (!sum) gradients.set(name, delta.slice());
  else for (let i = 0; i < delta.length; i++) sum[i] = sum[i]! + delta[i]!;
}

/** Adds the gradients of all layers and of the embedding, given dL/d(hidden) [rows, hidden]. Consumes the records. */
export async function backward(
  model: Model,
  pack: Pack,
  { layers, hidden }: ForwardResult,
  dHidden: Float32Array,
  gradients: Gradients,
): Promise<void> {
  const kept = layers.length > 0 && Object.keys(keptWidths(model.shape)).every(name => name in layers[0]!);
  const program = await model.program(kept ? 'backwardKept' : 'backward');
  let dY = float32(dHidden, [hidden.length / model.shape.hidden, model.shape.hidden]);
  for (let layer = model.shape.layers - 1; layer >= 0; layer--) {
    const feeds = { ...layers.pop()!, ...pack.feeds, ...layerWeights(model, layer), dY };
    const { dX, ...results } = await program.run(only(program, feeds));
    for (const [name, delta] of Object.entries(results))
      addTo(gradients, layerTensorName(layer, name.slice(2)), floats(delta));
    dY = dX!;
  }
  addEmbedding(model, pack, floats(dY), gradients);
}

/** A graph that takes kept values has no use for some other inputs, and refuses what it does not know. */
const only = (program: Program, feeds: Record<string, Tensor>): Record<string, Tensor> =>
  Object.fromEntries(program.inputs.map(name => [name, feeds[name]!]));

function zeros(gradients: Gradients, name: string, length: number): Float32Array {
  const known = gradients.get(name);
  if (known) return known;
  const made = new Float32Array(length);
  gradients.set(name, made);
  return made;
}

function addEmbedding(
  { shape: { hidden }, weights }: Model,
  { trees, rowStart }: Pack,
  dX: Float32Array,
  gradients: Gradients,
): void {
  const sum = zeros(gradients, EMBEDDING, weights.get(EMBEDDING)!.data.length);
  trees.forEach(({ ids }, t) =>
    ids.forEach((id, i) => {
      const from = (rowStart[t]! + i) * hidden;
      for (let k = 0; k < hidden; k++) sum[id * hidden + k] = sum[id * hidden + k]! + dX[from + k]!;
    }),
  );
}

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

/** Log-probability of each target and entropy of its distribution (nats) at the temperature, both [entry]. */
export async function runHead(
  model: Model,
  hidden: Float32Array,
  asked: HeadRows,
  temperature: number,
): Promise<{ logProbs: Float32Array; entropies: Float32Array }> {
  const program = await model.program('head');
  const logProbs = new Float32Array(asked.rows.length);
  const entropies = new Float32Array(asked.rows.length);
  for (const chunk of chunks(model.shape, asked)) {
    const result = await program.run(headFeeds(model, hidden, chunk.asked, temperature));
    logProbs.set(floats(result['logProbs']), chunk.from);
    entropies.set(floats(result['entropies']), chunk.from);
  }
  return { logProbs, entropies };
}

/** Derivatives of the loss by what the head returned, both [entry]. */
export interface HeadDerivatives {
  dLogProb: Float32Array;
  dEntropy: Float32Array;
}

/** Adds the gradients of the head and of the final norm; returns dL/d(hidden) [rows, hidden]. */
export async function runHeadBackward(
  model: Model,
  { hidden, asked, temperature }: { hidden: Float32Array; asked: HeadRows; temperature: number },
  { dLogProb, dEntropy }: HeadDerivatives,
  gradients: Gradients,
): Promise<Float32Array> {
  const { shape } = model;
  const withEntropy = dEntropy.some(value => value !== 0);
  const program = await model.program(withEntropy ? 'headBackwardEntropy' : 'headBackward');
  const dHidden = new Float32Array(hidden.length);
  for (const chunk of chunks(shape, asked)) {
    const count = chunk.asked.rows.length;
    const column = (values: Float32Array): Tensor =>
      float32(values.subarray(chunk.from, chunk.from + count), [count, 1]);
    const result = await program.run({
      ...headFeeds(model, hidden, chunk.asked, temperature),
      dLogProb: column(dLogProb),
      ...(withEntropy && { dEntropy: column(dEntropy) }),
    });
    addTo(gradients, FINAL_NORM, floats(result['dNorm']));
    addTo(gradients, headName(shape), floats(result['dMatrix']));
    const rows = floats(result['dHidden']);
    chunk.asked.rows.forEach((row, i) => {
      for (let k = 0; k < shape.hidden; k++)
        dHidden[row * shape.hidden + k] = dHidden[row * shape.hidden + k]! + rows[i * shape.hidden + k]!;
    });
  }
  return dHidden;
}

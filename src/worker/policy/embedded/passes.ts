/** Runs a model's layers over packs, forward and backward. Knows nothing of losses, optimisers or of what the head is asked. */
import { headBackward, headForward, layerBackward, layerForward } from './blocks.ts';
import type { Graph } from './graph.ts';
import type { Pack } from './plan.ts';
import { compile, discard, float32 } from './sessions.ts';
import type { CompileOptions, Program, Tensor } from './sessions.ts';
import { keptWidths } from '../../../core/modelMemory.ts';
import { EMBEDDING, HEAD, layerTensorName, layerTensors, modelTensors } from '../../../core/modelShape.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

/** Every graph that training runs: one per kind of layer and pass, whatever the batch's size. */
export const graphs = {
  forward: (shape, groups) => layerForward(shape, { groups, keepActivations: false }),
  forwardKept: (shape, groups) => layerForward(shape, { groups, keepActivations: true }),
  backward: (shape, groups) => layerBackward(shape, { groups, keepActivations: false }),
  backwardKept: (shape, groups) => layerBackward(shape, { groups, keepActivations: true }),
  head: shape => headForward(shape, false),
  headKept: shape => headForward(shape, true),
  headBackward: shape => headBackward(shape, false),
  headBackwardEntropy: shape => headBackward(shape, true),
} satisfies Record<string, (shape: ModelShape, groups: number) => Graph>;
export type GraphName = keyof typeof graphs;

/** A model ready to run. */
export interface Model {
  shape: ModelShape;
  /** The arrays that the caller holds: changed in place, read anew by every run. */
  weights: ReadonlyMap<string, Tensor>;
  /** Graphs of layers are made for a number of groups of blocks; see plan.ts. */
  program(name: GraphName, groups?: number): Promise<Program>;
  release(): Promise<void>;
}

export function makeModel(
  shape: ModelShape,
  weights: ReadonlyMap<string, Float32Array>,
  compiling: CompileOptions,
): Model {
  const programs = new Map<string, Promise<Program>>();
  return {
    shape,
    weights: new Map(
      [...modelTensors(shape)].map(([name, dims]) => [name, float32(weights.get(name)!, dims)]),
    ),
    program(name, groups = 0) {
      const key = `${name} ${groups}`;
      const known = programs.get(key);
      if (known) return known;
      const made = compile(graphs[name](shape, groups).build(), compiling);
      programs.set(key, made);
      return made;
    },
    async release() {
      const compiled = await Promise.all(programs.values());
      programs.clear();
      await Promise.all(compiled.map(program => program.release()));
    },
  };
}

export const headName = ({ tiedHead }: ModelShape): string => (tiedHead ? EMBEDDING : HEAD);
export const floats = (tensor: Tensor | undefined): Float32Array => tensor!.data as Float32Array;

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
  const program = await model.program(remember === 'activations' ? 'forwardKept' : 'forward', pack.groups);
  const layers: LayerRecord[] = [];
  let x = embed(model, pack);
  for (let layer = 0; layer < model.shape.layers; layer++) {
    const { y, ...kept } = await program.run(
      only(program, { x, ...pack.feeds, ...layerWeights(model, layer) }),
    );
    if (remember === 'nothing') discard(x);
    else layers.push({ x, ...kept });
    x = y!;
  }
  return { hidden: floats(x), layers };
}

/** Sums of gradients by tensor; there is one for every tensor that a gradient came for. */
export type Gradients = Map<string, Float32Array>;

/** What the sums of gradients are kept in: a graph adds to them and returns new ones. */
export interface Sums {
  gradients: Gradients;
  /** As many zeros as the largest tensor has numbers; stands for sums that are not there yet and is never written. */
  zeros: Float32Array;
}

/** Feeds `sum.<key>` of the named tensors. */
export function sumFeeds(
  { gradients, zeros }: Sums,
  model: Model,
  names: ReadonlyMap<string, string>,
): Record<string, Tensor> {
  return Object.fromEntries(
    [...names].map(([key, name]) => {
      const { dims, data } = model.weights.get(name)!;
      return [`sum.${key}`, float32(gradients.get(name) ?? zeros.subarray(0, data.length), dims)];
    }),
  );
}

/** Takes the results `d.<key>` as the new sums. */
export function takeSums(
  { gradients }: Sums,
  results: Record<string, Tensor>,
  names: ReadonlyMap<string, string>,
): void {
  for (const [key, name] of names) {
    const known = gradients.get(name);
    if (known) discard(known);
    gradients.set(name, floats(results[`d.${key}`]));
  }
}

/** Adds the gradients of all layers and of the embedding, given dL/d(hidden) [rows, hidden]. Consumes the records. */
export async function backward(
  model: Model,
  pack: Pack,
  { layers, hidden }: ForwardResult,
  dHidden: Float32Array,
  sums: Sums,
): Promise<void> {
  const kept = layers.length > 0 && Object.keys(keptWidths(model.shape)).every(name => name in layers[0]!);
  const program = await model.program(kept ? 'backwardKept' : 'backward', pack.groups);
  let dY = float32(dHidden, [hidden.length / model.shape.hidden, model.shape.hidden]);
  for (let layer = model.shape.layers - 1; layer >= 0; layer--) {
    const record = layers.pop()!;
    const names = new Map(
      Object.keys(layerTensors(model.shape)).map(name => [name, layerTensorName(layer, name)]),
    );
    const feeds = { ...record, ...pack.feeds, ...layerWeights(model, layer), dY };
    const results = await program.run(only(program, { ...feeds, ...sumFeeds(sums, model, names) }));
    takeSums(sums, results, names);
    for (const tensor of [dY, ...Object.values(record)]) discard(tensor);
    dY = results['dX']!;
  }
  addEmbedding(model, pack, floats(dY), sums.gradients);
  discard(dY);
}

/** A pass has no use for some inputs of the other, and refuses what it does not know. */
export const only = (program: Program, feeds: Record<string, Tensor>): Record<string, Tensor> =>
  Object.fromEntries(program.inputs.map(name => [name, feeds[name]!]));

function addEmbedding(
  { shape: { hidden }, weights }: Model,
  { trees, rowStart }: Pack,
  dX: Float32Array,
  gradients: Gradients,
): void {
  const sum = gradients.get(EMBEDDING) ?? new Float32Array(weights.get(EMBEDDING)!.data.length);
  gradients.set(EMBEDDING, sum);
  trees.forEach(({ ids }, t) =>
    ids.forEach((id, i) => {
      const from = (rowStart[t]! + i) * hidden;
      for (let k = 0; k < hidden; k++) sum[id * hidden + k] = sum[id * hidden + k]! + dX[from + k]!;
    }),
  );
}

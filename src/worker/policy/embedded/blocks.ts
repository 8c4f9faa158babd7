/** The Llama family's layer and head as graphs for training on packed rows. Knows nothing of sessions or batches. */
import { Graph } from './graph.ts';
import type { Value } from './graph.ts';
import * as ops from './ops.ts';
import { apply, differentiate, makeTape } from './rules.ts';
import type { Tape } from './rules.ts';
import { layerTensors } from './shape.ts';
import type { ModelShape } from './shape.ts';

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

/** Called for every value that may be kept, right after it was computed. */
type Keep = (name: Kept, value: Value) => void;

/** Inputs of a layer's graph that are the same for all layers of a pack; see plan.ts for their meaning. */
interface PlanInputs {
  cos: Value;
  sin: Value;
  queryRows: Value;
  querySlots: Value;
  queryCounts: Value;
  keyRows: Value;
  mask: Value;
}

const planInputs = (g: Graph, { headDim }: ModelShape): PlanInputs => ({
  cos: g.input('cos', [1, 'rows', headDim / 2]),
  sin: g.input('sin', [1, 'rows', headDim / 2]),
  queryRows: g.input('queryRows', ['blocks', 'queries'], 'int32'),
  querySlots: g.input('querySlots', ['rows'], 'int32'),
  queryCounts: g.input('queryCounts', ['blocks', 'queries', 1]),
  keyRows: ops.cast(g, g.input('keyRows', ['blocks', 'keys'], 'int32'), 'int64'),
  mask: g.input('mask', ['blocks', 1, 1, 'queries', 'keys']),
});

interface LayerScope {
  tape: Tape;
  shape: ModelShape;
  plan: PlanInputs;
  /** Tensor of the layer by the part of its name after the layer's number. */
  weight(name: string): Value;
  optionalWeight(name: string): Value[];
  keep: Keep;
}

/** Queries, keys or values: [rows, hidden] → [rows, heads · headDim], normalised per head where the model does. */
function project(
  { tape, shape, weight, optionalWeight }: LayerScope,
  x: Value,
  name: 'q' | 'k' | 'v',
): Value {
  const heads = name === 'q' ? shape.heads : shape.keyValueHeads;
  const width = heads * shape.headDim;
  const projected = apply(
    tape,
    'linear',
    [x, weight(`self_attn.${name}_proj.weight`), ...optionalWeight(`self_attn.${name}_proj.bias`)],
    {},
  );
  if (!shape.headNorm || name === 'v') return projected;
  const perHead = apply(tape, 'reshape', [projected], { dims: ['rows', heads, shape.headDim] });
  const normed = apply(tape, 'rmsNorm', [perHead, weight(`self_attn.${name}_norm.weight`)], {
    epsilon: shape.epsilon,
  });
  return apply(tape, 'reshape', [normed], { dims: ['rows', width] });
}

function rotated({ tape, shape, plan: { cos, sin } }: LayerScope, x: Value, heads: number): Value {
  const width = heads * shape.headDim;
  const batched = apply(tape, 'reshape', [x], { dims: [1, 'rows', width] });
  return apply(tape, 'reshape', [apply(tape, 'rotate', [batched], { cos, sin, heads })], {
    dims: ['rows', width],
  });
}

/** softmax(q·kᵀ/√d + mask)·v per block of queries, each with its own list of keys; all [rows, heads · headDim]. */
function attend({ tape, shape, plan }: LayerScope, q: Value, k: Value, v: Value): Value {
  const { heads, keyValueHeads: kv, headDim } = shape;
  const slots = { rows: plan.queryRows, slots: plan.querySlots, counts: plan.queryCounts };
  const grouped = apply(
    tape,
    'group',
    [apply(tape, 'scale', [q], { factor: 1 / Math.sqrt(headDim) })],
    slots,
  );
  const split = apply(tape, 'reshape', [grouped], { dims: ['blocks', 'queries', kv, heads / kv, headDim] });
  const queries = apply(tape, 'transpose', [split], { order: [0, 2, 3, 1, 4] });
  const list = (x: Value, order: readonly number[]): Value => {
    const rows = apply(tape, 'gatherRows', [x], { rows: plan.keyRows });
    return apply(
      tape,
      'transpose',
      [apply(tape, 'reshape', [rows], { dims: ['blocks', 'keys', kv, 1, headDim] })],
      { order },
    );
  };
  const scores = apply(tape, 'matmul', [queries, list(k, [0, 2, 3, 4, 1])], {});
  const shares = apply(tape, 'softmax', [apply(tape, 'add', [scores, plan.mask], {})], {});
  const mixed = apply(tape, 'matmul', [shares, list(v, [0, 2, 3, 1, 4])], {});
  const ordered = apply(tape, 'transpose', [mixed], { order: [0, 3, 1, 2, 4] });
  return apply(
    tape,
    'ungroup',
    [apply(tape, 'reshape', [ordered], { dims: ['blocks', 'queries', heads * headDim] })],
    slots,
  );
}

/** One layer: [rows, hidden] → [rows, hidden]. */
function layer(scope: LayerScope, x: Value): Value {
  const { tape, shape, weight, keep } = scope;
  const kept = (name: Kept, value: Value): Value => {
    keep(name, value);
    return value;
  };
  const norm = (value: Value, name: string): Value =>
    apply(tape, 'rmsNorm', [value, weight(name)], { epsilon: shape.epsilon });
  const linear = (value: Value, name: string): Value => apply(tape, 'linear', [value, weight(name)], {});
  const entered = norm(x, 'input_layernorm.weight');
  const q = kept('queries', rotated(scope, project(scope, entered, 'q'), shape.heads));
  const k = kept('keys', rotated(scope, project(scope, entered, 'k'), shape.keyValueHeads));
  const v = kept('values', project(scope, entered, 'v'));
  const attended = kept('attended', attend(scope, q, k, v));
  const middle = kept('middle', apply(tape, 'add', [x, linear(attended, 'self_attn.o_proj.weight')], {}));
  const normed = norm(middle, 'post_attention_layernorm.weight');
  const gate = kept('gate', linear(normed, 'mlp.gate_proj.weight'));
  const up = kept('up', linear(normed, 'mlp.up_proj.weight'));
  const fed = apply(tape, 'swiGlu', [gate, up], {});
  return apply(tape, 'add', [middle, linear(fed, 'mlp.down_proj.weight')], {});
}

function layerGraph(
  shape: ModelShape,
  keep: (g: Graph) => Keep,
): { g: Graph; tape: Tape; x: Value; y: Value; weights: Map<string, Value> } {
  const g = new Graph();
  const tape = makeTape(g);
  const x = g.input('x', ['rows', shape.hidden]);
  const weights = new Map(
    Object.entries(layerTensors(shape)).map(([name, dims]) => [name, g.input(name, dims)]),
  );
  const weight = (name: string): Value => weights.get(name)!;
  const optionalWeight = (name: string): Value[] => (weights.has(name) ? [weight(name)] : []);
  const y = layer({ tape, shape, plan: planInputs(g, shape), weight, optionalWeight, keep: keep(g) }, x);
  return { g, tape, x, y, weights };
}

/** Result `y`, and, where `keepActivations`, every kept value under its name. */
export function layerForward(shape: ModelShape, keepActivations: boolean): Graph {
  const { g, y } = layerGraph(shape, graph => (name, value) => keepActivations && graph.output(name, value));
  g.output('y', y);
  return g;
}

/** From `x`, `dY` and either kept values or nothing more: `dX` and `d.<tensor>` for every tensor of the layer. */
export function layerBackward(shape: ModelShape, keepActivations: boolean): Graph {
  const { g, tape, x, y, weights } = layerGraph(
    shape,
    graph => (name, value) => keepActivations && graph.replaceByInput(name, value),
  );
  const dY = g.input('dY', ['rows', shape.hidden]);
  const [dX, ...gradients] = differentiate(tape, y, dY, [x, ...weights.values()]);
  g.output('dX', dX!);
  [...weights.keys()].forEach((name, i) => g.output(`d.${name}`, gradients[i]!));
  return g;
}

interface HeadInputs {
  g: Graph;
  tape: Tape;
  hidden: Value;
  norm: Value;
  matrix: Value;
  targets: Value;
  /** 1 / temperature. */
  sharpness: Value;
}

function headInputs(shape: ModelShape): HeadInputs {
  const g = new Graph();
  return {
    g,
    tape: makeTape(g),
    hidden: g.input('hidden', ['rows', shape.hidden]),
    norm: g.input('norm', [shape.hidden]),
    matrix: g.input('matrix', [shape.vocabulary, shape.hidden]),
    targets: g.input('targets', ['rows', 1], 'int32'),
    sharpness: g.input('sharpness', []),
  };
}

/** Shifted scores z = s − max s, and log Σ exp z, for a softmax that cannot overflow. */
function shifted(g: Graph, scores: Value): { z: Value; e: Value; sum: Value; logSum: Value } {
  const z = ops.subtract(g, scores, ops.reduceMax(g, scores, [1]));
  const e = ops.exp(g, z);
  const sum = ops.reduceSum(g, e, [1]);
  return { z, e, sum, logSum: ops.log(g, sum) };
}

/** H = log Σ exp z − Σ p·z, [rows, 1]. */
const entropyOf = (g: Graph, { z, e, sum, logSum }: ReturnType<typeof shifted>): Value =>
  ops.subtract(g, logSum, ops.divide(g, ops.reduceSum(g, ops.multiply(g, e, z), [1]), sum));

/** Scores s = logits / τ; the rows are scaled before the product because they are narrower than its result. */
function scoresOf({ tape, hidden, norm, matrix, sharpness }: HeadInputs, shape: ModelShape): Value {
  const normed = apply(tape, 'rmsNorm', [hidden, norm], { epsilon: shape.epsilon });
  return apply(tape, 'linear', [apply(tape, 'multiply', [normed, sharpness], {}), matrix], {});
}

/** Last hidden rows → `logProbs` of the targets and `entropies`, both [rows, 1], at temperature 1 / sharpness. */
export function headForward(shape: ModelShape): Graph {
  const inputs = headInputs(shape);
  const { g } = inputs;
  const parts = shifted(g, scoresOf(inputs, shape));
  g.output('logProbs', ops.subtract(g, ops.gatherElements(g, parts.z, inputs.targets, 1), parts.logSum));
  g.output('entropies', entropyOf(g, parts));
  return g;
}

/**
 * Given `dLogProb` (and, where `withEntropy`, `dEntropy`), both [rows, 1]: `dHidden`, `dNorm` and `dMatrix`.
 * With p the softmax of the scores s: ∂log p_t/∂s = onehot(t) − p and ∂H/∂s = −p·(log p + H).
 */
export function headBackward(shape: ModelShape, withEntropy: boolean): Graph {
  const inputs = headInputs(shape);
  const { g, tape, hidden, norm, matrix, targets } = inputs;
  const dLogProb = g.input('dLogProb', ['rows', 1]);
  const scores = scoresOf(inputs, shape);
  const minus = ops.negate(g, dLogProb);
  let spread: Value;
  if (withEntropy) {
    const parts = shifted(g, scores);
    const p = ops.divide(g, parts.e, parts.sum);
    const surprise = ops.add(g, ops.subtract(g, parts.z, parts.logSum), entropyOf(g, parts));
    spread = ops.multiply(
      g,
      p,
      ops.subtract(g, minus, ops.multiply(g, surprise, g.input('dEntropy', ['rows', 1]))),
    );
  } else {
    spread = ops.multiply(g, ops.softmax(g, scores), minus);
  }
  const dScores = ops.scatterAddElements(g, spread, targets, dLogProb);
  const [dHidden, dNorm, dMatrix] = differentiate(tape, scores, dScores, [hidden, norm, matrix]);
  g.output('dHidden', dHidden!);
  g.output('dNorm', dNorm!);
  g.output('dMatrix', dMatrix!);
  return g;
}

/** The Llama family's layer and head as graphs for training on packed rows. Knows nothing of sessions or batches. */
import type { AttentionPlan, BlockGroup } from './attention.ts';
import { Graph } from './graph.ts';
import type { Value } from './graph.ts';
import * as ops from './ops.ts';
import { rowSumInputs } from './rowSums.ts';
import { apply, differentiate, makeTape } from './rules.ts';
import type { Tape } from './rules.ts';
import type { Kept } from '../../../core/modelMemory.ts';
import { layerTensors } from '../../../core/modelShape.ts';
import type { ModelShape } from '../../../core/modelShape.ts';

/** Called for every value that may be kept, right after it was computed. */
type Keep = (name: Kept, value: Value) => void;

/** Inputs of a layer's graph that are the same for all layers of a pack; see plan.ts for their meaning. */
interface PlanInputs {
  cos: Value;
  sin: Value;
  attention: AttentionPlan;
}

function planInputs(g: Graph, { headDim, keyValueHeads: kv }: ModelShape, groups: number): PlanInputs {
  const group = (n: number): BlockGroup => {
    const [blocks, wide, length] = [`blocks${n}`, `wide${n}`, `length${n}`];
    return {
      queries: g.input(`queries${n}`, [blocks, kv, wide], 'int32'),
      counts: g.input(`counts${n}`, [blocks, 1, wide, 1]),
      keys: g.input(`keys${n}`, [blocks, kv, length], 'int32'),
      mask: g.input(`mask${n}`, [blocks, 1, wide, length]),
    };
  };
  return {
    cos: g.input('cos', [1, 'rows', headDim / 2]),
    sin: g.input('sin', [1, 'rows', headDim / 2]),
    attention: {
      groups: Array.from({ length: groups }, (_, n) => group(n)),
      slots: g.input('slots', ['places'], 'int32'),
      keySums: rowSumInputs(g),
      headDim,
    },
  };
}

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
  const attended = kept('attended', apply(tape, 'attention', [q, k, v], scope.plan.attention));
  const middle = kept('middle', apply(tape, 'add', [x, linear(attended, 'self_attn.o_proj.weight')], {}));
  const normed = norm(middle, 'post_attention_layernorm.weight');
  const gate = kept('gate', linear(normed, 'mlp.gate_proj.weight'));
  const up = kept('up', linear(normed, 'mlp.up_proj.weight'));
  const fed = apply(tape, 'swiGlu', [gate, up], {});
  return apply(tape, 'add', [middle, linear(fed, 'mlp.down_proj.weight')], {});
}

function layerGraph(
  shape: ModelShape,
  groups: number,
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
  const plan = planInputs(g, shape, groups);
  const y = layer({ tape, shape, plan, weight, optionalWeight, keep: keep(g) }, x);
  return { g, tape, x, y, weights };
}

/** What a layer's graph is made for: the groups of blocks of its pack, and whether activations are kept between passes. */
export interface LayerVariant {
  groups: number;
  keepActivations: boolean;
}

/** Result `y`, and, where `keepActivations`, every kept value under its name. */
export function layerForward(shape: ModelShape, { groups, keepActivations }: LayerVariant): Graph {
  const { g, y } = layerGraph(
    shape,
    groups,
    graph => (name, value) => keepActivations && graph.output(name, value),
  );
  g.output('y', y);
  return g;
}

/**
 * From `x`, `dY` and either kept values or nothing more: `dX`, and for every tensor of the layer `d.<tensor>`, its gradient
 * added to the input `sum.<tensor>`.
 */
export function layerBackward(shape: ModelShape, { groups, keepActivations }: LayerVariant): Graph {
  const { g, tape, x, y, weights } = layerGraph(
    shape,
    groups,
    graph => (name, value) => keepActivations && graph.replaceByInput(name, value),
  );
  const dY = g.input('dY', ['rows', shape.hidden]);
  const sums = sumInputs(g, weights);
  const [dX, ...gradients] = differentiate(tape, y, dY, { wanted: [x, ...weights.values()], sums });
  g.output('dX', dX!);
  [...weights.keys()].forEach((name, i) => g.output(`d.${name}`, gradients[i]!));
  return g;
}

/** An input `sum.<name>` for each. */
const sumInputs = (g: Graph, weights: ReadonlyMap<string, Value>): Map<Value, Value> =>
  new Map([...weights].map(([name, value]) => [value, g.input(`sum.${name}`, value.dims)]));

interface Head {
  g: Graph;
  tape: Tape;
  hidden: Value;
  norm: Value;
  matrix: Value;
  targets: Value;
  /** Normed rows / τ: scaled before the product because they are narrower than its result. */
  rows: Value;
}

function head(shape: ModelShape): Head {
  const g = new Graph();
  const tape = makeTape(g);
  const hidden = g.input('hidden', ['rows', shape.hidden]);
  const norm = g.input('norm', [shape.hidden]);
  const sharpness = g.input('sharpness', []);
  const normed = apply(tape, 'rmsNorm', [hidden, norm], { epsilon: shape.epsilon });
  return {
    ...{ g, tape, hidden, norm },
    matrix: g.input('matrix', [shape.vocabulary, shape.hidden]),
    targets: g.input('targets', ['rows', 1], 'int32'),
    rows: apply(tape, 'multiply', [normed, sharpness], {}),
  };
}

/**
 * Last hidden rows → `logProbs` of the targets and `entropies`, both [rows, 1], at temperature τ = 1 / sharpness; and, for
 * the way back, all `probabilities` [rows, vocabulary] and the matrix's rows `mixed` by them [rows, hidden].
 * With s = rows · matrixᵀ and p its softmax, log Σ exp s is max s − log max p, and H = log Σ exp s − Σ p·s. Where p is mixed
 * with the matrix anyway, Σ p·s is the product of a row with what it mixed.
 */
export function headForward(shape: ModelShape, forBackward: boolean): Graph {
  const { g, rows, matrix, targets } = head(shape);
  const scores = ops.gemm(g, rows, matrix, { transB: true });
  const p = ops.softmax(g, scores);
  const logSum = ops.subtract(g, ops.reduceMax(g, scores, [1]), ops.log(g, ops.reduceMax(g, p, [1])));
  const mixed = ops.gemm(g, p, matrix);
  const products = forBackward ? ops.multiply(g, rows, mixed) : ops.multiply(g, p, scores);
  g.output('logProbs', ops.subtract(g, ops.gatherElements(g, scores, targets, 1), logSum));
  g.output('entropies', ops.subtract(g, logSum, ops.reduceSum(g, products, [1])));
  if (forBackward) g.output('probabilities', p);
  if (forBackward) g.output('mixed', mixed);
  return g;
}

/** Logarithms are taken of no less than this. */
const LEAST_PROBABILITY = 1e-37;

/**
 * From the forward pass's `probabilities` and `mixed` and from `dLogProb` [rows, 1] (where `withEntropy`, from `entropies`
 * and `dEntropy` too): `dHidden`, and `d.norm` and `d.matrix`, added to `sum.norm` and `sum.matrix`. With p the softmax of
 * the scores s: ∂log p_t/∂s = onehot(t) − p and ∂H/∂s = −p·(log p + H). The one-hot part is a row of the matrix and of its
 * gradient, and dLogProb scales narrow rows instead of p. With entropy it is still missing in `d.matrix`: `drawn`
 * [rows, hidden] is what has yet to be added to the targets' rows. Without, the caller brings it: `surplus` p − onehot(t)
 * stands for `probabilities`.
 */
export function headBackward(shape: ModelShape, withEntropy: boolean): Graph {
  const { g, tape, hidden, norm, matrix, targets, rows } = head(shape);
  const p = g.input(withEntropy ? 'probabilities' : 'surplus', ['rows', shape.vocabulary]);
  const dLogProb = g.input('dLogProb', ['rows', 1]);
  const sums = sumInputs(
    g,
    new Map([
      ['norm', norm],
      ['matrix', matrix],
    ]),
  );
  const picked = ops.reshape(g, targets, ['rows']);
  const scaled = (x: Value): Value => ops.multiply(g, x, dLogProb);
  const drawn = scaled(rows);
  const spread = withEntropy ? spreadOf(g, p, dLogProb) : p;
  const pushed = withEntropy ? ops.gemm(g, spread, matrix) : scaled(g.input('mixed', ['rows', shape.hidden]));
  const dRows = ops.subtract(g, scaled(ops.gather(g, matrix, picked)), pushed);
  const against = ops.negate(g, withEntropy ? rows : drawn);
  const dMatrix = ops.gemm(g, spread, against, { transA: true, bias: sums.get(matrix)! });
  const [dHidden, dNorm] = differentiate(tape, rows, dRows, { wanted: [hidden, norm], sums });
  g.output('dHidden', dHidden!);
  g.output('d.norm', dNorm!);
  g.output('d.matrix', dMatrix);
  if (withEntropy) g.output('drawn', drawn);
  return g;
}

/** p·(dLogProb + dEntropy·(log p + H)), the part of −∂L/∂s that is spread over the vocabulary. */
function spreadOf(g: Graph, p: Value, dLogProb: Value): Value {
  const dEntropy = g.input('dEntropy', ['rows', 1]);
  const constant = ops.add(g, dLogProb, ops.multiply(g, dEntropy, g.input('entropies', ['rows', 1])));
  const logs = ops.log(g, ops.maximum(g, p, g.constant([LEAST_PROBABILITY], [])));
  return ops.multiply(g, p, ops.add(g, ops.multiply(g, logs, dEntropy), constant));
}

/**
 * The graphs of decoding: rows of tokens in, keys and values of these rows out, and at the end one drawn token per row.
 * Between two graphs the caller writes the new keys and values into the caches, so that a token finds every key, its own
 * included, at the index of its position. All sums then run in the same order whether a token came in a chunk or alone,
 * beside other rows or with a longer cache: equal requests give equal bits. Knows nothing of requests or of what is cached.
 *
 * Weights change with every update, so they cannot be packed in advance, and packing them costs more than multiplying a
 * few rows with them. ONNX Runtime packs the right operand only; so the weights stand on the left, W · rowsᵀ, with at most
 * LANES rows a product. So narrow a product also sums up to 1,024 addends in one go, however many rows and threads there are.
 */
import { Graph, type Value } from './graph.ts';
import * as ops from './ops.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerTensors, type ModelShape } from '../../../core/modelShape.ts';

/** Cache lengths are multiples of this, because vectorised sums of other lengths group their addends differently. */
export const CAPACITY_STEP = 64;

/** Most rows of one product: a vector of AVX-512. A single row would be multiplied by other code, which rounds otherwise. */
export const LANES = 16;

/** Tensors of a layer that its projections read; the rest belongs to what follows its attention. */
const isProjection = (name: string): boolean => /^(input_layernorm|self_attn\.[qkv]_)/.test(name);

export function layerNames(shape: ModelShape): { projection: string[]; output: string[] } {
  const names = Object.keys(layerTensors(shape));
  return { projection: names.filter(isProjection), output: names.filter(name => !isProjection(name)) };
}

/**
 * Dimensions by name: N token rows in all = R cache slots × T tokens each; C the caches' capacity. The rows are followed by
 * padding so that there are P = G · L of them: G groups of L rows, 2 ≤ L ≤ LANES.
 * Inputs of the layer graphs: `lanes` int64 [3] = [G, L, −1], `grid` int64 [6] = [R, T, kv, group, 1, headDim],
 * and `padding` int64 [4] = [0, 0, P − N, 0].
 */
interface Scope {
  g: Graph;
  shape: ModelShape;
  lanes: Value;
}

const scopeOf = (g: Graph, shape: ModelShape): Scope => ({ g, shape, lanes: g.input('lanes', [3], 'int64') });

/** ids [P] → hidden [P, hidden], and queries, keys, values of the first layer. */
export function firstGraph(shape: ModelShape): Uint8Array {
  const g = new Graph();
  const embedding = g.input(EMBEDDING, [shape.vocabulary, shape.hidden]);
  const hidden = ops.gather(g, embedding, g.input('ids', ['P'], 'int32'));
  g.output('hiddenOut', hidden);
  project(scopeOf(g, shape), hidden);
  return g.build();
}

/** Attention and feed-forward network of one layer, and queries, keys, values of the next. */
export function middleGraph(shape: ModelShape): Uint8Array {
  const g = new Graph();
  const scope = scopeOf(g, shape);
  const hidden = attend(scope);
  g.output('hiddenOut', hidden);
  project(scope, hidden);
  return g.build();
}

/** What a draw is asked for, beside tokens at random: the topK largest scores, and likeliest tokens. */
export interface DrawKind {
  topK: number;
  hasGreedy: boolean;
}

/**
 * The last layer and the draw. Inputs: `temperature`, `uniform` and, where rows may be greedy, `isGreedy` [P, 1]. Outputs, with s = logits / temperature
 * less its row's maximum: `token` int64 [P, 1]; `score` s of that token; `partition` Z = Σ exp s; `weighted` Σ s·exp s;
 * `top` the largest s, descending, and `topIds` int64 their tokens, where topK is not 0. So log p = score − log Z and the entropy is log Z − weighted / Z:
 * the logarithm is left to the caller, whose result does not depend on how many rows there are.
 */
export function lastGraph(shape: ModelShape, { topK, hasGreedy }: DrawKind): Uint8Array {
  const g = new Graph();
  const scope = scopeOf(g, shape);
  const row = (name: string): Value => g.input(name, ['P', 1]);
  const hidden = ops.rmsNorm(g, attend(scope), g.input(FINAL_NORM, [shape.hidden]), shape.epsilon);
  const head = g.input(shape.tiedHead ? EMBEDDING : HEAD, [shape.vocabulary, shape.hidden]);
  const cooled = inLanes(scope, ops.divide(g, hidden, row('temperature')));
  const logits = pad(g, asRows(g, linear(g, cooled, head)), shape.vocabulary);
  const scores = ops.subtract(g, logits, ops.reduceMax(g, logits, [1]));
  const weights = ops.exp(g, scores);
  const drawn = draw(g, weights, row('uniform'));
  const token = hasGreedy ? heaviest(g, { scores, drawn, isGreedy: row('isGreedy') }) : drawn;
  g.output('token', token);
  g.output('score', ops.gatherElements(g, scores, token, 1));
  g.output('partition', ops.reduceSum(g, weights, [1]));
  g.output('weighted', ops.reduceSum(g, ops.multiply(g, scores, weights), [1]));
  if (topK > 0) {
    const dims = [
      ['P', topK],
      ['P', topK],
    ] as const;
    const [top, topIds] = g.split('TopK', [scores, g.constant([topK], [1], 'int64')], dims, {
      type: ['float32', 'int64'],
      attributes: { axis: 1 },
    });
    g.output('top', top!);
    g.output('topIds', topIds!);
  }
  return g.build();
}

/** The likeliest token where the row is greedy, and what was drawn elsewhere. */
function heaviest(
  g: Graph,
  { scores, drawn, isGreedy }: Record<'scores' | 'drawn' | 'isGreedy', Value>,
): Value {
  const attributes = { axis: 1, keepdims: 1 };
  const likeliest = g.node('ArgMax', [scores], ['P', 1], { type: 'int64', attributes });
  const isMeant = g.node('Greater', [isGreedy, g.constant([0.5], [])], ['P', 1], { type: 'bool' });
  return g.node('Where', [isMeant, likeliest, drawn], ['P', 1], { type: 'int64' });
}

/** Weights that a draw adds up at once. A multiple of 16: shorter rows would begin where the sums' order depends on the row. */
const BLOCK = 64;

/** Fills the last block with what is never drawn. */
function pad(g: Graph, logits: Value, vocabulary: number): Value {
  const missing = (BLOCK - (vocabulary % BLOCK)) % BLOCK;
  if (missing === 0) return logits;
  const inputs = [logits, g.constant([0, 0, 0, missing], [4], 'int64'), g.constant([-1e30], [])];
  return g.node('Pad', inputs, ['P', vocabulary + missing], { attributes: { mode: 'constant' } });
}

/**
 * The first token whose cumulative weight exceeds uniform · (sum of all): first its block, by the blocks' sums, then the
 * token in it, because running sums are slow.
 */
function draw(g: Graph, weights: Value, uniform: Value): Value {
  const running = (x: Value, exclusive = 0): Value =>
    g.node('CumSum', [x, g.constant([1], [], 'int64')], x.dims, { attributes: { exclusive } });
  const largest = (cumulative: Value): Value => ops.reduceMax(g, cumulative, [1]);
  const passed = (cumulative: Value, limit: Value): Value => {
    const isPassed = g.node('LessOrEqual', [cumulative, limit], cumulative.dims, { type: 'bool' });
    return ops.cast(g, ops.reduceSum(g, ops.cast(g, isPassed, 'float32'), [1]), 'int64');
  };
  const blocks = g.node('Reshape', [weights, g.constant([0, -1, BLOCK], [3], 'int64')], ['P', 'B', BLOCK]);
  const sums = ops.reshape(g, ops.reduceSum(g, blocks, [2]), ['P', 'B']);
  const through = running(sums);
  const limit = ops.multiply(g, uniform, largest(through));
  const block = passed(through, limit);
  const before = ops.gatherElements(g, running(sums, 1), block, 1);
  const within = running(
    g.node('GatherND', [blocks, block], ['P', BLOCK], { attributes: { batch_dims: 1 } }),
  );
  // A block's two sums round differently, so what is left of the limit may reach its end, where nothing may be drawn.
  const most = ops.scale(g, largest(within), LARGEST_UNIFORM);
  const left = g.node('Min', [ops.subtract(g, limit, before), most], ['P', 1]);
  const first = g.node('Mul', [block, g.constant([BLOCK], [], 'int64')], ['P', 1]);
  return g.node('Add', [first, passed(within, left)], ['P', 1]);
}

/** Far enough below 1 that its product with any total is smaller than the total, in float32 too. */
export const LARGEST_UNIFORM = 1 - 2 ** -23;

/** Rows [P, width] → [G, L, width]. */
const inLanes = ({ g, lanes }: Scope, rows: Value): Value =>
  g.node('Reshape', [rows, lanes], ['G', 'L', rows.dims[1]!]);

/** weight [width, inner] times rows in lanes [G, L, inner] → [G, width, L]: one column per row. */
const linear = (g: Graph, rows: Value, weight: Value): Value =>
  ops.batched(g, weight, rows, { transB: true });

/** Columns [G, width, L] → rows [P, width]. */
function asRows(g: Graph, columns: Value): Value {
  const width = Number(columns.dims[1]);
  const turned = ops.transpose(g, columns, [0, 2, 1]);
  return g.node('Reshape', [turned, g.constant([-1, width], [2], 'int64')], ['P', width]);
}

/** Outputs `queryOut` [P, heads · headDim], scaled, and `keyOut`, `valueOut` [P, kv · headDim]; queries and keys are rotated. */
function project(scope: Scope, hidden: Value): void {
  const { g, shape } = scope;
  const dims = layerTensors(shape);
  const tensor = (name: string): Value => g.input(name, dims[name]!);
  const normed = inLanes(scope, ops.rmsNorm(g, hidden, tensor('input_layernorm.weight'), shape.epsilon));
  const [cos, sin] = ['cos', 'sin'].map(name => g.input(name, [1, 'P', shape.headDim / 2])) as [Value, Value];
  const projected = (letter: 'q' | 'k' | 'v'): Value => {
    const rows = asRows(g, linear(g, normed, tensor(`self_attn.${letter}_proj.weight`)));
    return shape.attentionBias ? ops.add(g, rows, tensor(`self_attn.${letter}_proj.bias`)) : rows;
  };
  const turned = (letter: 'q' | 'k', heads: number): Value => {
    const flat = headNormed(scope, projected(letter), {
      heads,
      weight: () => tensor(`self_attn.${letter}_norm.weight`),
    });
    const rotated = ops.rotate(g, ops.reshape(g, flat, [1, 'P', heads * shape.headDim]), cos, sin, heads);
    return ops.reshape(g, rotated, ['P', heads * shape.headDim]);
  };
  g.output('queryOut', ops.scale(g, turned('q', shape.heads), 1 / Math.sqrt(shape.headDim)));
  g.output('keyOut', turned('k', shape.keyValueHeads));
  g.output('valueOut', projected('v'));
}

function headNormed(
  { g, shape }: Scope,
  x: Value,
  { heads, weight }: { heads: number; weight: () => Value },
): Value {
  if (!shape.headNorm) return x;
  const split = ops.reshape(g, x, ['P', heads, shape.headDim]);
  return ops.reshape(g, ops.rmsNorm(g, split, weight(), shape.epsilon), ['P', heads * shape.headDim]);
}

/** Input `hidden` [P, hidden], and those of `mixed`. */
function attend(scope: Scope): Value {
  const { g, shape } = scope;
  const { hidden: width, heads, headDim } = shape;
  const dims = layerTensors(shape);
  const tensor = (name: string): Value => g.input(name, dims[name]!);
  const projected = (name: string, rows: Value): Value => linear(g, rows, tensor(name));
  const padded = g.node('Pad', [mixed(scope), g.input('padding', [4], 'int64')], ['P', heads * headDim], {
    attributes: { mode: 'constant' },
  });
  const output = asRows(g, projected('self_attn.o_proj.weight', inLanes(scope, padded)));
  const attended = ops.add(g, g.input('hidden', ['P', width]), output);
  const normed = inLanes(
    scope,
    ops.rmsNorm(g, attended, tensor('post_attention_layernorm.weight'), shape.epsilon),
  );
  const gate = projected('mlp.gate_proj.weight', normed);
  const active = ops.multiply(
    g,
    ops.multiply(g, gate, ops.sigmoid(g, gate)),
    projected('mlp.up_proj.weight', normed),
  );
  return ops.add(g, attended, asRows(g, ops.batched(g, tensor('mlp.down_proj.weight'), active)));
}

/**
 * Values mixed by attention, [N, heads · headDim]. Inputs `query` [N, heads · headDim], `keys` [R, 1, kv, 1, headDim, C],
 * `values` [R, 1, kv, 1, C, headDim] and `mask` [R, T, 1, 1, 1, C], which is 0 where a token may look and very negative
 * elsewhere. One product per token and head, each of a single row, is what ONNX Runtime multiplies fastest, because it
 * then reads the cache in place, and what makes chunks of tokens add up as single tokens do.
 */
function mixed({ g, shape }: Scope): Value {
  const { heads, keyValueHeads: kv, headDim } = shape;
  const query = g.node(
    'Reshape',
    [g.input('query', ['N', heads * headDim]), g.input('grid', [6], 'int64')],
    ['R', 'T', kv, heads / kv, 1, headDim],
  );
  const keys = g.input('keys', ['R', 1, kv, 1, headDim, 'C']);
  const values = g.input('values', ['R', 1, kv, 1, 'C', headDim]);
  const scores = ops.add(g, ops.matmul(g, query, keys), g.input('mask', ['R', 'T', 1, 1, 1, 'C']));
  const found = ops.matmul(g, ops.softmax(g, scores), values);
  const flat = g.constant([-1, heads * headDim], [2], 'int64');
  return g.node('Reshape', [found, flat], ['N', heads * headDim]);
}

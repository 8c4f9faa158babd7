/**
 * The graphs of decoding: rows of tokens in, keys and values of these rows out, and at the end one drawn token per row.
 * Between two graphs the caller writes the new keys and values into the caches, so that a token finds every key, its own
 * included, at the index of its position. All sums then run in the same order whether a token came in a chunk or alone,
 * beside other rows or with a longer cache: equal requests give equal bits. Knows nothing of requests or of what is cached.
 */
import { Graph, type Value } from './graph.ts';
import * as ops from './ops.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerTensors, type ModelShape } from '../../../core/modelShape.ts';

/** Cache lengths are multiples of this, because vectorised sums of other lengths group their addends differently. */
export const CAPACITY_STEP = 64;

/** Tensors of a layer that its projections read; the rest belongs to what follows its attention. */
const isProjection = (name: string): boolean => /^(input_layernorm|self_attn\.[qkv]_)/.test(name);

export function layerNames(shape: ModelShape): { projection: string[]; output: string[] } {
  const names = Object.keys(layerTensors(shape));
  return { projection: names.filter(isProjection), output: names.filter(name => !isProjection(name)) };
}

/**
 * Dimensions by name: N token rows in all = R cache slots × T tokens each; C the caches' capacity.
 * Inputs of the layer graphs: `grid` int64 [6] = [R, T, kv, group, 1, headDim].
 */
interface Layer {
  g: Graph;
  shape: ModelShape;
}

/** ids [N] → hidden [N, hidden], and queries, keys, values of the first layer. */
export function firstGraph(shape: ModelShape): Uint8Array {
  const g = new Graph();
  const embedding = g.input(EMBEDDING, [shape.vocabulary, shape.hidden]);
  const hidden = ops.gather(g, embedding, g.input('ids', ['N'], 'int32'));
  g.output('hiddenOut', hidden);
  project({ g, shape }, hidden);
  return g.build();
}

/** Attention and feed-forward network of one layer, and queries, keys, values of the next. */
export function middleGraph(shape: ModelShape): Uint8Array {
  const g = new Graph();
  const hidden = attend({ g, shape });
  g.output('hiddenOut', hidden);
  project({ g, shape }, hidden);
  return g.build();
}

/**
 * The last layer and the draw. Inputs: `temperature`, `uniform`, `isGreedy` [N, 1]. Outputs, with s = logits / temperature
 * less its row's maximum: `token` int64 [N, 1]; `score` s of that token; `partition` Z = Σ exp s; `weighted` Σ s·exp s;
 * `top` the largest s, descending, where topK is not 0. So log p = score − log Z and the entropy is log Z − weighted / Z:
 * the logarithm is left to the caller, whose result does not depend on how many rows there are.
 */
export function lastGraph(shape: ModelShape, topK: number): Uint8Array {
  const g = new Graph();
  const row = (name: string): Value => g.input(name, ['N', 1]);
  const hidden = ops.rmsNorm(g, attend({ g, shape }), g.input(FINAL_NORM, [shape.hidden]), shape.epsilon);
  const head = g.input(shape.tiedHead ? EMBEDDING : HEAD, [shape.vocabulary, shape.hidden]);
  const logits = pad(
    g,
    ops.gemm(g, ops.divide(g, hidden, row('temperature')), head, { transB: true }),
    shape.vocabulary,
  );
  const scores = ops.subtract(g, logits, ops.reduceMax(g, logits, [1]));
  const weights = ops.exp(g, scores);
  const token = draw(g, { scores, weights, uniform: row('uniform'), isGreedy: row('isGreedy') });
  g.output('token', token);
  g.output('score', ops.gatherElements(g, scores, token, 1));
  g.output('partition', ops.reduceSum(g, weights, [1]));
  g.output('weighted', ops.reduceSum(g, ops.multiply(g, scores, weights), [1]));
  if (topK > 0) {
    const [top] = g.split(
      'TopK',
      [scores, g.constant([topK], [1], 'int64')],
      [
        ['N', topK],
        ['N', topK],
      ],
      { attributes: { axis: 1 } },
    );
    g.output('top', top!);
  }
  return g.build();
}

/** Rows of a length that is no multiple of 16 begin at unaligned addresses, where the sums' order depends on the row. */
function pad(g: Graph, logits: Value, vocabulary: number): Value {
  const missing = (16 - (vocabulary % 16)) % 16;
  if (missing === 0) return logits;
  const inputs = [logits, g.constant([0, 0, 0, missing], [4], 'int64'), g.constant([-1e30], [])];
  return g.node('Pad', inputs, ['N', vocabulary + missing], { attributes: { mode: 'constant' } });
}

/** The first token whose cumulative weight exceeds uniform · (sum of all), or the heaviest where the row is greedy. */
function draw(
  g: Graph,
  { scores, weights, uniform, isGreedy }: Record<'scores' | 'weights' | 'uniform' | 'isGreedy', Value>,
): Value {
  const width = Number(scores.dims[1]);
  const cumulative = g.node('CumSum', [weights, g.constant([1], [], 'int64')], weights.dims);
  const total = ops.gather(g, cumulative, g.constant([width - 1], [1], 'int64'), 1);
  const passed = g.node('LessOrEqual', [cumulative, ops.multiply(g, uniform, total)], weights.dims, {
    type: 'bool',
  });
  const drawn = ops.cast(g, ops.reduceSum(g, ops.cast(g, passed, 'float32'), [1]), 'int64');
  const heaviest = g.node('ArgMax', [scores], ['N', 1], {
    type: 'int64',
    attributes: { axis: 1, keepdims: 1 },
  });
  const greedy = g.node('Greater', [isGreedy, g.constant([0.5], [])], ['N', 1], { type: 'bool' });
  return g.node('Where', [greedy, heaviest, drawn], ['N', 1], { type: 'int64' });
}

/** Outputs `queryOut` [N, heads · headDim], scaled, and `keyOut`, `valueOut` [N, kv · headDim]; queries and keys are rotated. */
function project({ g, shape }: Layer, hidden: Value): void {
  const dims = layerTensors(shape);
  const tensor = (name: string): Value => g.input(name, dims[name]!);
  const normed = ops.rmsNorm(g, hidden, tensor('input_layernorm.weight'), shape.epsilon);
  const [cos, sin] = ['cos', 'sin'].map(name => g.input(name, [1, 'N', shape.headDim / 2])) as [Value, Value];
  const linear = (letter: 'q' | 'k' | 'v'): Value => {
    const bias = shape.attentionBias ? { bias: tensor(`self_attn.${letter}_proj.bias`) } : {};
    return ops.gemm(g, normed, tensor(`self_attn.${letter}_proj.weight`), { transB: true, ...bias });
  };
  const turned = (letter: 'q' | 'k', heads: number): Value => {
    const flat = headNormed({ g, shape }, linear(letter), {
      heads,
      weight: () => tensor(`self_attn.${letter}_norm.weight`),
    });
    const rotated = ops.rotate(g, ops.reshape(g, flat, [1, 'N', heads * shape.headDim]), cos, sin, heads);
    return ops.reshape(g, rotated, ['N', heads * shape.headDim]);
  };
  g.output('queryOut', ops.scale(g, turned('q', shape.heads), 1 / Math.sqrt(shape.headDim)));
  g.output('keyOut', turned('k', shape.keyValueHeads));
  g.output('valueOut', linear('v'));
}

function headNormed(
  { g, shape }: Layer,
  x: Value,
  { heads, weight }: { heads: number; weight: () => Value },
): Value {
  if (!shape.headNorm) return x;
  const split = ops.reshape(g, x, ['N', heads, shape.headDim]);
  return ops.reshape(g, ops.rmsNorm(g, split, weight(), shape.epsilon), ['N', heads * shape.headDim]);
}

/**
 * Inputs `hidden` [N, hidden], `query`, `keys` [R, 1, kv, 1, headDim, C], `values` [R, 1, kv, 1, C, headDim] and `mask`
 * [R, T, 1, 1, 1, C], which is 0 where a token may look and very negative elsewhere. One product per token and head, each
 * of a single row, is what ONNX Runtime multiplies fastest without packing the cache, and what makes chunks of tokens
 * add up as single tokens do.
 */
function attend({ g, shape }: Layer): Value {
  const { hidden: width, heads, keyValueHeads: kv, headDim } = shape;
  const dims = layerTensors(shape);
  const tensor = (name: string): Value => g.input(name, dims[name]!);
  const hidden = g.input('hidden', ['N', width]);
  const query = g.node(
    'Reshape',
    [g.input('query', ['N', heads * headDim]), g.input('grid', [6], 'int64')],
    ['R', 'T', kv, heads / kv, 1, headDim],
  );
  const keys = g.input('keys', ['R', 1, kv, 1, headDim, 'C']);
  const values = g.input('values', ['R', 1, kv, 1, 'C', headDim]);
  const scores = ops.add(g, ops.matmul(g, query, keys), g.input('mask', ['R', 'T', 1, 1, 1, 'C']));
  const mixed = ops.matmul(g, ops.softmax(g, scores), values);
  const flat = g.node(
    'Reshape',
    [mixed, g.constant([-1, heads * headDim], [2], 'int64')],
    ['N', heads * headDim],
  );
  const attended = ops.add(g, hidden, ops.gemm(g, flat, tensor('self_attn.o_proj.weight'), { transB: true }));
  const normed = ops.rmsNorm(g, attended, tensor('post_attention_layernorm.weight'), shape.epsilon);
  const linear = (name: string, x: Value): Value =>
    ops.gemm(g, x, tensor(`mlp.${name}_proj.weight`), { transB: true });
  const gate = linear('gate', normed);
  const active = ops.multiply(g, ops.multiply(g, gate, ops.sigmoid(g, gate)), linear('up', normed));
  return ops.add(g, attended, linear('down', active));
}

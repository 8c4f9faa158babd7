/** One function per standard ONNX operator that we use, with its shape rule. Knows nothing of gradients or models. */
import { FailureError } from '../../../core/types.ts';
import type { Graph, Value } from './graph.ts';
import type { Dim, ElementType } from './onnx.ts';

/** Shape of two operands after broadcasting; a named dimension fits itself and 1. */
export function broadcast(a: readonly Dim[], b: readonly Dim[]): Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x !== y && x !== 1 && y !== 1)
      throw new FailureError({ where: 'bug', message: `Shapes [${a.join()}] and [${b.join()}] do not fit.` });
    return x === 1 ? y : x;
  });
}

const elementwise =
  (op: string) =>
  (g: Graph, a: Value, b: Value): Value =>
    g.node(op, [a, b], broadcast(a.dims, b.dims));
const unary =
  (op: string) =>
  (g: Graph, a: Value): Value =>
    g.node(op, [a], a.dims);

export const add = elementwise('Add');
export const subtract = elementwise('Sub');
export const multiply = elementwise('Mul');
export const divide = elementwise('Div');
export const negate = unary('Neg');
export const exp = unary('Exp');
export const log = unary('Log');
export const sqrt = unary('Sqrt');
export const reciprocal = unary('Reciprocal');
export const sigmoid = unary('Sigmoid');
/** Over the last axis. */
export const softmax = (g: Graph, a: Value): Value =>
  g.node('Softmax', [a], a.dims, { attributes: { axis: -1 } });
export const maximum = elementwise('Max');

export const scale = (g: Graph, a: Value, factor: number): Value =>
  factor === 1 ? a : multiply(g, a, g.constant([factor], []));
export const cast = (g: Graph, a: Value, type: ElementType): Value =>
  g.node('Cast', [a], a.dims, {
    type,
    attributes: { to: { float32: 1, int32: 6, int64: 7, uint8: 2, int8: 3, bool: 9, float16: 10 }[type] },
  });

const reduce =
  (op: 'ReduceSum' | 'ReduceSumSquare' | 'ReduceMax') =>
  (g: Graph, a: Value, axes: readonly number[]): Value =>
    g.node(
      op,
      [a, g.constant(axes, [axes.length], 'int64')],
      a.dims.map((dim, i) => (axes.includes(i) ? 1 : dim)),
      { attributes: { keepdims: 1 } },
    );
/** Reduced axes stay, with length 1. */
export const reduceSum = reduce('ReduceSum');
export const reduceSumSquare = reduce('ReduceSumSquare');
export const reduceMax = reduce('ReduceMax');

/** At most one named dimension may be inferred; others must stand at the same index as in the operand. */
export function reshape(g: Graph, a: Value, dims: readonly Dim[]): Value {
  const pattern = dims.map((dim, i) => (typeof dim === 'number' ? dim : a.dims[i] === dim ? 0 : -1));
  if (pattern.filter(dim => dim === -1).length > 1)
    throw new FailureError({
      where: 'bug',
      message: `[${a.dims.join()}] cannot be reshaped to [${dims.join()}]: two dimensions are open.`,
    });
  return g.node('Reshape', [a, g.constant(pattern, [pattern.length], 'int64')], dims);
}

export const transpose = (g: Graph, a: Value, order: readonly number[]): Value =>
  g.node(
    'Transpose',
    [a],
    order.map(axis => a.dims[axis]!),
    { attributes: { perm: order } },
  );

/** Batched product over the last two axes; leading axes broadcast. */
export const matmul = (g: Graph, a: Value, b: Value): Value =>
  g.node(
    'MatMul',
    [a, b],
    [...broadcast(a.dims.slice(0, -2), b.dims.slice(0, -2)), a.dims.at(-2)!, b.dims.at(-1)!],
  );

/**
 * factor · op(A)·op(B) over the last two axes; leading axes broadcast. One node of ONNX Runtime's own, which reads the
 * transposed operand in place; Transpose, MatMul and Mul would do the same where a device lacks it.
 */
export function batched(
  g: Graph,
  a: Value,
  b: Value,
  {
    transA = false,
    transB = false,
    factor = 1,
  }: { transA?: boolean; transB?: boolean; factor?: number } = {},
): Value {
  const dims = [
    ...broadcast(a.dims.slice(0, -2), b.dims.slice(0, -2)),
    a.dims.at(transA ? -1 : -2)!,
    b.dims.at(transB ? -2 : -1)!,
  ];
  return g.node('FusedMatMul', [a, b], dims, {
    domain: 'com.microsoft',
    attributes: { transA: Number(transA), transB: Number(transB), alpha: { float: factor } },
  });
}

/** op(A)·op(B) of two matrices, plus a bias that broadcasts where one is given. */
export function gemm(
  g: Graph,
  a: Value,
  b: Value,
  { transA = false, transB = false, bias }: { transA?: boolean; transB?: boolean; bias?: Value } = {},
): Value {
  const dims = [a.dims[transA ? 1 : 0]!, b.dims[transB ? 0 : 1]!];
  return g.node('Gemm', bias ? [a, b, bias] : [a, b], dims, {
    attributes: { transA: Number(transA), transB: Number(transB) },
  });
}

/** Rows of `a` by index: result [...indices, ...rest]. */
export const gather = (g: Graph, a: Value, indices: Value, axis = 0): Value =>
  g.node('Gather', [a, indices], [...a.dims.slice(0, axis), ...indices.dims, ...a.dims.slice(axis + 1)], {
    attributes: { axis },
  });

/** One element per row of [n, m] by indices [n, k]. */
export const gatherElements = (g: Graph, a: Value, indices: Value, axis: number): Value =>
  g.node('GatherElements', [a, indices], indices.dims, { attributes: { axis } });

/** One after the other along the first axis, whose length then has no name of its own. */
export const concat = (g: Graph, parts: readonly Value[]): Value =>
  g.node('Concat', parts, ['joined', ...parts[0]!.dims.slice(1)], { attributes: { axis: 0 } });

/** x / rms(x) · weight over the last axis. */
export const rmsNorm = (g: Graph, x: Value, weight: Value, epsilon: number): Value =>
  g.node('RMSNormalization', [x, weight], x.dims, { attributes: { axis: -1, epsilon: { float: epsilon } } });

/** Rotates halves of each head; x [1, rows, heads·headDim], cos and sin [1, rows, headDim / 2]. */
export const rotate = (g: Graph, x: Value, cos: Value, sin: Value, heads: number): Value =>
  g.node('RotaryEmbedding', [x, cos, sin], x.dims, { attributes: { interleaved: 0, num_heads: heads } });

/** Sums what broadcasting had repeated, so that the result has the given shape. */
export function sumTo(g: Graph, a: Value, dims: readonly Dim[]): Value {
  const lead = a.dims.length - dims.length;
  const axes = [...a.dims.keys()].filter(i => i < lead || (dims[i - lead] === 1 && a.dims[i] !== 1));
  if (axes.length === 0) return a;
  const sum = reduceSum(g, a, axes);
  return lead === 0 ? sum : reshape(g, sum, dims);
}

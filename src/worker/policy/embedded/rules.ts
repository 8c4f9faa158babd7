/** Reverse-mode differentiation: one rule per operation, emitting ONNX nodes. Knows nothing of models or of running. */
import { attention, attentionGradients } from './attention.ts';
import type { AttentionPlan } from './attention.ts';
import type { Graph, Value } from './graph.ts';
import type { Dim } from './onnx.ts';
import * as ops from './ops.ts';

/** What each differentiable operation needs beside its operands. The compiler checks that every one has a rule. */
interface Settings {
  /** a + b, broadcasting. */
  add: object;
  /** a · b elementwise, broadcasting. */
  multiply: object;
  reshape: { dims: readonly Dim[] };
  /** x [n, in], weight [out, in], perhaps bias [out] → [n, out]. */
  linear: object;
  /** gate · sigmoid(gate) · up: operands gate, up. */
  swiGlu: object;
  /** Over the last axis: operands x, weight. */
  rmsNorm: { epsilon: number };
  /** Rotary embedding by given angles; x [1, n, heads · headDim]. */
  rotate: { cos: Value; sin: Value; heads: number };
  /** Operands queries [n, heads · headDim], keys and values [n, kv · headDim] → [n, heads · headDim]. */
  attention: AttentionPlan;
}

export type Operation = keyof Settings;

/** The gradient with respect to an operand, or how it joins what is known of it already, where that can be had for less. */
type Contribution = Value | ((sum: Value | undefined) => Value);

interface Rule<S> {
  forward(g: Graph, inputs: readonly Value[], settings: S): Value;
  /** For each operand, given the gradient with respect to the result. */
  backward(
    g: Graph,
    gradient: Value,
    step: { inputs: readonly Value[]; output: Value; settings: S },
  ): (Contribution | undefined)[];
}

const rules: { readonly [K in Operation]: Rule<Settings[K]> } = {
  add: {
    forward: (g, [a, b]) => ops.add(g, a!, b!),
    backward: (g, gradient, { inputs: [a, b] }) => [
      ops.sumTo(g, gradient, a!.dims),
      ops.sumTo(g, gradient, b!.dims),
    ],
  },
  multiply: {
    forward: (g, [a, b]) => ops.multiply(g, a!, b!),
    backward: (g, gradient, { inputs: [a, b] }) => [
      ops.sumTo(g, ops.multiply(g, gradient, b!), a!.dims),
      ops.sumTo(g, ops.multiply(g, gradient, a!), b!.dims),
    ],
  },
  reshape: {
    forward: (g, [a], { dims }) => ops.reshape(g, a!, dims),
    backward: (g, gradient, { inputs: [a] }) => [ops.reshape(g, gradient, a!.dims)],
  },
  linear: {
    forward: (g, [x, weight, bias]) => ops.gemm(g, x!, weight!, { transB: true, ...(bias && { bias }) }),
    backward: (g, gradient, { inputs: [x, weight, bias] }) => [
      sum => ops.gemm(g, gradient, weight!, { ...(sum && { bias: sum }) }),
      sum => ops.gemm(g, gradient, x!, { transA: true, ...(sum && { bias: sum }) }),
      bias && ops.sumTo(g, gradient, bias.dims),
    ],
  },
  swiGlu: {
    forward: (g, [gate, up]) => ops.multiply(g, ops.multiply(g, gate!, ops.sigmoid(g, gate!)), up!),
    // With s = σ(gate) and silu = gate·s: d silu/d gate = s + silu·(1 − s) = s + silu − silu·s.
    backward: (g, gradient, { inputs: [gate, up] }) => {
      const s = ops.sigmoid(g, gate!);
      const silu = ops.multiply(g, gate!, s);
      const slope = ops.add(g, s, ops.subtract(g, silu, ops.multiply(g, silu, s)));
      return [ops.multiply(g, ops.multiply(g, gradient, up!), slope), ops.multiply(g, gradient, silu)];
    },
  },
  rmsNorm: {
    forward: (g, [x, weight], { epsilon }) => ops.rmsNorm(g, x!, weight!, epsilon),
    backward: (g, gradient, { inputs: [x, weight], settings: { epsilon } }) =>
      rmsNormGradients(g, gradient, { x: x!, weight: weight!, epsilon }),
  },
  rotate: {
    forward: (g, [x], { cos, sin, heads }) => ops.rotate(g, x!, cos, sin, heads),
    // A rotation's transpose turns the other way.
    backward: (g, gradient, { settings: { cos, sin, heads } }) => [
      ops.rotate(g, gradient, cos, ops.negate(g, sin), heads),
    ],
  },
  attention: {
    forward: (g, [q, k, v], plan) => attention(g, { q: q!, k: k!, v: v! }, plan),
    backward: (g, gradient, { inputs: [q, k, v], output, settings: plan }) =>
      attentionGradients(g, { q: q!, k: k!, v: v!, output, gradient }, plan),
  },
};

/**
 * With r = 1/rms: dX = r·G·w − x·(r³/n)·Σ G·x·w and dW = Σ_rows r·G·x. The sums are products with a column and a row, so
 * that only five arrays of x's size are written.
 */
function rmsNormGradients(
  g: Graph,
  gradient: Value,
  { x, weight, epsilon }: { x: Value; weight: Value; epsilon: number },
): Value[] {
  const width = Number(weight.dims[0]);
  const [rows, flatGradient] = [x, gradient].map(value => ops.reshape(g, value, ['normed', width])) as [
    Value,
    Value,
  ];
  const mean = ops.scale(g, ops.reduceSumSquare(g, rows, [1]), 1 / width);
  const r = ops.reciprocal(g, ops.sqrt(g, ops.add(g, mean, g.constant([epsilon], []))));
  const products = ops.multiply(g, flatGradient, rows);
  const sums = ops.matmul(g, products, ops.reshape(g, weight, [width, 1]));
  const pull = ops.scale(g, ops.multiply(g, ops.multiply(g, sums, r), ops.multiply(g, r, r)), 1 / width);
  const dX = ops.subtract(
    g,
    ops.multiply(g, ops.multiply(g, flatGradient, weight), r),
    ops.multiply(g, rows, pull),
  );
  const dWeight = ops.gemm(g, r, products, { transA: true });
  return [ops.reshape(g, dX, x.dims), ops.reshape(g, dWeight, [width])];
}

/** One applied operation: enough to emit its gradient. */
interface Step {
  inputs: readonly Value[];
  output: Value;
  backward(gradient: Value): (Contribution | undefined)[];
}

/** A graph and the operations applied to it, in order. */
export interface Tape {
  graph: Graph;
  steps: Step[];
}

export const makeTape = (graph: Graph): Tape => ({ graph, steps: [] });

/** Appends a differentiable operation and records it. */
export function apply<K extends Operation>(
  tape: Tape,
  operation: K,
  inputs: readonly Value[],
  settings: Settings[K],
): Value {
  const rule: Rule<Settings[K]> = rules[operation];
  const output = rule.forward(tape.graph, inputs, settings);
  const backward = (gradient: Value): (Contribution | undefined)[] =>
    rule.backward(tape.graph, gradient, { inputs, output, settings });
  tape.steps.push({ inputs, output, backward });
  return output;
}

/**
 * Appends the gradients of Σ result·seed with respect to `wanted`, in their order, each added to its value in `sums` where
 * that has one. Operations that lead to no wanted value get no gradient. Throws where a wanted value does not reach the result.
 */
export function differentiate(
  tape: Tape,
  result: Value,
  seed: Value,
  { wanted, sums = new Map() }: { wanted: readonly Value[]; sums?: ReadonlyMap<Value, Value> },
): Value[] {
  const { graph, steps } = tape;
  const needed = new Set(wanted);
  for (const { inputs, output } of steps) if (inputs.some(value => needed.has(value))) needed.add(output);
  const gradients = new Map<Value, Value>([[result, seed]]);
  for (const { inputs, output, backward } of steps.toReversed()) {
    const gradient = gradients.get(output);
    if (!gradient || !needed.has(output)) continue;
    backward(gradient).forEach((each, i) => {
      const input = inputs[i];
      if (!input || !each || !needed.has(input)) return;
      const sum = gradients.get(input) ?? sums.get(input);
      gradients.set(input, join(graph, sum, each));
    });
  }
  return wanted.map(value => {
    const gradient = gradients.get(value);
    if (!gradient) throw new Error(`The result does not depend on ${value.name}.`);
    return gradient;
  });
}

function join(g: Graph, sum: Value | undefined, contribution: Contribution): Value {
  if (typeof contribution === 'function') return contribution(sum);
  return sum ? ops.add(g, sum, contribution) : contribution;
}

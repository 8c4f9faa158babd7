/** Reverse-mode differentiation: one rule per operation, emitting ONNX nodes. Knows nothing of models or of running. */
import * as ops from './ops.ts';
import type { Graph, Value } from './graph.ts';
import type { Dim } from './onnx.ts';

/** What each differentiable operation needs beside its operands. The compiler checks that every one has a rule. */
interface Settings {
  /** a + b, broadcasting. */
  add: object;
  /** a · b elementwise, broadcasting. */
  multiply: object;
  scale: { factor: number };
  reshape: { dims: readonly Dim[] };
  transpose: { order: readonly number[] };
  /** Batched product over the last two axes, leading axes broadcast. */
  matmul: object;
  /** x [n, in], weight [out, in], perhaps bias [out] → [n, out]. */
  linear: object;
  /** Over the last axis. */
  softmax: object;
  /** gate · sigmoid(gate) · up: operands gate, up. */
  swiGlu: object;
  /** Over the last axis: operands x, weight. */
  rmsNorm: { epsilon: number };
  /** Rotary embedding by given angles; x [1, n, heads · headDim]. */
  rotate: { cos: Value; sin: Value; heads: number };
  /** Rows [n, width] → [blocks, length, width]; each row that counts is the row of exactly one slot. */
  group: Slots;
  /** The way back: [blocks, length, width] → [n, width]. */
  ungroup: Slots;
  /** Rows [n, width] → [blocks, length, width], any row any number of times. Indices are int64. */
  gatherRows: { rows: Value };
}

/** Pairing of rows and slots. Slots that pad repeat some row, and no gradient may come from them. */
export interface Slots {
  /** [blocks, length] int32 row of each slot. */
  rows: Value;
  /** [n] int32 slot of each row. */
  slots: Value;
  /** [blocks, length, 1] 1 for slots that count, 0 for those that pad. */
  counts: Value;
}

export type Operation = keyof Settings;

interface Rule<S> {
  forward(g: Graph, inputs: readonly Value[], settings: S): Value;
  /** Gradient with respect to each operand, given the gradient with respect to the result. */
  backward(
    g: Graph,
    gradient: Value,
    step: { inputs: readonly Value[]; output: Value; settings: S },
  ): (Value | undefined)[];
}

const flatRows = (g: Graph, value: Value): Value => ops.reshape(g, value, ['slots', value.dims.at(-1)!]);

/** 1 / sqrt(mean(x²) + ε) over the last axis. */
function inverseRms(g: Graph, x: Value, epsilon: number): Value {
  const mean = ops.reduceMean(g, ops.multiply(g, x, x), [x.dims.length - 1]);
  return ops.reciprocal(g, ops.sqrt(g, ops.add(g, mean, g.constant([epsilon], []))));
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
  scale: {
    forward: (g, [a], { factor }) => ops.scale(g, a!, factor),
    backward: (g, gradient, { settings: { factor } }) => [ops.scale(g, gradient, factor)],
  },
  reshape: {
    forward: (g, [a], { dims }) => ops.reshape(g, a!, dims),
    backward: (g, gradient, { inputs: [a] }) => [ops.reshape(g, gradient, a!.dims)],
  },
  transpose: {
    forward: (g, [a], { order }) => ops.transpose(g, a!, order),
    backward: (g, gradient, { settings: { order } }) => [
      ops.transpose(
        g,
        gradient,
        order.map((_, axis) => order.indexOf(axis)),
      ),
    ],
  },
  matmul: {
    forward: (g, [a, b]) => ops.matmul(g, a!, b!),
    // dA = G·Bᵀ, dB = Aᵀ·G.
    backward: (g, gradient, { inputs: [a, b] }) => [
      ops.sumTo(g, ops.matmul(g, gradient, ops.swapLast(g, b!)), a!.dims),
      ops.sumTo(g, ops.matmul(g, ops.swapLast(g, a!), gradient), b!.dims),
    ],
  },
  linear: {
    forward: (g, [x, weight, bias]) => ops.gemm(g, x!, weight!, { transB: true, ...(bias && { bias }) }),
    backward: (g, gradient, { inputs: [x, weight, bias] }) => [
      ops.gemm(g, gradient, weight!),
      ops.gemm(g, gradient, x!, { transA: true }),
      bias && ops.sumTo(g, gradient, bias.dims),
    ],
  },
  softmax: {
    forward: (g, [a]) => ops.softmax(g, a!),
    // dA = P·(G − Σ G·P).
    backward: (g, gradient, { output: p }) => {
      const sum = ops.reduceSum(g, ops.multiply(g, gradient, p), [p.dims.length - 1]);
      return [ops.multiply(g, p, ops.subtract(g, gradient, sum))];
    },
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
    // With r = 1/rms and x̂ = x·r: dX = r·(G·w − x̂·mean(G·w·x̂)), dW = Σ G·x̂.
    backward: (g, gradient, { inputs: [x, weight], settings: { epsilon } }) => {
      const r = inverseRms(g, x!, epsilon);
      const normed = ops.multiply(g, x!, r);
      const weighted = ops.multiply(g, gradient, weight!);
      const mean = ops.reduceMean(g, ops.multiply(g, weighted, normed), [x!.dims.length - 1]);
      const dX = ops.multiply(g, r, ops.subtract(g, weighted, ops.multiply(g, normed, mean)));
      return [dX, ops.sumTo(g, ops.multiply(g, gradient, normed), weight!.dims)];
    },
  },
  rotate: {
    forward: (g, [x], { cos, sin, heads }) => ops.rotate(g, x!, cos, sin, heads),
    // A rotation's transpose turns the other way.
    backward: (g, gradient, { settings: { cos, sin, heads } }) => [
      ops.rotate(g, gradient, cos, ops.negate(g, sin), heads),
    ],
  },
  group: {
    forward: (g, [x], { rows }) => ops.gather(g, x!, rows),
    backward: (g, gradient, { settings: { slots } }) => [ops.gather(g, flatRows(g, gradient), slots)],
  },
  ungroup: {
    forward: (g, [x], { slots }) => ops.gather(g, flatRows(g, x!), slots),
    backward: (g, gradient, { settings: { rows, counts } }) => [
      ops.multiply(g, ops.gather(g, gradient, rows), counts),
    ],
  },
  gatherRows: {
    forward: (g, [x], { rows }) => ops.gather(g, x!, rows),
    backward: (g, gradient, { inputs: [x], settings: { rows } }) => [
      ops.scatterAddRows(g, x!, rows, gradient),
    ],
  },
};

/** One applied operation: enough to emit its gradient. */
interface Step {
  inputs: readonly Value[];
  output: Value;
  backward(gradient: Value): (Value | undefined)[];
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
  const backward = (gradient: Value): (Value | undefined)[] =>
    rule.backward(tape.graph, gradient, { inputs, output, settings });
  tape.steps.push({ inputs, output, backward });
  return output;
}

/**
 * Appends the gradients of Σ result·seed with respect to `wanted`, in their order. Operations that lead to no wanted
 * value get no gradient. Throws where a wanted value does not reach the result.
 */
export function differentiate(tape: Tape, result: Value, seed: Value, wanted: readonly Value[]): Value[] {
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
      const known = gradients.get(input);
      gradients.set(input, known ? ops.add(graph, known, each) : each);
    });
  }
  return wanted.map(value => {
    const gradient = gradients.get(value);
    if (!gradient) throw new Error(`The result does not depend on ${value.name}.`);
    return gradient;
  });
}

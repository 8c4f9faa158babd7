/**
 * Attention of query rows to key rows by lists, and its gradients, as ONNX nodes: every block of queries is multiplied with
 * its own keys only. Knows nothing of trees, layers or of who made the lists.
 */
import type { Graph, Value } from './graph.ts';
import * as ops from './ops.ts';
import { sumRows } from './rowSums.ts';
import type { RowSumInputs } from './rowSums.ts';

/**
 * Blocks that are multiplied together: B blocks of Q query rows, each compared with K key rows. A query row has `group`
 * heads per key-value head, which stand one after the other: queries [B, kv, group · Q].
 */
export interface BlockGroup {
  /** [B, kv, group · Q] int32 index of row · heads + head. What pads repeats some index. */
  queries: Value;
  /** [B, 1, group · Q, 1] 1 for queries that count, 0 for those that pad. */
  counts: Value;
  /** [B, kv, K] int32 index of row · kv + head. What pads repeats some index and is hidden by the mask. */
  keys: Value;
  /** [B, 1, group · Q, K] 0 where a query sees a key, very negative elsewhere. */
  mask: Value;
}

export interface AttentionPlan {
  groups: readonly BlockGroup[];
  /** [rows · heads] int32 place of each row's head among all groups' queries. */
  slots: Value;
  /** From all groups' keys to [rows · kv]. */
  keySums: RowSumInputs;
  headDim: number;
}

interface Operands {
  /** [rows, heads · headDim] */
  q: Value;
  /** [rows, kv · headDim] */
  k: Value;
  v: Value;
}

/** [rows, heads · headDim] → [rows · heads, headDim]. */
const perHead = (g: Graph, x: Value, headDim: number): Value => ops.reshape(g, x, ['headRows', headDim]);

/** What forward and backward pass both compute of a group: its rows, and the softmax of its scores. */
function lookedUp(
  g: Graph,
  { q, k, v }: Operands,
  { queries, keys, mask }: BlockGroup,
  headDim: number,
): { q: Value; k: Value; v: Value; shares: Value } {
  const rows = (x: Value, indices: Value): Value => ops.gather(g, perHead(g, x, headDim), indices);
  const found = { q: rows(q, queries), k: rows(k, keys), v: rows(v, keys) };
  const scores = ops.batched(g, found.q, found.k, { transB: true, factor: 1 / Math.sqrt(headDim) });
  return { ...found, shares: ops.softmax(g, ops.add(g, scores, mask)) };
}

/** Puts the groups' queries [B, kv, group · Q, headDim] back into rows of the given width. */
function joined(g: Graph, parts: readonly Value[], { slots, headDim }: AttentionPlan, like: Value): Value {
  const flat = parts.map(part => perHead(g, part, headDim));
  const all = flat.length === 1 ? flat[0]! : ops.concat(g, flat);
  return ops.reshape(g, ops.gather(g, all, slots), like.dims);
}

/** softmax(q·kᵀ/√headDim + mask)·v. */
export function attention(g: Graph, operands: Operands, plan: AttentionPlan): Value {
  const parts = plan.groups.map(group => {
    const { shares, v } = lookedUp(g, operands, group, plan.headDim);
    return ops.batched(g, shares, v);
  });
  return joined(g, parts, plan, operands.q);
}

/**
 * With P the shares, O = P·V and G the gradient of O: dV = Pᵀ·G, dS = P·(G·Vᵀ − Σ_headDim G·O), dQ = dS·K/√d,
 * dK = dSᵀ·Q/√d (Σ_keys P·(G·Vᵀ) is Σ_headDim G·O, which is narrower). Returns those of q, k and v.
 */
export function attentionGradients(
  g: Graph,
  { output, gradient, ...operands }: Operands & { output: Value; gradient: Value },
  plan: AttentionPlan,
): Value[] {
  const { headDim } = plan;
  const factor = 1 / Math.sqrt(headDim);
  const products = ops.reduceSum(g, perHead(g, ops.multiply(g, gradient, output), headDim), [1]);
  const flatGradient = perHead(g, gradient, headDim);
  const parts = plan.groups.map(group => {
    const { q, k, v, shares } = lookedUp(g, operands, group, headDim);
    const counted = (x: Value): Value => ops.multiply(g, ops.gather(g, x, group.queries), group.counts);
    const dOutput = counted(flatGradient);
    const dShares = ops.batched(g, dOutput, v, { transB: true });
    const dScores = ops.multiply(g, shares, ops.subtract(g, dShares, counted(products)));
    return {
      q: ops.batched(g, dScores, k, { factor }),
      k: ops.batched(g, dScores, q, { transA: true, factor }),
      v: ops.batched(g, shares, dOutput, { transA: true }),
    };
  });
  const summed = (name: 'k' | 'v'): Value => {
    const flat = parts.map(part => perHead(g, part[name], headDim));
    return ops.reshape(g, sumRows(g, flat, plan.keySums), operands[name].dims);
  };
  const dQ = parts.map(part => part.q);
  return [joined(g, dQ, plan, operands.q), summed('k'), summed('v')];
}

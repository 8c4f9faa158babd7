/**
 * Sums of rows that share a target, as plan and as ONNX nodes: sources are looked up and added in a fixed order, because
 * ONNX Runtime's threads lose addends where they scatter two rows to one place. Knows nothing of what the rows are.
 */
import type { Graph, Value } from './graph.ts';
import * as ops from './ops.ts';
import { int32 } from './sessions.ts';
import type { Tensor } from './sessions.ts';

/**
 * Targets are put into classes by their numbers of sources and filled up to the class's largest with a row of zeros. The
 * first class has at most one source each, of which no sum need be taken. Each class costs some nodes; more hardly lower
 * the number of zeros. A class without targets has one that nothing asks for.
 */
const CLASSES = 4;

/** Indices of row sums; those of the plan are int32 tensors of the same shapes. */
interface RowSums<T> {
  /**
   * [class] of [targets of the class, most sources] indices of sources, without the second axis for the first class; the
   * number of all sources stands for zeros.
   */
  sources: readonly T[];
  /** [target] place among the targets of all classes. */
  order: T;
}

/** Most sources of each class, ascending: the cuts, one after the other, that save the most zeros. */
function limitsOf(counts: Int32Array): number[] {
  const targetsBy = new Map<number, number>();
  for (const count of counts) targetsBy.set(count, (targetsBy.get(count) ?? 0) + 1);
  const lookups = (limits: readonly number[]): number =>
    [...targetsBy].reduce((sum, [count, targets]) => sum + targets * limits.find(each => each >= count)!, 0);
  const largest = Math.max(...targetsBy.keys());
  let limits = largest > 1 ? [1, largest] : [1];
  while (limits.length < CLASSES) {
    const tries = [...targetsBy.keys()]
      .filter(count => count > 1 && !limits.includes(count))
      .map(count => [...limits, count].sort((a, b) => a - b));
    if (tries.length === 0) return limits;
    const costs = tries.map(lookups);
    limits = tries[costs.indexOf(Math.min(...costs))]!;
  }
  return limits;
}

/** Given the target of each source, or −1 for sources that are left out, and the number of targets, which is not 0. */
export function planRowSums(targetOf: Int32Array, targets: number): RowSums<Tensor> {
  const counts = new Int32Array(targets);
  for (const target of targetOf) if (target >= 0) counts[target]!++;
  const limits = limitsOf(counts);
  const classOf = counts.map(count => limits.findIndex(limit => limit >= count));
  const members = Array.from({ length: CLASSES }, () => 0);
  const places = classOf.map(each => members[each]!++);
  const sources = members.map((size, i) => {
    const [rows, most] = size > 0 ? [size, limits[i]!] : [1, 1];
    return int32(new Int32Array(rows * most).fill(targetOf.length), i === 0 ? [rows] : [rows, most]);
  });
  const filled = new Int32Array(targets);
  targetOf.forEach((target, source) => {
    if (target < 0) return;
    const { data, dims } = sources[classOf[target]!]!;
    data[places[target]! * (dims[1] ?? 1) + filled[target]!++] = source;
  });
  const starts = sources.map((_, i) => sources.slice(0, i).reduce((sum, { dims }) => sum + dims[0]!, 0));
  return { sources, order: int32(places.map((place, target) => starts[classOf[target]!]! + place)) };
}

/** The plan's tensors by the names of the inputs that `rowSumInputs` makes. */
export const rowSumFeeds = ({ sources, order }: RowSums<Tensor>): Record<string, Tensor> => ({
  ...Object.fromEntries(sources.map((tensor, i) => [`sources${i}`, tensor])),
  order,
});

export type RowSumInputs = RowSums<Value>;

export const rowSumInputs = (g: Graph): RowSumInputs => ({
  sources: Array.from({ length: CLASSES }, (_, i) =>
    g.input(`sources${i}`, i === 0 ? ['targets0'] : [`targets${i}`, `most${i}`], 'int32'),
  ),
  order: g.input('order', ['targets'], 'int32'),
});

/** Parts [sources of the part, width], one after the other, → [targets, width]. */
export function sumRows(g: Graph, parts: readonly Value[], { sources, order }: RowSumInputs): Value {
  const width = Number(parts[0]!.dims[1]);
  const nothing = g.constant(
    Array.from({ length: width }, () => 0),
    [1, width],
  );
  const all = ops.concat(g, [...parts, nothing]);
  const [single, ...several] = sources.map(indices => ops.gather(g, all, indices)) as [Value, ...Value[]];
  const sums = several.map(rows => ops.reshape(g, ops.reduceSum(g, rows, [1]), ['sums', width]));
  return ops.gather(g, ops.concat(g, [single, ...sums]), order);
}

/** What a segment is, in words and numbers. Knows nothing of the page. */
import { plain, type Line } from '../../src/core/explain.ts';
import type { Segment, Tree } from '../../src/core/types.ts';
import { number, signed } from '../shared/format.ts';

export const segmentName = (segment: Segment): string =>
  segment.kind === 'tool'
    ? `${segment.call?.tool ?? 'tool'} result`
    : segment.kind === 'model'
      ? `turn ${segment.turn + 1}`
      : segment.kind === 'forced'
        ? 'forced end'
        : 'prompt';

export function segmentLines(tree: Tree, index: number, paths: readonly number[]): Line[] {
  const segment = tree.segments[index]!;
  const lines: Line[] = [
    {
      term: 'tokens',
      value: segment.kind === 'model' ? `${segment.count}, trained` : `${segment.count}, not trained`,
    },
    {
      term: 'on',
      value: paths.length === 1 ? '1 trajectory' : `${paths.length} trajectories`,
      meaning: 'How many trajectories share it: it is stored and computed once.',
    },
  ];
  if (segment.entropy !== undefined)
    lines.push({
      term: 'entropy',
      value: plain(segment.entropy),
      meaning: 'Score of its first tokens, in nats.',
    });
  if (segment.stop) lines.push({ term: 'ended by', value: segment.stop });
  if (segment.call) {
    lines.push({
      term: 'call',
      value: `${segment.call.tool}: ${segment.call.outcome}${segment.call.shared ? ', shared' : ''}`,
    });
    lines.push({ term: 'latency', value: `${number(segment.call.latencyMs)} ms` });
  }
  const hard = tree.credit?.hard[index];
  if (hard !== undefined && hard !== null)
    lines.push({
      term: 'A hard',
      value: signed(hard),
      meaning: 'Mean advantage of the trajectories through this segment.',
    });
  const added = tree.credit?.steps?.[index] ?? [];
  if (added.length > 0)
    lines.push({
      term: 'A step',
      value: added.map(signed).join(', '),
      meaning: 'What the comparison with turns that began in the same state adds, for each trajectory.',
    });
  const soft = paths.flatMap(path => tree.credit?.soft[path] ?? []);
  if (soft.length > 0)
    lines.push({
      term: 'A soft',
      value: soft.map(signed).join(', '),
      meaning: 'Advantage of each trajectory through this segment.',
    });
  return lines;
}

/** What the badge of a segment says: the advantage that the chosen credit gives it; absent where it has none. */
export function advantageOf(
  tree: Tree,
  index: number,
  paths: readonly number[],
  credit: 'soft' | 'hard',
): string | undefined {
  if (tree.segments[index]!.kind !== 'model' || !tree.credit) return undefined;
  if (credit === 'hard') {
    const hard = tree.credit.hard[index];
    return hard === undefined || hard === null ? undefined : signed(hard);
  }
  const steps = tree.credit.steps?.[index];
  const values = paths.map((path, i) => tree.credit!.soft[path]! + (steps?.[i] ?? 0));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length === 0
    ? undefined
    : least === most
      ? signed(most)
      : `${signed(least)} … ${signed(most)}`;
}

/** Where a reader goes from one place of a trajectory: uncertain steps, siblings, the branch it came from. Knows nothing of VS Code. */
import { childrenOf, pathsThrough, segmentsOf } from '../core/tree.ts';
import type { Tree } from '../core/types.ts';
import type { Trajectory } from './overlay.ts';
import { uncertainTokens } from './overlay.ts';
import type { TrajectoryText } from './trajectoryText.ts';
import { lineOf } from './trajectoryText.ts';

/** A segment on a path of the same tree. */
export interface Place {
  path: number;
  segment: number;
}

/** Offsets, ascending, at which a run of the tokens that the ruler marks begins. */
export function uncertainSteps(trajectory: Trajectory): number[] {
  const { starts } = trajectory.layout;
  const marked = uncertainTokens(trajectory).toSorted((a, b) => a - b);
  return marked.filter((token, i) => i === 0 || token - marked[i - 1]! > 1).map(token => starts[token]!);
}

/** The next of the ascending offsets after `from`, or the last before it; past the end it begins again. */
export function nextOf(offsets: readonly number[], from: number, direction: 1 | -1): number | undefined {
  return direction === 1
    ? (offsets.find(offset => offset > from) ?? offsets[0])
    : (offsets.findLast(offset => offset < from) ?? offsets.at(-1));
}

/** The segment whose heading or text stands at an offset; the first before any. */
export function segmentAt({ segments, lineStarts }: TrajectoryText, offset: number): number {
  const line = lineOf(lineStarts, offset);
  return (segments.findLast(({ heading }) => heading <= line) ?? segments[0])!.segment;
}

/**
 * Another continuation of the prefix that the segment continues, in the order of the tree, round and round. Where the segment
 * has none, the nearest on its path above counts, then the first below; undefined where the path shares nothing.
 */
export function siblingOf(tree: Tree, { path, segment }: Place, direction: 1 | -1): Place | undefined {
  const children = childrenOf(tree);
  const alternatives = (one: number): readonly number[] => children[tree.segments[one]!.parent] ?? [];
  const onPath = segmentsOf(tree, path);
  const here = onPath.indexOf(segment);
  const candidates = [...onPath.slice(0, here + 1).reverse(), ...onPath.slice(here + 1)];
  const parted = candidates.find(one => alternatives(one).length > 1);
  if (parted === undefined) return undefined;
  const all = alternatives(parted);
  const next = all[(all.indexOf(parted) + direction + all.length) % all.length]!;
  return { path: pathsThrough(tree)[next]![0]!, segment: next };
}

/** The path that this one left, and the segment after which it did; undefined for one that began at the prompt. */
export const parentBranch = (tree: Tree, path: number): Place | undefined => tree.paths[path]!.from;

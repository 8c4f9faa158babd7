/** Walks over trees: paths, children, who passes where, what is trained. Knows nothing of how trees come about. */
import type { SegmentKind, TokenColumns, Tree } from './types.ts';

/** A tree with the numbers of its tokens. */
export interface Grown {
  tree: Tree;
  columns: TokenColumns;
}

/** Segments from the prompt to this one, which is the last. */
export function lineage(tree: Tree, segment: number): number[] {
  const walked: number[] = [];
  for (let at = segment; at >= 0; at = segmentAt(tree, at).parent) walked.push(at);
  return walked.reverse();
}

/** Segments of a path from the prompt to its leaf. */
export const segmentsOf = (tree: Tree, path: number): number[] => lineage(tree, pathAt(tree, path).leaf);

/** [token in reading order] place of a path's token in the tree's columns. */
export const tokensOfPath = (tree: Tree, path: number): number[] =>
  segmentsOf(tree, path).flatMap(index => {
    const { start, count } = segmentAt(tree, index);
    return Array.from({ length: count }, (_, i) => start + i);
  });

/** [segment] paths through the segment, ascending. */
export function pathsThrough(tree: Tree): number[][] {
  const through: number[][] = tree.segments.map(() => []);
  tree.paths.forEach((_, path) => segmentsOf(tree, path).forEach(segment => through[segment]!.push(path)));
  return through;
}

/** The other path that has the most segments with this one in common, of several the first; undefined where it is the only one. */
export function nearestSibling(tree: Tree, path: number): number | undefined {
  const own = new Set(segmentsOf(tree, path));
  const inCommon = tree.paths.map((_, other) =>
    other === path ? -1 : segmentsOf(tree, other).filter(segment => own.has(segment)).length,
  );
  const most = Math.max(...inCommon);
  return most < 0 ? undefined : inCommon.indexOf(most);
}

/** [segment] segments that directly follow it, ascending. */
export function childrenOf(tree: Tree): number[][] {
  const children: number[][] = tree.segments.map(() => []);
  tree.segments.forEach((segment, index) => {
    if (segment.parent >= index)
      throw new Error(
        `Segment ${index} of tree ${tree.id} has the parent ${segment.parent}, which is not before it.`,
      );
    if (segment.parent >= 0) children[segment.parent]!.push(index);
  });
  return children;
}

/** Segments so that every subtree is one run: each segment, then what hangs below it, children by index. */
export function depthFirst(tree: Tree): number[] {
  const children = childrenOf(tree);
  const order: number[] = [];
  const open = tree.segments.flatMap((segment, index) => (segment.parent < 0 ? [index] : [])).reverse();
  for (let segment = open.pop(); segment !== undefined; segment = open.pop()) {
    order.push(segment);
    open.push(...children[segment]!.reverse());
  }
  return order;
}

/** Whether the loss reaches a segment of this kind; `trainForced` is so under rule `upstream` or by limitAction. */
export const isTrained = (kind: SegmentKind, trainForced: boolean): boolean =>
  kind === 'model' || (kind === 'forced' && trainForced);

/** Tokens after the prompt on each path, the response that budgets and lengths speak of. */
export const responseTokens = (tree: Tree, path: number): number =>
  segmentsOf(tree, path).reduce((sum, index) => {
    const { kind, count } = segmentAt(tree, index);
    return kind === 'prompt' ? sum : sum + count;
  }, 0);

/** Tokens of a path that the loss reaches. */
export const trainedTokens = (tree: Tree, path: number, trainForced: boolean): number =>
  segmentsOf(tree, path)
    .map(index => segmentAt(tree, index))
    .reduce((sum, { kind, count }) => sum + (isTrained(kind, trainForced) ? count : 0), 0);

/** The text of a path after its prompt, tags and results included; for people and for rules that read raw text. */
export const responseText = (tree: Tree, path: number): string =>
  segmentsOf(tree, path)
    .map(index => segmentAt(tree, index))
    .filter(segment => segment.kind !== 'prompt')
    .map(segment => segment.text)
    .join('');

function pathAt(tree: Tree, path: number): Tree['paths'][number] {
  const found = tree.paths[path];
  if (!found) throw new Error(`Tree ${tree.id} has ${tree.paths.length} paths, none with index ${path}.`);
  return found;
}

function segmentAt(tree: Tree, segment: number): Tree['segments'][number] {
  const found = tree.segments[segment];
  if (!found)
    throw new Error(`Tree ${tree.id} has ${tree.segments.length} segments, none with index ${segment}.`);
  return found;
}

/**
 * What was drawn beside the training, grafted onto the tree that it left, as ghosts: after the tree's own segments and paths, never
 * among them. Pure; knows nothing of the page.
 */
import { differenceOf, type Counterfactual, type Difference } from '../../src/core/counterfactual.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import { signed } from '../shared/format.ts';

/** A counterfactual's place among the ghosts. */
export interface Ghost {
  counterfactual: Counterfactual;
  difference: Difference;
  /** The first of its segments in the grafted tree, and how many of its own come before those that are drawn. */
  segment: number;
  kept: number;
  /** Its first path in the grafted tree. */
  path: number;
}

export interface Grafted {
  /** All that is drawn; the tree's own numbers stay what they are. */
  tree: Tree;
  /** From these on everything is a ghost; absent where nothing is. */
  untrained?: { segment: number; path: number };
  ghosts: Ghost[];
  /** [segment] what stands above a ghost's first bar. */
  notes: Map<number, string>;
}

/** Those that left another tree, or a place that the tree does not have, are left out. */
export function graft(tree: Tree, counterfactuals: readonly Counterfactual[]): Grafted {
  const grafted: Tree = { ...tree, segments: [...tree.segments], paths: [...tree.paths] };
  const ghosts: Ghost[] = [];
  const notes = new Map<number, string>();
  for (const counterfactual of counterfactuals) {
    if (counterfactual.of.tree !== tree.id || !tree.paths[counterfactual.of.path]) continue;
    const ghost = add(grafted, tree, counterfactual);
    if (!ghost) continue;
    ghosts.push(ghost);
    notes.set(ghost.segment, noteOf(ghost));
  }
  if (ghosts.length === 0) return { tree, ghosts, notes };
  return {
    tree: grafted,
    untrained: { segment: tree.segments.length, path: tree.paths.length },
    ghosts,
    notes,
  };
}

function add(grafted: Tree, tree: Tree, counterfactual: Counterfactual): Ghost | undefined {
  const { of, result, prefix, tree: grown } = counterfactual;
  const walked = segmentsOf(tree, of.path);
  // A result that is not the stored one is a ghost too.
  const kept = result === undefined ? prefix : prefix - 1;
  const left = walked[kept - 1];
  if (left === undefined || kept > walked.length) return undefined;
  const ghost = {
    counterfactual,
    difference: differenceOf(counterfactual, tree),
    segment: grafted.segments.length,
    kept,
    path: grafted.paths.length,
  };
  const placeOf = (segment: number): number =>
    segment < kept ? walked[segment]! : ghost.segment + segment - kept;
  for (const segment of grown.segments.slice(kept))
    grafted.segments.push({ ...segment, parent: placeOf(segment.parent) });
  for (const path of grown.paths)
    grafted.paths.push({
      ...path,
      leaf: placeOf(path.leaf),
      origin: 'branch',
      from: { path: of.path, segment: left },
    });
  return ghost;
}

/** Short enough to stand above a bar. */
function noteOf({ counterfactual: { id }, difference: { difference } }: Ghost): string {
  const number = id.slice(id.indexOf('~'));
  return difference === undefined ? number : `${number} Δ ${signed(difference)}`;
}

/** The ghost that a segment belongs to. */
export const ghostAt = ({ ghosts }: Grafted, segment: number): Ghost | undefined =>
  ghosts.findLast(ghost => segment >= ghost.segment);

/** A ghost's path, or a segment of it, by the numbers of the counterfactual's own tree; undefined where it is no ghost's. */
export function ownPlace(
  { untrained, ghosts }: Grafted,
  path: number,
  segment: number,
): { ghost: Ghost; path: number; segment: number } | undefined {
  if (!untrained || path < untrained.path) return undefined;
  const ghost = ghosts.findLast(one => path >= one.path)!;
  const own =
    segment >= ghost.segment
      ? segment - ghost.segment + ghost.kept
      : ghost.counterfactual.tree.paths[path - ghost.path]!.leaf;
  return { ghost, path: path - ghost.path, segment: own };
}

/** How many there are, for the line of facts; '' where there is none. */
export function ghostFacts({ ghosts }: Grafted): string {
  if (ghosts.length === 0) return '';
  const samples = ghosts.reduce((sum, { difference }) => sum + difference.rewards.length, 0);
  return ` · ${ghosts.length === 1 ? '1 counterfactual' : `${ghosts.length} counterfactuals`} with ${samples} samples, not trained on`;
}

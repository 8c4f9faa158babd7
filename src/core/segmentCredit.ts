/** The credit of a tree's segments, seen one way or another. Knows nothing of how it was computed first or of how it is drawn. */
import { siblingCredit } from './branchValue.ts';
import { isCounterfactual } from './counterfactual.ts';
import { pathsThrough } from './tree.ts';
import type { Tree } from './types.ts';

/**
 * `trained`: what the update used. `soft`: each trajectory's own advantage. `hard`: the mean advantage of the trajectories
 * through the segment. `sibling`: rewards against those of the other side of the last fork (see siblingCredit).
 */
export type CreditView = 'trained' | 'soft' | 'hard' | 'sibling';

/**
 * [segment] its credit: a number for each trajectory through it, ascending, or the one number that they share; empty where it
 * has none: it is not trained, or the tree has no credit. `sibling` needs rewards only.
 */
export function segmentCredit(tree: Tree, view: CreditView): number[][] {
  if (view === 'sibling') return siblingCredit(tree).map(value => (value === null ? [] : [value]));
  const { credit } = tree;
  if (!credit) return tree.segments.map(() => []);
  if (view === 'hard' || (view === 'trained' && credit.used === 'hard'))
    return credit.hard.map(value => (value === null ? [] : [value]));
  const isStep = view === 'trained' && credit.used === 'step';
  return pathsThrough(tree).map((paths, segment) =>
    credit.hard[segment] === null || credit.hard[segment] === undefined
      ? []
      : paths.map((path, i) => credit.soft[path]! + (isStep ? (credit.steps?.[segment]?.[i] ?? 0) : 0)),
  );
}

/** True where the loss saw the segment's tokens; credit is given to forced text only where it is trained. */
export const isInLoss = ({ id, segments, credit }: Tree, index: number): boolean =>
  !isCounterfactual(id) &&
  (segments[index]!.kind === 'model' ||
    (segments[index]!.kind === 'forced' && typeof credit?.hard[index] === 'number'));

/** Whose advantage is shown of a segment on a path: what the update used, or one of both kinds. */
export type CreditChoice = 'used' | 'soft' | 'hard';

/** Advantage of a segment on a path; undefined where it has none (not trained, or no credit was given). */
export function advantageOf(
  tree: Tree,
  path: number,
  segment: number,
  choice: CreditChoice,
): number | undefined {
  const { credit } = tree;
  if (credit === undefined || !isInLoss(tree, segment)) return undefined;
  switch (choice === 'used' ? credit.used : choice) {
    case 'soft':
      return credit.soft[path];
    case 'hard':
      return credit.hard[segment] ?? undefined;
    case 'step': {
      const place = pathsThrough(tree)[segment]!.indexOf(path);
      return credit.soft[path]! + (credit.steps?.[segment]?.[place] ?? 0);
    }
  }
}

/** How often a segment's tokens count in the update, and what their advantages add up to. */
export interface PrefixWeight {
  /** Trajectories below it that bring a term each. */
  times: number;
  /** Σ of the trained credit over them: a large one pushes a shared prefix hard, 0 does not move it at all. */
  sum: number;
}

/**
 * [segment] prefix weight: Σ over the trajectories through the segment of the credit that the update used. Undefined where the
 * segment is not trained.
 */
export function prefixWeights(tree: Tree): (PrefixWeight | undefined)[] {
  const through = pathsThrough(tree);
  return segmentCredit(tree, 'trained').map((values, segment) => {
    const times = through[segment]!.length;
    if (values.length === 0) return undefined;
    const sum = values.reduce((a, b) => a + b, 0);
    return { times, sum: values.length === times ? sum : sum * times };
  });
}

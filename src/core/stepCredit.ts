/** Compares turns that began in the same state of the environment, within one tree (GiGPO). Knows nothing of whole trajectories' advantages. */
import { isTrained, pathsThrough, segmentsOf } from './tree.ts';
import type { Tree } from './types.ts';

export interface StepSettings {
  /** ω: what the advantages are multiplied by. */
  weight: number;
  /** γ: a turn's return is the trajectory's reward times γ for every turn after it. */
  discount: number;
  trainForced: boolean;
  /** What a group's distances from its mean are divided by. */
  divisor(returns: readonly number[]): number;
}

/** A turn on one of the trajectories through it. */
interface Visit {
  segment: number;
  /** Place of the trajectory among those through the segment. */
  place: number;
  return: number;
}

/**
 * [segment][trajectory through it] ω times the advantage of the turn among all turns of the tree that saw the same state;
 * empty for segments that are not trained. A state that was seen once compares nothing and gives 0, and so do equal returns.
 */
export function stepAdvantages(tree: Tree, settings: StepSettings): number[][] {
  const through = pathsThrough(tree);
  const advantages = tree.segments.map(({ kind }, segment) =>
    isTrained(kind, settings.trainForced) ? through[segment]!.map(() => 0) : [],
  );
  for (const visits of groupsOf(tree, through, settings)) {
    const returns = visits.map(visit => visit.return);
    if (returns.every(value => value === returns[0])) continue;
    const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
    const factor = settings.weight / settings.divisor(returns);
    for (const { segment, place, return: value } of visits)
      advantages[segment]![place] = factor * (value - mean);
  }
  // What was appended in the model's name belongs to the turn before it, which has the same one trajectory.
  tree.segments.forEach(({ kind, parent }, segment) => {
    if (kind === 'forced' && settings.trainForced) advantages[segment] = [...advantages[parent]!];
  });
  return advantages;
}

/** Turns by the state that they began in: the prompt, or what the environment said last (tool and text), whenever it did. */
function groupsOf(tree: Tree, through: readonly number[][], { discount }: StepSettings): Iterable<Visit[]> {
  const groups = new Map<string, Visit[]>();
  tree.paths.forEach(({ reward }, path) => {
    if (!reward) throw new Error(`Path ${path} of tree ${tree.id} has no reward yet.`);
    const turns = segmentsOf(tree, path).filter(segment => tree.segments[segment]!.kind === 'model');
    turns.forEach((segment, turn) => {
      const state = stateBefore(tree, segment);
      const visit = {
        segment,
        place: through[segment]!.indexOf(path),
        return: reward.total * discount ** (turns.length - 1 - turn),
      };
      groups.set(state, [...(groups.get(state) ?? []), visit]);
    });
  });
  return groups.values();
}

function stateBefore(tree: Tree, segment: number): string {
  const before = tree.segments[tree.segments[segment]!.parent];
  return before?.kind === 'tool' ? `tool ${before.call?.tool ?? ''}\n${before.text}` : 'prompt';
}

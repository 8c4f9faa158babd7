/** The way from a tree to its neighbours: others of its step, and the same task in other steps. Knows nothing of what a tree is like. */

/** What of a tree is needed to tell its neighbours. */
export interface Listed {
  id: string;
  step: number;
  /** The task's question: what two trees of the same task share. */
  question: string;
  /** Mean over the paths that were judged; absent where none was. */
  reward?: number;
}

export type Way = 'previousTree' | 'nextTree' | 'previousStep' | 'nextStep';

/** A way that leads nowhere is absent. `place` counts the step's trees from 1; 0 where the tree is not among them. */
export interface Neighbours {
  ways: Partial<Record<Way, Listed>>;
  place: number;
  count: number;
}

/** `trees` in the order of their steps. Of the same task's trees in one step, the first is meant. */
export function neighbours(trees: readonly Listed[], id: string): Neighbours {
  const here = trees.find(tree => tree.id === id);
  if (!here) return { ways: {}, place: 0, count: 0 };
  const own = trees.filter(({ step }) => step === here.step);
  const at = own.indexOf(here);
  const same = trees.filter(({ question }) => question === here.question);
  const earlier = same.findLast(({ step }) => step < here.step);
  const found: Record<Way, Listed | undefined> = {
    previousTree: own[at - 1],
    nextTree: own[at + 1],
    previousStep: earlier && same.find(({ step }) => step === earlier.step),
    nextStep: same.find(({ step }) => step > here.step),
  };
  const ways: Neighbours['ways'] = {};
  for (const way of Object.keys(found) as Way[]) if (found[way]) ways[way] = listed(found[way]);
  return { ways, place: at + 1, count: own.length };
}

const listed = ({ id, step, question, reward }: Listed): Listed => ({
  id,
  step,
  question,
  ...(reward !== undefined && { reward }),
});

/** Trees that were drawn again, for as long as the window lives, and what came of it as texts. Knows nothing of how trees are drawn or compared. */
import { replayedId } from '../core/replay.ts';
import { FailureError, type TokenColumns, type Tree } from '../core/types.ts';
import { textsOf } from './linkedTexts.ts';
import { COMMANDS, REPLAYED } from './names.ts';

export interface DrawnAgain {
  tree: Tree;
  columns: TokenColumns;
}

/** Drawn trees that are kept: they are whole, and nobody looks at old ones for long. */
const KEPT = 32;

export class Replays {
  readonly texts = textsOf(REPLAYED, 'replayRollout');
  readonly #trees = new Map<string, DrawnAgain>();
  #count = 0;

  /** Keeps a tree under an id that no other has. */
  keep(runFolder: string, { tree, columns }: DrawnAgain): string {
    const id = replayedId(tree.id, ++this.#count);
    this.#trees.set(keyOf(runFolder, id), { tree: { ...tree, id }, columns });
    for (const key of [...this.#trees.keys()].slice(0, -KEPT)) this.#trees.delete(key);
    return id;
  }

  find(runFolder: string, id: string): DrawnAgain {
    const found = this.#trees.get(keyOf(runFolder, id));
    if (found) return found;
    throw new FailureError({
      where: 'store',
      message: `Tree ${id} is not kept any more: of trees that were drawn again the last ${KEPT} are, until their window closes.`,
      fix: `Choose “${COMMANDS.replayRollout.title}” again.`,
    });
  }
}

const keyOf = (runFolder: string, id: string): string => `${runFolder}\n${id}`;

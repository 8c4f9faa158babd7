/** Trees of runs, written or still growing, and what is known of them. Knows nothing of documents or views. */
import { neighbours, type Neighbours } from '../core/neighbours.ts';
import { isReplayed } from '../core/replay.ts';
import type { Tree } from '../core/types.ts';
import { openRun } from '../run/reader.ts';
import { growingTree, withGrowing } from './growingTree.ts';
import type { Changes } from './changes.ts';
import type { Replays } from './replays.ts';
import type { Runs } from './runs.ts';
import type { TreeSource } from './trajectories.ts';

/** The tree as it is written, else as far as the facts tell it. Throws a FailureError where there is none of that name. */
export async function treeOf(
  runs: Runs,
  runFolder: string,
  id: string,
): Promise<{ tree: Tree; isGrowing: boolean }> {
  const growing = growingTree(await runs.state(runFolder), id);
  const run = openRun(runFolder);
  const isWritten = growing === undefined || (await run.trees()).some(entry => entry.id === id);
  return isWritten ? { tree: await run.tree(id), isGrowing: false } : { tree: growing, isGrowing: true };
}

/** The trees around one, those that still grow included. */
export const neighboursOf = async (runs: Runs, runFolder: string, id: string): Promise<Neighbours> =>
  neighbours(withGrowing(await openRun(runFolder).trees(), await runs.state(runFolder)), id);

/** `replays` has the trees that were drawn again, which no run has. */
export function treeSource(runs: Runs, replays: Replays, changes: Changes): TreeSource {
  return {
    onDidChange: runs.onDidChange,
    change: address => changes.find(address),
    async tree(runFolder, id) {
      if (isReplayed(id)) return replays.find(runFolder, id);
      const { tree, isGrowing } = await treeOf(runs, runFolder, id);
      return isGrowing ? { tree } : { tree, columns: await openRun(runFolder).columns(id) };
    },
    pieces: runFolder => openRun(runFolder).pieces(),
    clip: runFolder => {
      const run = openRun(runFolder);
      return run.source === undefined ? run.manifest.config.algorithm : undefined;
    },
  };
}

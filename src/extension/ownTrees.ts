/** Refuses what a policy cannot go on from or score, before anything is asked. Knows nothing of what is wanted with it. */
import { isReplayed } from '../core/replay.ts';
import { FailureError } from '../core/types.ts';
import { openRun } from '../run/reader.ts';

/** Throws a FailureError for rollouts of another program, which have no policy, and for a tree that was drawn again, which no run has. */
export function mustBeOwn(runFolder: string, tree: string): void {
  if (isReplayed(tree))
    throw new FailureError({
      where: 'config',
      message: `Tree ${tree} was drawn again to be compared, and is not stored.`,
      fix: 'Choose the tree that it was compared with.',
    });
  const run = openRun(runFolder);
  if (run.source !== undefined)
    throw new FailureError({
      where: 'config',
      message: `${runFolder} was imported from ${run.source}: there is no policy that could draw or score.`,
      fix: 'Choose a run of Branchpoint’s own.',
    });
}

/** What checkpoints made of trajectories, for as long as the window lives. Knows nothing of how tokens are scored or shown. */
import type { PathChange } from '../core/likelihood.ts';
import { FailureError } from '../core/types.ts';
import { COMMANDS } from './names.ts';
import { addressParts, type TrajectoryAddress } from './trajectoryAddress.ts';

export interface Changes {
  keep(address: TrajectoryAddress, change: PathChange): void;
  /** Undefined where the address names no checkpoints. Throws a FailureError where they were not compared in this window. */
  find(address: TrajectoryAddress): PathChange | undefined;
}

export function openChanges(): Changes {
  const known = new Map<string, PathChange>();
  const keyOf = (address: TrajectoryAddress): string => addressParts(address).query;
  return {
    keep: (address, change) => void known.set(keyOf(address), change),
    find(address) {
      if (address.checkpoints === undefined) return undefined;
      const found = known.get(keyOf(address));
      if (found) return found;
      throw new FailureError({
        where: 'store',
        message: `This window does not know how ${address.checkpoints.join(' and ')} compare on trajectory ${address.path} of tree ${address.tree}.`,
        fix: `Choose “${COMMANDS.compareCheckpoints.title}” again.`,
      });
    },
  };
}

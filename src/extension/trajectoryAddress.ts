/** A trajectory's address as the parts of a URI, and back. Knows nothing of VS Code's URI class or of what is there. */
import { TRAJECTORY_SUFFIX } from './names.ts';

export interface TrajectoryAddress {
  runFolder: string;
  tree: string;
  path: number;
  /** Only of a text that shows what became likelier between two of them. */
  checkpoints?: readonly [string, string];
}

/** The path is for people (it is the editor's title); the query says where the trajectory is. */
export function addressParts({ runFolder, tree, path, checkpoints }: TrajectoryAddress): {
  path: string;
  query: string;
} {
  const run = runFolder.split(/[\\/]/).filter(Boolean).at(-1) ?? 'run';
  return {
    path: `/${run}/${run} ${tree} path ${path}${checkpoints ? ` ${checkpoints.join(' → ')}` : ''}${TRAJECTORY_SUFFIX}`,
    query: JSON.stringify([runFolder, tree, path, ...(checkpoints ?? [])]),
  };
}

/** Throws where the query is not an address: a document of another extension's, or one typed by hand. */
export function addressOf(query: string): TrajectoryAddress {
  const parts: unknown = JSON.parse(query);
  if (Array.isArray(parts)) {
    const [runFolder, tree, path, before, after] = parts as unknown[];
    if (typeof runFolder === 'string' && typeof tree === 'string' && typeof path === 'number')
      return {
        runFolder,
        tree,
        path,
        ...(typeof before === 'string' && typeof after === 'string' && { checkpoints: [before, after] }),
      };
  }
  throw new Error(`${query} is not the address of a trajectory.`);
}

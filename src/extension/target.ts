/** What a command, an explorer row or a document is about. Knows nothing of where it came from. */

/** Every part is absent where it is not said; the user is then asked. */
export interface Target {
  runFolder?: string;
  tree?: string;
  path?: number;
  segment?: number;
  /** Tokens of the segment that are kept, where it is cut. */
  token?: number;
  /** Name of a folder in the run's checkpoints. */
  checkpoint?: string;
  /** Name of an evaluation, and the one that it is set against. */
  evaluation?: string;
  against?: { runFolder: string; evaluation: string };
  /** Several runs that are compared. */
  runFolders?: string[];
}

const TEXTS = ['runFolder', 'tree', 'checkpoint', 'evaluation'] as const;
const NUMBERS = ['path', 'segment', 'token'] as const;

/** Commands can be run with anything: what is not of the right kind is left out. */
export function targetOf(argument: unknown): Target {
  if (typeof argument !== 'object' || argument === null) return {};
  const given = argument as Record<string, unknown>;
  const target: Target = {};
  for (const name of TEXTS) if (typeof given[name] === 'string') target[name] = given[name];
  for (const name of NUMBERS) if (Number.isInteger(given[name])) target[name] = given[name] as number;
  const { against, runFolders } = given;
  const other = typeof against === 'object' ? targetOf(against) : {};
  if (other.runFolder !== undefined && other.evaluation !== undefined)
    target.against = { runFolder: other.runFolder, evaluation: other.evaluation };
  if (Array.isArray(runFolders) && runFolders.every(folder => typeof folder === 'string'))
    target.runFolders = runFolders;
  return target;
}

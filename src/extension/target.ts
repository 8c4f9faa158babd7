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
}

const TEXTS = ['runFolder', 'tree', 'checkpoint'] as const;
const NUMBERS = ['path', 'segment', 'token'] as const;

/** Commands can be run with anything: what is not of the right kind is left out. */
export function targetOf(argument: unknown): Target {
  if (typeof argument !== 'object' || argument === null) return {};
  const given = argument as Record<string, unknown>;
  const target: Target = {};
  for (const name of TEXTS) if (typeof given[name] === 'string') target[name] = given[name];
  for (const name of NUMBERS) if (Number.isInteger(given[name])) target[name] = given[name] as number;
  return target;
}

/** Scores a trajectory under two checkpoints and shows its text with what changed. Knows nothing of how tokens are scored. */
import { basename } from 'node:path';
import { isCounterfactual } from '../core/counterfactual.ts';
import type { PathChange } from '../core/likelihood.ts';
import { FailureError } from '../core/types.ts';
import { listCheckpoints } from '../run/checkpoint.ts';
import { checkpointName } from '../run/layout.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import { trajectoryFrom } from './compareTrajectory.ts';
import { COMMANDS, type CommandName } from './names.ts';
import { mustBeOwn } from './ownTrees.ts';
import { choose } from './pickers.ts';
import type { TrajectoryAddress } from './trajectoryAddress.ts';
import { mustBeTrusted } from './trust.ts';

const TITLE = COMMANDS.compareCheckpoints.title.replace('…', '');

export const COMPARE_CHECKPOINT_COMMANDS = { compareCheckpoints } satisfies Partial<
  Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>
>;

/** About a trajectory, or the one in the active editor. Whoever names both checkpoints is asked nothing. */
async function compareCheckpoints(app: App, argument: unknown): Promise<PathChange | undefined> {
  mustBeTrusted('Scoring');
  const found = await trajectoryFrom(app, argument, TITLE);
  if (found === undefined) return undefined;
  const { runFolder, tree, path } = found;
  mustBeOwn(runFolder, tree);
  const checkpoints = saidCheckpoints(argument) ?? (await pickBoth({ runFolder, tree, path }));
  if (checkpoints === undefined) return undefined;
  const args = [
    'score',
    runFolder,
    `--tree=${tree}`,
    `--path=${path}`,
    `--checkpoints=${checkpoints.join()}`,
  ];
  const line = await askProgram(app, `Scoring trajectory ${path} of tree ${tree}`, [...args, '--json']);
  if (line === undefined) return undefined;
  const change = changeFrom(line);
  const address: TrajectoryAddress = { runFolder, tree, path, checkpoints: change.names };
  app.changes.keep(address, change);
  await app.trajectories.show(address);
  return change;
}

function saidCheckpoints(argument: unknown): readonly [string, string] | undefined {
  const said = (argument as { checkpoints?: unknown } | undefined)?.checkpoints;
  if (!Array.isArray(said)) return undefined;
  const [before, after] = said as unknown[];
  return typeof before === 'string' && typeof after === 'string' ? [before, after] : undefined;
}

/** The weights that drew the trajectory come first, and the newest after them. */
async function pickBoth({
  runFolder,
  tree,
}: TrajectoryAddress): Promise<readonly [string, string] | undefined> {
  const all = ['initial', ...listCheckpoints(runFolder).map(name => basename(name))];
  if (all.length < 2)
    throw new FailureError({
      where: 'config',
      message: `${basename(runFolder)} has no checkpoint to compare with the initial policy.`,
      fix: 'Wait until one is saved (checkpoint.every).',
    });
  const { step } = await openRun(runFolder).tree(tree);
  // A counterfactual may have been drawn by any weights.
  const drew = isCounterfactual(tree) ? undefined : step === 1 ? 'initial' : checkpointName(step - 1);
  const row = (value: string) => ({
    label: value === 'initial' ? 'initial: the policy that the run began with' : value,
    ...(value === drew && { description: 'drew this trajectory' }),
    value,
  });
  const isDrew = (value: string): boolean => value === drew;
  const before = await choose(
    `${TITLE}: before`,
    [...all.filter(isDrew), ...all.filter(value => !isDrew(value))].map(row),
  );
  if (before === undefined) return undefined;
  const others = all.filter(value => value !== before).toReversed();
  const after = await choose(`${TITLE}: after ${before}`, others.map(row), true);
  return after === undefined ? undefined : [before, after];
}

/** The program's last line; JSON has null for what was not measured. */
function changeFrom(line: string): PathChange {
  const { names, before, after } = JSON.parse(line) as Partial<PathChange>;
  const numbers = (values: readonly (number | null)[]): number[] => values.map(value => value ?? NaN);
  if (names?.length !== 2 || !Array.isArray(before?.logProbs) || !Array.isArray(after?.logProbs))
    throw new FailureError({ where: 'bug', message: `The scores cannot be read: ${line.slice(0, 200)}` });
  const side = ({ logProbs, entropies }: PathChange['before']): PathChange['before'] => ({
    logProbs: numbers(logProbs),
    entropies: numbers(entropies),
  });
  return { names, before: side(before), after: side(after) };
}

/** Shows two trajectories in the built-in diff, with the first token that differs marked in both. Knows nothing of how they are laid out. */
import * as vscode from 'vscode';
import { divergence } from '../core/divergence.ts';
import { isReplayed } from '../core/replay.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import type { CommandName } from './names.ts';
import { choose, type Choice, pickPath, pickTree, runOf } from './pickers.ts';
import { short } from './rows.ts';
import { targetOf } from './target.ts';
import { rangeIn, trajectoryUri, type OpenTrajectory } from './trajectories.ts';
import type { TrajectoryAddress } from './trajectoryAddress.ts';
import { activeTrajectory } from './trajectoryCommands.ts';
import { endOf } from './trajectoryText.ts';
import { treeOf } from './treeSource.ts';

const TITLE = 'Compare Trajectory with';

export const COMPARE_TRAJECTORIES_COMMANDS = { compareTrajectory } satisfies Partial<
  Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>
>;

/** About a trajectory, or the one in the active editor; `other` names what to compare it with. */
async function compareTrajectory(app: App, argument: unknown): Promise<void> {
  const one = await trajectoryFrom(app, argument, TITLE);
  if (one === undefined) return;
  const named = (argument as { other?: unknown } | undefined)?.other;
  const other =
    named === undefined
      ? await pickOther(app, one)
      : await addressFrom(app, { ...one, ...(named as object) });
  if (other !== undefined) await showDifference(app, one, other);
}

/** The trajectory that a command is about: what it was told, that of the active editor, else the user's choice. */
export const trajectoryFrom = async (
  app: App,
  argument: unknown,
  title: string,
): Promise<TrajectoryAddress | undefined> =>
  (await addressFrom(app, argument)) ?? activeAddress() ?? (await askFor(app, title));

/** The trajectory itself, also where the active text shows what checkpoints make of it. */
function activeAddress(): TrajectoryAddress | undefined {
  const active = activeTrajectory();
  if (active === undefined) return undefined;
  const { runFolder, tree, path } = active.address;
  return { runFolder, tree, path };
}

/** Only where the argument says all that an address needs. */
async function addressFrom(app: App, argument: unknown): Promise<TrajectoryAddress | undefined> {
  const { runFolder, tree, path } = targetOf(argument);
  if (runFolder === undefined || tree === undefined) return undefined;
  const chosen = path ?? (await pickPath(app, runFolder, tree));
  return chosen === undefined ? undefined : { runFolder, tree, path: chosen };
}

async function askFor(app: App, title: string): Promise<TrajectoryAddress | undefined> {
  const runFolder = await runOf(app, {}, title);
  const tree = runFolder === undefined ? undefined : await pickTree(app, runFolder);
  return runFolder === undefined || tree === undefined ? undefined : addressFrom(app, { runFolder, tree });
}

/** Those of the same tree first, then the same prompt in other steps. */
async function pickOther(app: App, one: TrajectoryAddress): Promise<TrajectoryAddress | undefined> {
  const run = openRun(one.runFolder);
  const { tree } = isReplayed(one.tree)
    ? app.replays.find(one.runFolder, one.tree)
    : await treeOf(app.runs, one.runFolder, one.tree);
  const siblings = tree.paths.flatMap(({ reward, origin, from, stop }, path): Choice<TrajectoryAddress>[] =>
    path === one.path
      ? []
      : [
          {
            label: `Trajectory ${path}`,
            description: `${reward === undefined ? 'not judged' : `R ${short(reward.total)}`} · ${from === undefined ? origin : `branch of ${from.path}`} · ${endOf(stop)}`,
            ...(reward?.answer !== undefined && { detail: `Answered: ${reward.answer}` }),
            value: { ...one, path },
          },
        ],
  );
  const sameTask = (await run.trees()).filter(
    ({ id, question, length }) =>
      id !== one.tree &&
      length > 0 &&
      question === tree.task.question.slice(0, question.length) &&
      question !== '',
  );
  const others = sameTask
    .toReversed()
    .map(({ id, step, reward, paths }): Choice<TrajectoryAddress | string> => ({
      label: `Step ${step}, tree ${id}`,
      description: `same prompt · ${reward === undefined ? 'not judged' : `R ${short(reward)}`} · ${paths} trajectories`,
      value: id,
    }));
  const chosen = await choose<TrajectoryAddress | string>(
    `${TITLE} (tree ${one.tree}, trajectory ${one.path})`,
    [...siblings, ...others],
  );
  if (typeof chosen !== 'string') return chosen;
  const path = await pickPath(app, one.runFolder, chosen);
  return path === undefined ? undefined : { ...one, tree: chosen, path };
}

async function showDifference(app: App, one: TrajectoryAddress, other: TrajectoryAddress): Promise<void> {
  const uris = [trajectoryUri(one), trajectoryUri(other)] as const;
  const both = [await app.trajectories.read(uris[0]), await app.trajectories.read(uris[1])] as const;
  const parting = divergence(idsOf(both[0]), idsOf(both[1]));
  await vscode.commands.executeCommand('vscode.diff', ...uris, `${nameOf(one)} ↔ ${nameOf(other)}`);
  if (both.some(({ pieces }) => pieces === undefined)) return;
  if (parting === undefined) {
    vscode.window.setStatusBarMessage('The two trajectories have the same tokens', 5000);
    return;
  }
  uris.forEach((uri, side) => {
    const range = tokenRange(both[side]!, parting);
    app.decorations.markParting(uri, range);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() !== uri.toString()) continue;
      editor.selection = new vscode.Selection(range.start, range.start);
      editor.revealRange(range, vscode.TextEditorRevealType.InCenter);
    }
  });
}

const nameOf = ({ tree, path }: TrajectoryAddress): string => `tree ${tree} trajectory ${path}`;

/** [token] in reading order. */
const idsOf = ({ layout, columns }: OpenTrajectory): Int32Array =>
  layout.tokens.map(token => columns.ids[token]!);

/** A token's range; the place behind the last one where the trajectory has ended. */
function tokenRange(trajectory: OpenTrajectory, token: number): vscode.Range {
  const { starts, ends } = trajectory.layout;
  if (token < starts.length) return rangeIn(trajectory, starts[token]!, ends[token]!);
  const end = ends.at(-1) ?? 0;
  return rangeIn(trajectory, end, end);
}

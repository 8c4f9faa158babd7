/** Draws stored trees again and shows whether they came out the same. Knows nothing of how they are drawn or compared. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { isIdentical } from '../core/replay.ts';
import { grownOf } from '../run/trees.ts';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import { inBackground, offer } from './failures.ts';
import { commandId, COMMANDS, type CommandName } from './names.ts';
import { mustBeOwn } from './ownTrees.ts';
import { choose, pickTree, runOf } from './pickers.ts';
import { identicalSentence, layOutReplay, replayFrom, type ReplayOutcome } from './replayText.ts';
import { targetOf, type Target } from './target.ts';
import { activeTrajectory } from './trajectoryCommands.ts';
import { mustBeTrusted } from './trust.ts';

const TITLE = COMMANDS.replayRollout.title;

export const REPLAY_COMMANDS = { replayRollout } satisfies Partial<
  Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>
>;

/** About a tree, that of the active trajectory, or one that is asked for. Whoever says how tools answer is not asked. */
async function replayRollout(app: App, argument: unknown): Promise<Omit<ReplayOutcome, 'grown'> | undefined> {
  mustBeTrusted('A replay');
  const place = await placeOf(app, targetOf(argument));
  if (place === undefined) return undefined;
  mustBeOwn(place.runFolder, place.tree);
  const said = (argument as { tools?: unknown } | undefined)?.tools;
  const tools = said === 'stored' || said === 'live' ? said : await askTools(place.tree);
  if (tools === undefined) return undefined;
  const { runFolder, tree } = place;
  const args = ['replay', runFolder, `--tree=${tree}`, `--tools=${tools}`, '--trees', '--json'];
  const line = await askProgram(app, `Drawing tree ${tree} again`, args);
  if (line === undefined) return undefined;
  const { grown, ...outcome } = replayFrom(line);
  if (outcome.trees.every(isIdentical)) {
    const sentence = identicalSentence(outcome);
    app.log.info(sentence);
    inBackground(app.log, TITLE, offer(sentence, 'openTree', { runFolder, tree }));
  } else await show(app, place, { ...outcome, grown });
  return outcome;
}

interface Place {
  runFolder: string;
  tree: string;
  path?: number;
}

async function placeOf(app: App, target: Target): Promise<Place | undefined> {
  const isNamed = target.runFolder !== undefined || target.tree !== undefined;
  const known = isNamed ? target : (activeTrajectory()?.address ?? target);
  const runFolder = await runOf(app, known, TITLE);
  const tree = runFolder === undefined ? undefined : (known.tree ?? (await pickTree(app, runFolder)));
  if (runFolder === undefined || tree === undefined) return undefined;
  return { runFolder, tree, ...(known.path !== undefined && { path: known.path }) };
}

const askTools = (tree: string): Promise<ReplayOutcome['tools'] | undefined> =>
  choose(`${TITLE}: tree ${tree}`, [
    {
      label: '$(debug-rerun) Replay with the stored answers of the tools',
      detail: 'Shows whether the policy draws the same; tools are called only for what was not asked before.',
      value: 'stored',
    },
    {
      label: '$(plug) Replay and call the tools anew',
      detail: 'Shows whether the tools still answer the same.',
      value: 'live',
    },
  ]);

/** What differs as a text; and the trajectory that was asked about, where its tokens differ, side by side. */
async function show(app: App, { runFolder, tree, path }: Place, outcome: ReplayOutcome): Promise<void> {
  const run = basename(runFolder);
  const drawn = outcome.grown.map((value, i) =>
    app.replays.keep(runFolder, grownOf(value, `Tree ${outcome.trees[i]!.tree}, drawn again`)),
  );
  await app.replays.texts.show(
    { path: `/${run}/${run} ${tree} drawn again`, query: runFolder },
    layOutReplay({ runFolder, run, drawn }, outcome),
  );
  const found = outcome.trees[0]?.paths.find(one => one.path === path && one.parting !== undefined);
  if (path === undefined || found === undefined) return;
  const other = { tree: drawn[0], path: found.again };
  await vscode.commands.executeCommand(commandId('compareTrajectory'), { runFolder, tree, path, other });
}

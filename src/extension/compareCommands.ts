/** The command that opens the comparison of runs. Knows nothing of how runs are compared. */
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { tooFewRuns } from './absent.ts';
import type { App } from './app.ts';
import { tellAbsence } from './failures.ts';
import { COMMANDS } from './names.ts';
import { runChoice } from './pickers.ts';
import { statusOf } from './rows.ts';
import { targetOf } from './target.ts';

/** More lines than that are no longer told apart. */
const MOST_RUNS = 8;

export const COMPARE_RUNS_COMMANDS = { compareRuns } as const;

/** `selected`: the rows of the explorer; a single run is asked to be joined by others. */
async function compareRuns(
  app: App,
  argument: unknown,
  selected?: unknown,
): Promise<readonly string[] | undefined> {
  const given = [
    ...(targetOf(argument).runFolders ?? []),
    ...(Array.isArray(selected) && selected.length > 0 ? selected : [argument]).flatMap(
      row => targetOf(row).runFolder ?? [],
    ),
  ];
  const named = [...new Set(given)];
  const runFolders = named.length >= 2 ? named : await pickRuns(app, named);
  if (runFolders === undefined) return undefined;
  const [runFolder] = runFolders;
  if (runFolder === undefined || runFolders.length < 2 || runFolders.length > MOST_RUNS)
    throw new FailureError({
      where: 'config',
      message: `Two to ${MOST_RUNS} runs can be compared, not ${runFolders.length}.`,
      fix: 'Choose others.',
    });
  app.panels.show('compare', { runFolder, runFolders });
  return runFolders;
}

/** Those that are chosen, in the order of the list, and first what was named. */
async function pickRuns({ runs }: App, named: readonly string[]): Promise<string[] | undefined> {
  await runs.refresh();
  const choices = runs
    .list()
    .filter(run => statusOf(run) !== 'unreadable')
    .map(run => ({ ...runChoice(run), picked: named.includes(run.folder) }));
  if (choices.length < 2) {
    await tellAbsence(tooFewRuns(choices.length));
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(choices, {
    title: `${COMMANDS.compareRuns.title} (2 to ${MOST_RUNS})`,
    canPickMany: true,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  const folders = chosen?.map(({ value }) => value);
  return (
    folders && [
      ...named.filter(folder => folders.includes(folder)),
      ...folders.filter(folder => !named.includes(folder)),
    ]
  );
}

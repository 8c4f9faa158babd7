/** Asks the user for what a command was not told. An answer that is undefined means: do nothing. Knows nothing of what is done with it. */
import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { counted } from '../core/figures.ts';
import { FailureError } from '../core/types.ts';
import { checkpointName, FILES } from '../run/layout.ts';
import { readManifest } from '../run/manifest.ts';
import { openRun } from '../run/reader.ts';
import type { RunSummary } from '../run/runs.ts';
import { noCheckpoint, noConfiguration, noRun, noTree } from './absent.ts';
import type { App } from './app.ts';
import { tellAbsence } from './failures.ts';
import { CONFIG_SUFFIX } from './names.ts';
import { configOfRun, isRecord } from './places.ts';
import {
  type RowStatus,
  RUN_ICONS,
  runRowDescription,
  runTitle,
  short,
  statusOf,
  treeDescription,
} from './rows.ts';
import { type Target, targetOf } from './target.ts';
import { endOf } from './trajectoryText.ts';
import { treeOf } from './treeSource.ts';

export interface Choice<T> extends vscode.QuickPickItem {
  value: T;
}

/** The only choice is taken without asking, where `takeOnly` says so. */
export async function choose<T>(
  title: string,
  choices: Choice<T>[],
  takeOnly = false,
): Promise<T | undefined> {
  const [only] = choices;
  if (takeOnly && choices.length === 1 && only !== undefined) return only.value;
  const chosen = await vscode.window.showQuickPick(choices, {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return chosen?.value;
}

/** A run of one of the states, and not `except`; says so where there is none. */
export async function pickRun(
  { runs }: App,
  title: string,
  states?: readonly RowStatus[],
  except?: string,
): Promise<string | undefined> {
  await runs.refresh();
  const fitting = runs.list().filter(
    run =>
      run.folder !== except &&
      statusOf(run) !== 'unreadable' &&
      // What has a state that is asked for has a worker of ours, which imported runs never have.
      (states === undefined || (states.includes(statusOf(run)) && run.source === undefined)),
  );
  if (fitting.length === 0) {
    await tellAbsence(noRun(title, states, except !== undefined));
    return undefined;
  }
  return choose(title, fitting.map(runChoice), states !== undefined);
}

export const runChoice = (run: RunSummary): Choice<string> => ({
  label: `$(${RUN_ICONS[statusOf(run)].icon}) ${runTitle(run)}`,
  description: runRowDescription(run),
  detail: dirname(run.folder),
  value: run.folder,
});

/** A tree of the run, newest step first; those that still grow are first of all. */
export async function pickTree({ runs }: App, runFolder: string): Promise<string | undefined> {
  const state = await runs.state(runFolder);
  const entries = await openRun(runFolder).trees();
  const growing = (state.live?.trees ?? []).filter(({ id }) => !entries.some(entry => entry.id === id));
  const choices = [
    ...growing.map(({ id, segments }): Choice<string> => ({
      label: id,
      description: `growing · ${segments.length} segments`,
      value: id,
    })),
    ...entries.toReversed().map((entry): Choice<string> => ({
      label: entry.id,
      description: treeDescription(entry),
      detail: entry.question,
      value: entry.id,
    })),
  ];
  if (choices.length === 0) {
    await tellAbsence(noTree(runFolder, runs.get(runFolder)?.status === 'live'));
    return undefined;
  }
  return choose('Rollout tree, by step and task', choices);
}

/** Also of a tree that still grows. */
export async function pickPath(
  { runs }: App,
  runFolder: string,
  treeId: string,
): Promise<number | undefined> {
  const { tree } = await treeOf(runs, runFolder, treeId);
  const choices = tree.paths.map(({ reward, origin, calls, stop }, index): Choice<number> => ({
    label: `Trajectory ${index}`,
    description: `${reward === undefined ? 'not judged' : `R ${short(reward.total)}`} · ${origin} · ${counted(calls, 'tool call')} · ${endOf(stop)}`,
    ...(reward?.answer !== undefined && { detail: `Answered: ${reward.answer}` }),
    value: index,
  }));
  return choose(`Trajectory of tree ${treeId}`, choices);
}

/** Path of a checkpoint's folder, relative to the run. */
export async function pickCheckpoint({ runs }: App, runFolder: string): Promise<string | undefined> {
  const { checkpoints } = await runs.state(runFolder);
  if (checkpoints.length === 0) {
    await tellAbsence(noCheckpoint(runFolder, readManifest(runFolder).config.checkpoint.every));
    return undefined;
  }
  const choices = checkpoints.toReversed().map(({ step, at }): Choice<string> => ({
    label: `$(save) ${checkpointName(step)}`,
    description: new Date(at).toLocaleString(),
    value: checkpointName(step),
  }));
  return choose('Checkpoint to evaluate', choices);
}

/** The configuration that a command is about: the file that it was told, the one that is edited, else the user's choice. */
export const askedConfig = async (app: App, argument: unknown, title: string): Promise<string | undefined> =>
  argument instanceof vscode.Uri ? argument.fsPath : (activeConfig() ?? (await pickConfig(app, title)));

/** The likeliest comes first: that of the run that is looked at or selected, or one that is open. */
export async function pickConfig(app: App, title: string): Promise<string | undefined> {
  const likely = likelyConfigs(app);
  const all = new Set([...likely, ...(await app.places.configs())]);
  const configs = [...all];
  if (configs.length === 0) {
    await tellAbsence(noConfiguration);
    return undefined;
  }
  return choose(
    title,
    configs.map((path): Choice<string> => ({
      label: `$(settings-gear) ${basename(path)}`,
      description: vscode.workspace.asRelativePath(dirname(path)),
      value: path,
    })),
  );
}

function likelyConfigs({ panels, explorer, runs }: App): string[] {
  const looked = [panels.activeRun, ...explorer.selectedRuns].flatMap(folder => {
    const run = folder === undefined ? undefined : runs.get(folder);
    const isOurs = run?.source === undefined;
    return run !== undefined && isOurs && statusOf(run) !== 'unreadable'
      ? (configOfRun(run.folder) ?? [])
      : [];
  });
  const open = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? (configAt(input.uri) ?? []) : []));
  return [...looked, ...open].filter(path => existsSync(path));
}

/** The configuration in the editor that has the focus; a run's record of its own is none. */
export const activeConfig = (): string | undefined => configAt(vscode.window.activeTextEditor?.document.uri);

const configAt = (uri: vscode.Uri | undefined): string | undefined =>
  uri?.scheme === 'file' && uri.fsPath.endsWith(CONFIG_SUFFIX) && !isRecord(uri.fsPath)
    ? uri.fsPath
    : undefined;

/** Saves the file where it is open and edited: programs read what is on disk. */
export async function saved(path: string): Promise<void> {
  const document = vscode.workspace.textDocuments.find(({ uri }) => uri.fsPath === path);
  // A save by the editor itself may have come first, and then there is nothing left to save.
  if (document?.isDirty === true && !(await document.save()) && document.isDirty)
    throw new FailureError({ where: 'config', message: `${path} could not be saved.` });
}

/** The run that a command is about: what it was told, else the user's choice. */
export async function runOf(
  app: App,
  { runFolder }: Target,
  title: string,
  states?: readonly RowStatus[],
): Promise<string | undefined> {
  return runFolder ?? (await pickRun(app, title, states));
}

/**
 * The runs that a command is about, each once: all that are selected where it was chosen in a view, the one that it was told, the
 * view's selection where a key was pressed in it, else the user's choice. None where the user chose none.
 */
export async function runsOf(
  app: App,
  argument: unknown,
  selected: unknown,
  title: string,
): Promise<string[]> {
  // A selection may hold a run's parts too: only its own row means the run.
  const isRun = (row: unknown): boolean => (row as { kind?: unknown } | undefined)?.kind === 'run';
  const runs = isRun(argument) && Array.isArray(selected) ? (selected as unknown[]).filter(isRun) : [];
  const told = (runs.length > 0 ? runs : [argument]).flatMap(row => targetOf(row).runFolder ?? []);
  if (told.length > 0) return [...new Set(told)];
  const { selectedRuns } = app.explorer;
  if (selectedRuns.length > 0) return selectedRuns;
  const picked = await pickRun(app, title);
  return picked === undefined ? [] : [picked];
}

export async function pickFolder(openLabel: string, title: string): Promise<string | undefined> {
  const [folder] =
    (await vscode.window.showOpenDialog({
      canSelectFolders: true,
      canSelectFiles: false,
      openLabel,
      title,
    })) ?? [];
  return folder?.fsPath;
}

export const checkpointFolder = (runFolder: string, checkpoint: string): string =>
  `${runFolder}/${FILES.checkpoints}/${checkpoint}`;

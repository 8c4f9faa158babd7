/** The commands that open the sample: its recorded run, and beside it a tree with a branch that was refused. Knows nothing of what they show. */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as vscode from 'vscode';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { copySample } from './sample.ts';

/** What the first view may take to begin, before the second is shown all the same. */
const BEGINNING_MS = 10_000;

export const SAMPLE_COMMANDS = {
  openSample: (app: App, argument: unknown): Promise<string> =>
    openSample(
      app,
      argument instanceof vscode.Uri ? argument.fsPath : join(app.context.globalStorageUri.fsPath, 'sample'),
    ),
  async openSampleIn(app: App, argument: unknown): Promise<string | undefined> {
    if (argument instanceof vscode.Uri) return openSample(app, argument.fsPath);
    const [parent] =
      (await vscode.window.showOpenDialog({
        canSelectFolders: true,
        canSelectFiles: false,
        openLabel: 'Put the Sample Here',
        title: 'Folder for the sample project',
      })) ?? [];
    return parent === undefined ? undefined : openSample(app, join(parent.fsPath, 'branchpoint-sample'));
  },
};

/** Copies the sample and shows what a newcomer should see first; its configuration is a tab behind the dashboard. */
async function openSample(app: App, folder: string): Promise<string> {
  const { extensionUri } = app.context;
  const sample = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Copying the sample' },
    () => copySample(vscode.Uri.joinPath(extensionUri, 'media', 'sample').fsPath, folder),
  );
  await app.places.remember('configs', sample.config);
  await app.places.remember('runs', sample.runs);
  await app.runs.refresh();
  await vscode.window.showTextDocument(vscode.Uri.file(sample.config), {
    preview: false,
    viewColumn: vscode.ViewColumn.One,
  });
  const runFolder = sample.recorded;
  app.panels.show('dashboard', { runFolder }, vscode.ViewColumn.One, true);
  const tree = await treeToShow(runFolder);
  // A view that was hidden at once never begins.
  await Promise.race([app.panels.begun('dashboard', { runFolder }), wait(BEGINNING_MS)]);
  if (tree !== undefined) app.panels.show('tree', { runFolder, tree }, vscode.ViewColumn.Two, true);
  await app.explorer.reveal(runFolder);
  return sample.folder;
}

/** The newest tree in which the gate refused a branch and trajectories earned different rewards: it has most to tell. */
async function treeToShow(runFolder: string): Promise<string | undefined> {
  const run = openRun(runFolder);
  for (const { id, refused } of (await run.trees()).toReversed()) {
    if (refused === 0) continue;
    const { decisions, paths } = await run.tree(id);
    const rewards = new Set(paths.map(({ reward }) => reward?.total));
    if (rewards.size > 1 && decisions.some(({ outcome }) => outcome === 'refuse')) return id;
  }
  return undefined;
}

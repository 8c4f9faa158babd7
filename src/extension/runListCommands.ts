/** The commands of the list of runs: what it shows, how, and from where. Knows nothing of a run's own commands. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { FILES } from '../run/layout.ts';
import { noRunIn } from './absent.ts';
import type { App } from './app.ts';
import { tellAbsence } from './failures.ts';
import { COMMANDS } from './names.ts';
import { pickFolder } from './pickers.ts';
import { type Grouping, GROUPINGS } from './runList.ts';
import { setting } from './settings.ts';

export const RUN_LIST_COMMANDS = {
  filterRuns,
  clearRunFilter: ({ explorer }: App): Promise<void> => explorer.show({ filter: '' }),
  groupRuns,
  addRunsFolder,
};

/** The list follows what is typed; Escape brings the former filter back. */
async function filterRuns({ explorer }: App, argument: unknown): Promise<void> {
  if (typeof argument === 'string') return explorer.show({ filter: argument });
  const before = explorer.filter;
  const box = vscode.window.createInputBox();
  box.title = COMMANDS.filterRuns.title;
  box.placeholder = 'Words of name, label, tag, status or configuration';
  box.prompt = 'Enter keeps the filter, empty shows all runs.';
  box.value = before;
  const chosen = await new Promise<string | undefined>(resolve => {
    box.onDidChangeValue(value => void explorer.show({ filter: value }));
    box.onDidAccept(() => resolve(box.value));
    box.onDidHide(() => resolve(undefined));
    box.show();
  });
  box.dispose();
  await explorer.show({ filter: chosen ?? before });
}

async function groupRuns({ explorer }: App, argument: unknown): Promise<void> {
  const named = (Object.keys(GROUPINGS) as Grouping[]).find(grouping => grouping === argument);
  const chosen =
    named ??
    (
      await vscode.window.showQuickPick(
        (Object.keys(GROUPINGS) as Grouping[]).map(grouping => ({
          label: `${grouping === explorer.grouping ? '$(check) ' : ''}${grouping[0]!.toUpperCase()}${grouping.slice(1)}`,
          description: GROUPINGS[grouping],
          grouping,
        })),
        { title: COMMANDS.groupRuns.title },
      )
    )?.grouping;
  if (chosen !== undefined) await explorer.show({ grouping: chosen });
}

/** A run's own folder stands for the one that it is in. */
async function addRunsFolder({ places, runs }: App, argument: unknown): Promise<void> {
  const picked =
    argument instanceof vscode.Uri
      ? argument.fsPath
      : await pickFolder('Show Its Runs', COMMANDS.addRunsFolder.title);
  if (picked === undefined) return;
  const folder = existsSync(join(picked, FILES.manifest)) ? dirname(picked) : picked;
  const known = setting('runsFolders');
  const target =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  // Where the workspace is not trusted its own list is hidden from us, and writing it would lose what it has.
  if (!vscode.workspace.isTrusted) await places.remember('runs', folder);
  else if (!known.includes(folder))
    await vscode.workspace.getConfiguration('branchpoint').update('runsFolders', [...known, folder], target);
  await runs.refresh();
  if (!runs.list().some(run => dirname(run.folder) === folder)) await tellAbsence(noRunIn(folder));
}

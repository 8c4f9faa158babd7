/** The commands that take other programs' rollouts into the list of runs, and out of it again. Knows nothing of how they are read. */
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { importOf } from '../run/imports/imported.ts';
import { noRollouts } from './absent.ts';
import type { App } from './app.ts';
import { tell, tellAbsence } from './failures.ts';
import { COMMANDS } from './names.ts';
import { pickFolder } from './pickers.ts';
import { targetOf } from './target.ts';

const SETTING = 'Open Setting';

export const IMPORT_COMMANDS = { openRollouts, closeRollouts };

/** From VS Code's own explorer with a folder; resolves with the run's folder. The folder is remembered over windows. */
async function openRollouts(app: App, argument: unknown): Promise<string | undefined> {
  const folder =
    // The button of a view is given the row that has the focus there: it is not what to open.
    argument instanceof vscode.Uri
      ? argument.fsPath
      : await pickFolder('Open as Run', `${COMMANDS.openRollouts.title} (a folder with its files)`);
  if (folder === undefined) return undefined;
  if (importOf(folder) === undefined)
    throw new FailureError({
      where: 'store',
      message: `${folder} has no rollouts of verl or prime-rl.`,
      fix: 'Choose the folder that verl’s trainer.rollout_data_dir names, with <step>.jsonl in it, or a run of prime-rl, with rollouts/step_<n> in it.',
    });
  await app.places.remember('imports', folder);
  await app.runs.add(folder);
  app.panels.show('dashboard', { runFolder: folder });
  await app.explorer.reveal(folder);
  return folder;
}

/** The folder itself is left alone. One that a setting or the workspace names stays in the list. */
async function closeRollouts(app: App, argument: unknown): Promise<void> {
  const { runFolder } = targetOf(argument);
  const known = app.places.imports();
  if (runFolder === undefined && known.length === 0) {
    await tellAbsence(noRollouts);
    return;
  }
  const folder =
    runFolder ?? (await vscode.window.showQuickPick(known, { title: COMMANDS.closeRollouts.title }));
  if (folder === undefined) return;
  await app.places.forget('imports', folder);
  await app.runs.refresh();
  if (app.runs.get(folder) === undefined) return;
  const said = `${folder} stays in the list: it is in a folder of runs (setting branchpoint.runsFolders).`;
  if ((await tell(said, SETTING)) === SETTING)
    await vscode.commands.executeCommand('workbench.action.openSettings', 'branchpoint.runsFolders');
}

/** Asks for a preset, a name and a place, writes the configuration there and opens it. Knows nothing of the text itself. */
import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Preset } from '../core/configKeys.ts';
import { CONFIG_SUFFIX } from './names.ts';
import { configurationText, nameProblem, PRESET_SENTENCES } from './newConfiguration.ts';

/** The file that was made; undefined where the user left a question unanswered. */
export async function newConfiguration(): Promise<vscode.Uri | undefined> {
  const title = 'New Run Configuration';
  const presets = Object.entries(PRESET_SENTENCES).map(([label, detail]) => ({ label, detail }));
  const preset = await vscode.window.showQuickPick(presets, {
    title,
    placeHolder: 'Preset that the configuration starts from',
  });
  if (preset === undefined) return undefined;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? (await askFolder(title));
  if (folder === undefined) return undefined;
  const fileOf = (name: string): vscode.Uri => vscode.Uri.joinPath(folder, `${name}${CONFIG_SUFFIX}`);
  const name = await vscode.window.showInputBox({
    title,
    prompt: 'Name of the runs; their folders are called NAME-1, NAME-2 and so on',
    value: 'my-run',
    validateInput: name =>
      nameProblem(name) ??
      (existsSync(fileOf(name).fsPath) ? `${name}${CONFIG_SUFFIX} is there already.` : undefined),
  });
  if (name === undefined) return undefined;
  const file = fileOf(name);
  await vscode.workspace.fs.writeFile(
    file,
    new TextEncoder().encode(configurationText(preset.label as Preset, name)),
  );
  await vscode.window.showTextDocument(file);
  return file;
}

async function askFolder(title: string): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    canSelectFolders: true,
    canSelectFiles: false,
    openLabel: 'Put It Here',
    title,
  });
  return chosen?.[0];
}

/** Reads the settings that package.json contributes. Knows nothing of what they are for. */
import * as vscode from 'vscode';
import type { SettingName } from './names.ts';
import type { CreditChoice } from '../core/segmentCredit.ts';
import type { Overlay } from './overlay.ts';

interface SettingValues {
  runsFolders: string[];
  nodePath: string;
  'trajectory.overlay': Overlay;
  'trajectory.credit': CreditChoice;
}

/** The value in force, or the manifest's default. */
export function setting<K extends SettingName>(name: K, scope?: vscode.ConfigurationScope): SettingValues[K] {
  const value = vscode.workspace.getConfiguration('branchpoint', scope).get<SettingValues[K]>(name);
  if (value === undefined) throw new Error(`The setting branchpoint.${name} is not contributed.`);
  return value;
}

export const changeSetting = <K extends SettingName>(name: K, value: SettingValues[K]): Thenable<void> =>
  vscode.workspace.getConfiguration('branchpoint').update(name, value, vscode.ConfigurationTarget.Global);

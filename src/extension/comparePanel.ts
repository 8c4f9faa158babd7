/** What the view that compares runs is answered. Knows nothing of panels or of how runs are compared. */
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import type { RunFacts } from '../core/runComparison.ts';
import type { Handlers } from '../protocol/channel.ts';
import type { CompareVerbs, ViewSubject } from '../protocol/verbs.ts';
import { readLabel } from '../run/label.ts';
import { liveLock } from '../run/lock.ts';
import { openRun } from '../run/reader.ts';
import type { Held } from './evaluationPanel.ts';
import { commandId } from './names.ts';
import { resolvedConfigUri } from './resolvedConfigs.ts';

/** All runs of a subject. */
export const foldersOf = ({ runFolder, runFolders }: ViewSubject): string[] => runFolders ?? [runFolder];

async function factsOf(folder: string): Promise<RunFacts> {
  const run = openRun(folder);
  // Another program's run has neither a configuration that is known here nor a label.
  if (run.source !== undefined)
    return { folder, name: basename(folder), config: {}, hashes: {}, versions: {}, isLive: false };
  const { config, hashes, versions } = run.manifest;
  const { label } = await readLabel(folder);
  return {
    folder,
    name: label ?? basename(folder),
    config,
    hashes,
    versions,
    isLive: liveLock(folder) !== undefined,
  };
}

/** Runs of the same name in different folders are told apart by these. */
const named = (runs: readonly RunFacts[]): RunFacts[] =>
  runs.map(run =>
    runs.some(other => other !== run && other.name === run.name)
      ? { ...run, name: `${basename(dirname(run.folder))}/${run.name}` }
      : run,
  );

export function compareVerbs(held: Held): Handlers<CompareVerbs> {
  const folderOf = (run: number): string => foldersOf(held.subject)[run] ?? held.subject.runFolder;
  return {
    runs: async () => named(await Promise.all(foldersOf(held.subject).map(factsOf))),
    async openConfigurations(first, second) {
      const [a, b] = [folderOf(first), folderOf(second)];
      await vscode.commands.executeCommand(
        'vscode.diff',
        resolvedConfigUri(a),
        resolvedConfigUri(b),
        `Configuration: ${basename(a)} ↔ ${basename(b)}`,
      );
    },
    openRun: async run =>
      void (await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: folderOf(run) })),
    chooseRuns: async () => void (await vscode.commands.executeCommand(commandId('compareRuns'))),
  };
}

/** The commands of a run's row: name it, copy from it, find its folder, delete it. Knows nothing of what a run does. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { readLabel, writeLabel } from '../run/label.ts';
import { FILES } from '../run/layout.ts';
import { liveLock } from '../run/lock.ts';
import { readManifest } from '../run/manifest.ts';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import { configText, freshPath, renamed } from './configCopy.ts';
import { inBackground, tell } from './failures.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import { activeConfig, checkpointFolder, pickFolder, pickRun, runsOf } from './pickers.ts';
import { isRecord } from './places.ts';
import { resolvedConfigUri } from './resolvedConfigs.ts';
import { tagsOf } from './runList.ts';
import { targetOf } from './target.ts';
import { unlinked } from './unlinked.ts';

export const RUN_COMMANDS = {
  renameRun,
  tagRun,
  cloneConfiguration,
  exportRun,
  deleteRun,
  diffConfigurations,
  async openResolvedConfiguration(app: App, argument: unknown): Promise<void> {
    const [runFolder] = await runsOf(app, argument, undefined, COMMANDS.openResolvedConfiguration.title);
    if (runFolder !== undefined) await vscode.window.showTextDocument(resolvedConfigUri(runFolder));
  },
  async copyRunPath(app: App, argument: unknown, selected?: unknown): Promise<void> {
    const folders = await foldersOf(app, argument, selected, COMMANDS.copyRunPath.title);
    if (folders.length > 0) await vscode.env.clipboard.writeText(folders.join('\n'));
  },
  async revealRun(app: App, argument: unknown): Promise<void> {
    const [folder] = await foldersOf(app, argument, undefined, COMMANDS.revealRun.title);
    if (folder !== undefined) await vscode.commands.executeCommand('revealFileInOS', vscode.Uri.file(folder));
  },
  revealRunInExplorer,
};

/** Folders of the runs that a command is about, or of the checkpoint where it is about one. */
async function foldersOf(app: App, argument: unknown, selected: unknown, title: string): Promise<string[]> {
  const { runFolder, checkpoint } = targetOf(argument);
  return runFolder !== undefined && checkpoint !== undefined
    ? [checkpointFolder(runFolder, checkpoint)]
    : runsOf(app, argument, selected, title);
}

/** What a caller said beforehand, so that it is not asked: `{runFolder, label: 'Baseline'}`. */
function answer(argument: unknown, name: 'label' | 'tags' | 'to'): string | undefined {
  const value = (argument as Partial<Record<typeof name, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

async function renameRun(app: App, argument: unknown): Promise<void> {
  const [runFolder] = await runsOf(app, argument, undefined, COMMANDS.renameRun.title);
  if (runFolder === undefined) return;
  const { label = '', tags } = await readLabel(runFolder);
  const name = basename(runFolder);
  const chosen =
    answer(argument, 'label') ??
    (await vscode.window.showInputBox({
      title: COMMANDS.renameRun.title,
      prompt: `Shown in place of ${name}. The folder keeps its name; empty shows it again.`,
      placeHolder: name,
      value: label,
    }));
  if (chosen === undefined) return;
  writeLabel(runFolder, { label: chosen, tags });
  await app.runs.refresh();
}

/** One run's tags are replaced; several get what is said beside what they have. */
async function tagRun(app: App, argument: unknown, selected?: unknown): Promise<void> {
  const folders = await runsOf(app, argument, selected, COMMANDS.tagRun.title);
  if (folders.length === 0) return;
  const [first] = folders.length === 1 ? folders : [];
  const inUse = [...new Set(app.runs.list().flatMap(({ tags }) => tags))].sort();
  const chosen =
    answer(argument, 'tags') ??
    (await vscode.window.showInputBox({
      title: COMMANDS.tagRun.title,
      prompt: unlinked(
        `${first === undefined ? `Tags to add to ${folders.length} runs` : `Tags of ${basename(first)}`}, separated by commas.${inUse.length === 0 ? '' : ` In use: ${inUse.join(', ')}.`}`,
      ),
      placeHolder: 'baseline, seed 1',
      value: first === undefined ? '' : (await readLabel(first)).tags.join(', '),
    }));
  if (chosen === undefined) return;
  for (const folder of folders) {
    const { tags, ...name } = await readLabel(folder);
    writeLabel(folder, { ...name, tags: [...(first === undefined ? tags : []), ...tagsOf(chosen)] });
  }
  await app.runs.refresh();
}

/** A configuration's text, and the file that its paths are relative to. */
interface Original {
  file: string;
  text: string;
}

/** A copy beside the original, opened; of a run's configuration as it was when the run began. Resolves with its path. */
async function cloneConfiguration(app: App, argument: unknown): Promise<string | undefined> {
  const original = await originalOf(app, argument);
  if (original === undefined) return undefined;
  const { file, text } = original;
  const { path, name } = freshPath(dirname(file), basename(file, CONFIG_SUFFIX), CONFIG_SUFFIX);
  writeFileSync(path, renamed(text, name), { flag: 'wx' });
  await app.places.remember('configs', path);
  await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: false });
  return path;
}

async function originalOf(app: App, argument: unknown): Promise<Original | undefined> {
  const isAboutRun = targetOf(argument).runFolder !== undefined;
  const file = argument instanceof vscode.Uri ? argument.fsPath : isAboutRun ? undefined : activeConfig();
  if (file !== undefined && !isRecord(file)) return { file, text: readFileSync(file, 'utf8') };
  const [runFolder] =
    file === undefined
      ? await runsOf(app, argument, undefined, COMMANDS.cloneConfiguration.title)
      : [dirname(file)];
  return runFolder === undefined ? undefined : originalOfRun(app, runFolder);
}

/** What the user wrote, where its folder is known; else every key, in the workspace. */
async function originalOfRun(app: App, runFolder: string): Promise<Original> {
  const { config, configFile } = readManifest(runFolder);
  const record = join(runFolder, FILES.config);
  if (existsSync(record)) {
    const text = readFileSync(record, 'utf8');
    const isThere = configFile !== undefined && existsSync(dirname(configFile));
    const file = isThere
      ? configFile
      : (await app.places.configs()).find(path => readFileSync(path, 'utf8') === text);
    if (file !== undefined) return { file, text };
  }
  const [workspace] = vscode.workspace.workspaceFolders ?? [];
  const folder = workspace?.uri.fsPath ?? dirname(config.runs);
  return { file: join(folder, `${config.name}${CONFIG_SUFFIX}`), text: configText(config, folder) };
}

/** Right trajectories as demonstrations, in a new file of a folder that the user picks. Resolves with its path. */
async function exportRun(app: App, argument: unknown): Promise<string | undefined> {
  const [runFolder] = await runsOf(app, argument, undefined, COMMANDS.exportRun.title);
  if (runFolder === undefined) return undefined;
  const folder = answer(argument, 'to') ?? (await pickFolder('Export Here', COMMANDS.exportRun.title));
  if (folder === undefined) return undefined;
  const plain = join(folder, `${basename(runFolder)}-right.jsonl`);
  const file = existsSync(plain) ? freshPath(folder, `${basename(runFolder)}-right`, '.jsonl').path : plain;
  const title = `Exporting right trajectories of ${basename(runFolder)}`;
  const said = await askProgram(app, title, ['export', runFolder, '--sft', file]);
  if (said === undefined) return undefined;
  const open = async (): Promise<void> => {
    if ((await tell(said, 'Open')) === 'Open') await vscode.window.showTextDocument(vscode.Uri.file(file));
  };
  inBackground(app.log, 'Export', open());
  return file;
}

/** Two configurations as they were resolved, side by side in VS Code's own diff. */
async function diffConfigurations(app: App, argument: unknown, selected?: unknown): Promise<void> {
  const { title } = COMMANDS.diffConfigurations;
  const [left, second] = await runsOf(app, argument, selected, title);
  if (left === undefined) return;
  const right = second ?? (await pickRun(app, `${title} ${basename(left)}`, undefined, left));
  if (right === undefined) return;
  await vscode.commands.executeCommand(
    'vscode.diff',
    resolvedConfigUri(left),
    resolvedConfigUri(right),
    `${basename(left)} ↔ ${basename(right)}: configurations`,
  );
}

async function revealRunInExplorer(app: App, argument: unknown): Promise<void> {
  const [folder] = await foldersOf(app, argument, undefined, COMMANDS.revealRunInExplorer.title);
  if (folder === undefined) return;
  const uri = vscode.Uri.file(folder);
  if (vscode.workspace.getWorkspaceFolder(uri) === undefined)
    throw new FailureError({
      where: 'store',
      message: `${folder} is in no folder of this window.`,
      fix: 'Add its folder to the workspace, or copy its path.',
    });
  await vscode.commands.executeCommand('revealInExplorer', uri);
}

/** Remote machines have no trash; VS Code refuses to use one there. */
const hasTrash = (): boolean =>
  vscode.env.remoteName === undefined && vscode.env.uiKind === vscode.UIKind.Desktop;

/** Asks first. Throws where a worker owns one of the runs: it would go on writing into a folder that is gone. */
async function deleteRun(app: App, argument: unknown, selected?: unknown): Promise<void> {
  const folders = await runsOf(app, argument, selected, COMMANDS.deleteRun.title);
  const [first] = folders;
  if (first === undefined) return;
  for (const folder of folders) {
    refuseImported(app, folder);
    refuseLive(folder);
  }
  const what = folders.length === 1 ? basename(first) : `${folders.length} runs`;
  const useTrash = hasTrash();
  const isSure = await app.confirm(
    useTrash ? `Move ${what} to the trash?` : `Delete ${what} for good?`,
    `${folders.join('\n')}\n\nTrajectories, checkpoints and evaluations go with it. ${
      useTrash
        ? 'You can restore it from the trash.'
        : 'There is no trash on this machine: it cannot be restored.'
    }`,
    useTrash ? 'Move to Trash' : 'Delete',
  );
  if (!isSure) return;
  for (const folder of folders) {
    refuseLive(folder);
    await vscode.workspace.fs.delete(vscode.Uri.file(folder), { recursive: true, useTrash });
  }
  await app.runs.refresh();
}

/** What another program wrote may be all that there is of its training. */
function refuseImported({ runs }: App, runFolder: string): void {
  if (existsSync(join(runFolder, FILES.manifest))) return;
  const source = runs.get(runFolder)?.source ?? 'another program';
  throw new FailureError({
    where: 'store',
    message: `${runFolder} was written by ${source}, and is only shown here.`,
    fix: `“${COMMANDS.closeRollouts.title}” takes it out of the list.`,
  });
}

function refuseLive(runFolder: string): void {
  const lock = liveLock(runFolder);
  if (lock === undefined) return;
  throw new FailureError({
    where: 'store',
    message: `${basename(runFolder)} is live: process ${lock.pid} on ${lock.host} writes into it.`,
    fix: 'Stop the run, then delete it.',
  });
}

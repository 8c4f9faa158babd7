/** Every command of the extension in one table. Knows nothing of how its parts do what they are asked. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { FILES } from '../run/layout.ts';
import type { App } from './app.ts';
import { inBackground, showFailure } from './failures.ts';
import { CHECK_COMMANDS } from './checkCommands.ts';
import { COMPARE_COMMANDS } from './compareTrajectory.ts';
import { DIAGNOSIS_COMMANDS } from './diagnosisCommand.ts';
import { CATEGORY, commandId, COMMANDS, type CommandName, CONFIG_SUFFIX } from './names.ts';
import { newConfiguration } from './newConfigurationCommand.ts';
import {
  activeConfig,
  checkpointFolder,
  pickCheckpoint,
  pickConfig,
  pickPath,
  pickTree,
  runOf,
  saved,
} from './pickers.ts';
import { isRecord } from './places.ts';
import { accuracyOf } from './rows.ts';
import { RUN_COMMANDS } from './runCommands.ts';
import { RUN_LIST_COMMANDS } from './runListCommands.ts';
import { copySample } from './sample.ts';
import { targetOf } from './target.ts';
import { mustBeTrusted } from './trust.ts';
import { TRAJECTORY_COMMANDS } from './trajectoryCommands.ts';
import { ask, evaluate, launch, resumeEnded } from './workers.ts';

/** `selected`: all rows that are selected in a view, where the command was chosen there. */
type Handler = (app: App, argument: unknown, selected?: unknown) => Promise<unknown>;

const HANDLERS: Record<CommandName, Handler> = {
  newConfiguration: () => newConfiguration(),
  openSample: (app, argument) =>
    openSample(
      app,
      argument instanceof vscode.Uri ? argument.fsPath : join(app.context.globalStorageUri.fsPath, 'sample'),
    ),
  openSampleIn,
  launchRun,
  ...CHECK_COMMANDS,
  pauseRun: (app, argument) => request(app, argument, 'pause'),
  resumeRun,
  stopRun: (app, argument) => request(app, argument, 'stop'),
  async openDashboard(app, argument) {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.openDashboard.title);
    if (runFolder !== undefined) app.panels.show('dashboard', { runFolder });
  },
  async openTree(app, argument) {
    const target = targetOf(argument);
    const runFolder = await runOf(app, target, COMMANDS.openTree.title);
    const tree = runFolder === undefined ? undefined : (target.tree ?? (await pickTree(app, runFolder)));
    if (runFolder === undefined || tree === undefined) return;
    const { path, segment } = target;
    app.panels.show('tree', {
      runFolder,
      tree,
      ...(path !== undefined && { path }),
      ...(segment !== undefined && { segment }),
    });
  },
  async openTrajectory(app, argument) {
    const target = targetOf(argument);
    const runFolder = await runOf(app, target, COMMANDS.openTrajectory.title);
    const tree = runFolder === undefined ? undefined : (target.tree ?? (await pickTree(app, runFolder)));
    const path =
      runFolder === undefined || tree === undefined
        ? undefined
        : (target.path ?? (await pickPath(app, runFolder, tree)));
    if (runFolder !== undefined && tree !== undefined && path !== undefined)
      await app.trajectories.show({ runFolder, tree, path }, target.segment);
  },
  evaluateCheckpoint,
  ...TRAJECTORY_COMMANDS,
  ...COMPARE_COMMANDS,
  async openConfiguration(app, argument) {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.openConfiguration.title);
    if (runFolder === undefined) return;
    const written = join(runFolder, FILES.config);
    await vscode.window.showTextDocument(
      vscode.Uri.file(existsSync(written) ? written : join(runFolder, FILES.manifest)),
    );
  },
  ...DIAGNOSIS_COMMANDS,
  ...RUN_LIST_COMMANDS,
  ...RUN_COMMANDS,
  refreshRuns: ({ runs }) => runs.refresh(),
  showLog({ log }) {
    log.show();
    return Promise.resolve();
  },
};

/** A command that fails shows one message; what it resolves with goes to whoever ran it. */
export function registerCommands(app: App): vscode.Disposable {
  return vscode.Disposable.from(
    ...(Object.keys(HANDLERS) as CommandName[]).map(name =>
      vscode.commands.registerCommand(commandId(name), async (argument: unknown, selected: unknown) => {
        app.log.info(`${CATEGORY}: ${COMMANDS[name].title}`);
        try {
          return await HANDLERS[name](app, argument, selected);
        } catch (error) {
          inBackground(app.log, COMMANDS[name].title, showFailure(app.log, COMMANDS[name].title, error));
          return undefined;
        }
      }),
    ),
  );
}

/** Copies the sample, shows its configuration, and beside it the recorded run. */
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
  app.panels.show('dashboard', { runFolder: sample.recorded }, vscode.ViewColumn.Beside, true);
  await app.explorer.reveal(sample.recorded);
  return sample.folder;
}

async function openSampleIn(app: App, argument: unknown): Promise<unknown> {
  if (argument instanceof vscode.Uri) return openSample(app, argument.fsPath);
  const [parent] =
    (await vscode.window.showOpenDialog({
      canSelectFolders: true,
      canSelectFiles: false,
      openLabel: 'Put the Sample Here',
      title: 'Folder for the sample project',
    })) ?? [];
  return parent === undefined ? undefined : openSample(app, join(parent.fsPath, 'branchpoint-sample'));
}

async function launchRun(app: App, argument: unknown): Promise<string | undefined> {
  mustBeTrusted('A run');
  const config =
    argument instanceof vscode.Uri
      ? argument.fsPath
      : (activeConfig() ?? (await pickConfig(app, 'Configuration to launch')));
  if (config === undefined) return undefined;
  if (isRecord(config))
    throw new FailureError({
      where: 'config',
      message: `${config} is the record of a run’s configuration; its paths are those of the file that it was copied from.`,
      fix: 'Launch that file, or save a copy beside it.',
    });
  await saved(config);
  const name = basename(config, CONFIG_SUFFIX);
  const runFolder = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: `Launching ${name}` },
    async () => launch(await app.workerProgram(), config),
  );
  app.log.info(`${name} is launched in ${runFolder}.`);
  await app.places.remember('configs', config);
  await app.places.remember('runs', join(runFolder, '..'));
  await showRun(app, runFolder);
  return runFolder;
}

async function showRun(app: App, runFolder: string): Promise<void> {
  await app.runs.add(runFolder);
  app.panels.show('dashboard', { runFolder }, vscode.ViewColumn.Beside, true);
  await app.explorer.reveal(runFolder);
  // The list of watched folders may have grown.
  await app.runs.refresh();
}

/** Answered when the worker took the request; that it took effect is told by the run's facts. */
async function request(app: App, argument: unknown, verb: 'pause' | 'stop'): Promise<void> {
  const title = COMMANDS[`${verb}Run`].title;
  const runFolder = await runOf(
    app,
    targetOf(argument),
    title,
    verb === 'pause' ? ['running', 'starting'] : ['running', 'starting', 'paused'],
  );
  if (runFolder === undefined) return;
  await ask(runFolder, verb);
  vscode.window.setStatusBarMessage(
    `${basename(runFolder)} ${verb === 'pause' ? 'pauses' : 'stops'} after the step that it is in, with a checkpoint saved`,
    5000,
  );
}

async function resumeRun(app: App, argument: unknown): Promise<void> {
  const runFolder = await runOf(app, targetOf(argument), COMMANDS.resumeRun.title, [
    'paused',
    'stopped',
    'failed',
    'interrupted',
  ]);
  if (runFolder === undefined) return;
  await app.runs.add(runFolder);
  if (app.runs.get(runFolder)?.status === 'live') return ask(runFolder, 'resume');
  mustBeTrusted('A run');
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: `Resuming ${basename(runFolder)}` },
    async () => resumeEnded(await app.workerProgram(), runFolder),
  );
  await showRun(app, runFolder);
}

async function evaluateCheckpoint(app: App, argument: unknown): Promise<unknown> {
  mustBeTrusted('A run');
  const target = targetOf(argument);
  const runFolder = await runOf(app, target, COMMANDS.evaluateCheckpoint.title);
  const checkpoint =
    runFolder === undefined ? undefined : (target.checkpoint ?? (await pickCheckpoint(app, runFolder)));
  if (runFolder === undefined || checkpoint === undefined) return undefined;
  const name = `${basename(runFolder)} ${checkpoint}`;
  const measured = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: `Evaluating ${name} on the held-out tasks`,
      cancellable: true,
    },
    (_, token) => {
      const cancelled = new AbortController();
      token.onCancellationRequested(() => cancelled.abort());
      return evaluate(app.program(), checkpointFolder(runFolder, checkpoint), cancelled.signal);
    },
  );
  if (measured === undefined) return undefined;
  await app.runs.refresh();
  const said = `${name}: accuracy ${accuracyOf(measured)} on ${measured.tasks} tasks, ${measured.samples} samples each.`;
  app.log.info(said);
  inBackground(app.log, 'Evaluation', vscode.window.showInformationMessage(said));
  return measured;
}

/** The commands that start, pause, resume and stop runs. Knows nothing of how a worker is started or reached. */
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { inBackground } from './failures.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import { askedConfig, runOf, saved } from './pickers.ts';
import { configOfRun, isRecord } from './places.ts';
import { liveLine } from './rows.ts';
import { targetOf } from './target.ts';
import { mustBeTrusted } from './trust.ts';
import { ask, launch, resumeEnded } from './workers.ts';

/** How long the line that says what a run runs on is waited for, and shown. */
const STARTED_MS = 20_000;
const LINE_MS = 20_000;

export const CONTROL_COMMANDS = {
  launchRun,
  trainLive,
  pauseRun: (app: App, argument: unknown): Promise<void> => request(app, argument, 'pause'),
  resumeRun,
  stopRun: (app: App, argument: unknown): Promise<void> => request(app, argument, 'stop'),
};

async function launchRun(app: App, argument: unknown): Promise<string | undefined> {
  mustBeTrusted('A run');
  const config = await askedConfig(app, argument, 'Configuration to launch');
  return config === undefined ? undefined : launchConfig(app, config);
}

async function launchConfig(app: App, config: string): Promise<string> {
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

/** Trains the configuration of a run again, here and now; the sample's where no run is named. */
async function trainLive(app: App, argument: unknown): Promise<string | undefined> {
  mustBeTrusted('A run');
  const { runFolder: shown } = targetOf(argument);
  const config = shown === undefined ? await sampleConfig(app) : configOf(shown);
  if (config === undefined) return undefined;
  const runFolder = await launchConfig(app, config);
  inBackground(app.log, COMMANDS.trainLive.title, tellWhatItRunsOn(app, runFolder, shown));
  return runFolder;
}

function configOf(runFolder: string): string {
  const { configFile, name } = openRun(runFolder).manifest;
  const found = configOfRun(runFolder);
  if (found !== undefined) return found;
  throw new FailureError({
    where: 'config',
    message: `The configuration that ${name} was started from is not there any more${configFile === undefined ? '' : `: ${configFile}`}.`,
    fix: 'Open a configuration and launch that.',
  });
}

async function sampleConfig(app: App): Promise<string | undefined> {
  const folder = await vscode.commands.executeCommand<string | undefined>('branchpoint.openSample');
  if (folder === undefined) return undefined;
  return (await app.places.configs()).find(config => dirname(config) === folder);
}

/** Device, sandbox and minutes, as soon as the worker has told them; the pace is that of the run that was shown, until there is a step. */
async function tellWhatItRunsOn(app: App, runFolder: string, like: string | undefined): Promise<void> {
  const pace = like === undefined ? undefined : (await app.runs.state(like)).summaries;
  const end = Date.now() + STARTED_MS;
  for (
    let state = await app.runs.state(runFolder);
    Date.now() < end;
    state = await app.runs.state(runFolder)
  ) {
    if (state.run !== undefined)
      return void vscode.window.setStatusBarMessage(`$(pulse) ${liveLine(state, pace ?? [])}`, LINE_MS);
    await new Promise(resolve => setTimeout(resolve, 200));
  }
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

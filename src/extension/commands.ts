/** Every command of the extension in one table. Knows nothing of how its parts do what they are asked. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { FILES } from '../run/layout.ts';
import type { App } from './app.ts';
import { inBackground, showFailure } from './failures.ts';
import { BRANCH_COMMANDS } from './branchFromHere.ts';
import { CHECK_COMMANDS } from './checkCommands.ts';
import { COMPARE_CHECKPOINT_COMMANDS } from './compareCheckpoints.ts';
import { COMPARE_RUNS_COMMANDS } from './compareCommands.ts';
import { EVALUATION_COMMANDS } from './evaluationCommands.ts';
import { COMPARE_TRAJECTORIES_COMMANDS } from './compareTrajectory.ts';
import { CONTROL_COMMANDS } from './controlCommands.ts';
import { DIAGNOSIS_COMMANDS } from './diagnosisCommand.ts';
import { DRY_RUN_COMMANDS } from './dryRunCommand.ts';
import { CATEGORY, commandId, COMMANDS, type CommandName } from './names.ts';
import { GIT_COMMANDS } from './gitDiff.ts';
import { newConfiguration } from './newConfigurationCommand.ts';
import { pickPath, pickTree, runOf } from './pickers.ts';
import { RUN_COMMANDS } from './runCommands.ts';
import { IMPORT_COMMANDS } from './importCommands.ts';
import { RUN_LIST_COMMANDS } from './runListCommands.ts';
import { SAMPLE_COMMANDS } from './sampleCommands.ts';
import { REPLAY_COMMANDS } from './replayRollout.ts';
import { RESCORE_COMMANDS } from './rescoreRollouts.ts';
import { targetOf } from './target.ts';
import { BROWSE_COMMANDS } from './trajectoryBrowser.ts';
import { TRAJECTORY_COMMANDS } from './trajectoryCommands.ts';

/** `selected`: all rows that are selected in a view, where the command was chosen there. */
type Handler = (app: App, argument: unknown, selected?: unknown) => Promise<unknown>;

const HANDLERS: Record<CommandName, Handler> = {
  newConfiguration: () => newConfiguration(),
  ...SAMPLE_COMMANDS,
  ...CONTROL_COMMANDS,
  ...CHECK_COMMANDS,
  ...BRANCH_COMMANDS,
  ...REPLAY_COMMANDS,
  ...RESCORE_COMMANDS,
  ...DRY_RUN_COMMANDS,
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
  ...EVALUATION_COMMANDS,
  ...COMPARE_RUNS_COMMANDS,
  ...COMPARE_CHECKPOINT_COMMANDS,
  ...TRAJECTORY_COMMANDS,
  ...COMPARE_TRAJECTORIES_COMMANDS,
  ...BROWSE_COMMANDS,
  async openConfiguration(app, argument) {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.openConfiguration.title);
    if (runFolder === undefined) return;
    const written = join(runFolder, FILES.config);
    await vscode.window.showTextDocument(
      vscode.Uri.file(existsSync(written) ? written : join(runFolder, FILES.manifest)),
    );
  },
  ...GIT_COMMANDS,
  ...DIAGNOSIS_COMMANDS,
  ...RUN_LIST_COMMANDS,
  ...IMPORT_COMMANDS,
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

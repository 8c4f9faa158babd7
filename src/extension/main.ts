/** Puts the extension together. Nothing is read, watched or started before VS Code asks for one of its parts. */
import { join } from 'node:path';
import * as vscode from 'vscode';
import { readCounterfactuals } from '../run/counterfactuals.ts';
import { liveLock } from '../run/lock.ts';
import { hasGitDiff } from '../run/manifest.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { openChanges } from './changes.ts';
import { Checks } from './checks.ts';
import { registerCommands } from './commands.ts';
import { compareVerbs } from './comparePanel.ts';
import { ConfigDocuments } from './configDocuments.ts';
import { registerConfigFeatures } from './configFeatures.ts';
import { confirm } from './confirm.ts';
import { TokenDecorations } from './decorations.ts';
import { Drafts } from './drafts.ts';
import { DryRuns } from './dryRuns.ts';
import { evaluationOf } from './evaluationCommands.ts';
import { evaluationVerbs } from './evaluationPanel.ts';
import { Explorer } from './explorer.ts';
import { inBackground } from './failures.ts';
import { textsOf } from './linkedTexts.ts';
import { commandId, CONFIG_SUFFIX, RESCORED } from './names.ts';
import { ownProgram } from './ownProgram.ts';
import { registerLanguageTools } from './languageTools.ts';
import type { PanelSource } from './panels.ts';
import { Panels } from './panels.ts';
import { Places } from './places.ts';
import { registerSamples } from './evaluationSamples.ts';
import { registerResolvedConfigs } from './resolvedConfigs.ts';
import { Replays } from './replays.ts';
import { Runs } from './runs.ts';
import { setting } from './settings.ts';
import { StatusBar } from './statusBar.ts';
import { Trajectories } from './trajectories.ts';
import { registerTrajectoryBrowser } from './trajectoryBrowser.ts';
import { registerTrajectoryFeatures } from './trajectoryFeatures.ts';
import { rowOf } from './treeList.ts';
import { neighboursOf, treeOf, treeSource } from './treeSource.ts';

/** Workers are found by their run folders and outlive the window: deactivating ends none of them. */
export function activate(context: vscode.ExtensionContext): App {
  const log = vscode.window.createOutputChannel('Branchpoint', { log: true });
  const places = new Places(context.globalState);
  const runs = new Runs(places, log);
  const overlayChanged = new vscode.EventEmitter<void>();
  const replays = new Replays();
  const changes = openChanges();
  const trajectories = new Trajectories(treeSource(runs, replays, changes), log);
  const { program, workerProgram } = programsOf(context);
  const configs = new ConfigDocuments();
  const checks = new Checks(program, trajectories, path => configs.messages(path));
  const source = panelSource(runs, () => app);
  const app: App = {
    context,
    log,
    places,
    runs,
    explorer: new Explorer({ runs, checks, memory: context.workspaceState, log }),
    panels: new Panels(context.extensionUri, source, log),
    trajectories,
    decorations: new TokenDecorations(trajectories, overlayChanged.event, context.extensionUri, log),
    drafts: new Drafts(context.globalStorageUri, commandId('useDraft')),
    rescores: textsOf(RESCORED, 'rescoreRollouts'),
    replays,
    changes,
    statusBar: new StatusBar(runs),
    checks,
    configs,
    dryRuns: new DryRuns(context.workspaceState),
    confirm,
    program,
    workerProgram,
  };
  const refresh = (): void => inBackground(log, 'Looking for runs', runs.refresh());
  context.subscriptions.push(
    log,
    overlayChanged,
    watchWorkspace(refresh, () => overlayChanged.fire()),
    trajectories,
    app.checks,
    configs,
    registerConfigFeatures(app),
    registerTrajectoryFeatures(trajectories, overlayChanged.event, log),
    app.decorations,
    registerResolvedConfigs(),
    app.drafts,
    app.rescores,
    replays.texts,
    registerTrajectoryBrowser(context.extensionUri, log),
    app.statusBar,
    app.panels,
    app.explorer,
    runs,
    registerSamples(),
    registerCommands(app),
    registerLanguageTools(app),
  );
  refresh();
  return app;
}

/** The program as it is shipped, and the copy that workers run. */
function programsOf({
  extensionUri,
  globalStorageUri,
}: vscode.ExtensionContext): Pick<App, 'program' | 'workerProgram'> {
  const dist = vscode.Uri.joinPath(extensionUri, 'dist').fsPath;
  const runtime = (): string => setting('nodePath') || process.execPath;
  return {
    program: () => ({ script: join(dist, 'branchpoint.cjs'), runtime: runtime() }),
    workerProgram: async () => ({
      script: await ownProgram(dist, join(globalStorageUri.fsPath, 'program')),
      runtime: runtime(),
    }),
  };
}

/** Where runs are looked for, and how trajectories look, may change at any time. */
function watchWorkspace(refresh: () => void, redraw: () => void): vscode.Disposable {
  const configs = vscode.workspace.createFileSystemWatcher(`**/*${CONFIG_SUFFIX}`);
  return vscode.Disposable.from(
    configs,
    configs.onDidCreate(refresh),
    configs.onDidChange(refresh),
    configs.onDidDelete(refresh),
    vscode.workspace.onDidChangeWorkspaceFolders(refresh),
    vscode.workspace.onDidChangeConfiguration(change => {
      if (change.affectsConfiguration('branchpoint.runsFolders')) refresh();
      if (change.affectsConfiguration('branchpoint.trajectory')) redraw();
    }),
  );
}

function panelSource(runs: Runs, app: () => App): PanelSource {
  return {
    follow: (runFolder, taker, headlines) => runs.follow(runFolder, taker, headlines),
    neighbours: (runFolder, id) => neighboursOf(runs, runFolder, id),
    async rows(runFolder, step) {
      const entries = await openRun(runFolder).trees();
      return entries.filter(entry => entry.step === step).map(rowOf);
    },
    async grown(runFolder, step) {
      const run = openRun(runFolder);
      const entries = (await run.trees()).filter(entry => entry.step === step);
      return Promise.all(
        entries.map(async ({ id }) => ({ tree: await run.tree(id), columns: await run.columns(id) })),
      );
    },
    counterfactuals: readCounterfactuals,
    check: runFolder => void openRun(runFolder),
    hasGitDiff,
    isLive: runFolder => liveLock(runFolder) !== undefined,
    onDidChange: runs.onDidChange,
    verbs: held => ({
      ...evaluationVerbs(held, () => evaluationOf(app(), {}, 'Evaluation to set it against')),
      ...compareVerbs(held),
    }),
    tree: async (runFolder, id) => (await treeOf(runs, runFolder, id)).tree,
  };
}

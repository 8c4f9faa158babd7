/** The editor of trees.jsonl: lists its trees, looks through them, and opens what is chosen. Knows nothing of how a view draws them. */
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import * as vscode from 'vscode';
import { toolTags } from '../core/configToolRules.ts';
import { connect, type Port, serve, toFailure } from '../protocol/channel.ts';
import type { TrajectoriesHostVerbs, TrajectoriesViewVerbs } from '../protocol/verbs.ts';
import { FILES } from '../run/layout.ts';
import { openRun, type Run } from '../run/reader.ts';
import type { App } from './app.ts';
import { inFull, type Log } from './failures.ts';
import { BROWSER, commandId, COMMANDS, type CommandName } from './names.ts';
import { portOf, showPage } from './page.ts';
import { runOf } from './pickers.ts';
import { type Target, targetOf } from './target.ts';
import { TreeList } from './treeList.ts';

/** A file that grows is looked at again at most as often. */
const QUIET_MS = 500;

export const BROWSE_COMMANDS = {
  async browseTrajectories(app, argument) {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.browseTrajectories.title);
    if (runFolder !== undefined)
      await vscode.commands.executeCommand(
        'vscode.openWith',
        vscode.Uri.joinPath(vscode.Uri.file(runFolder), FILES.trees),
        BROWSER,
      );
  },
} satisfies Partial<Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>>;

export function registerTrajectoryBrowser(extension: vscode.Uri, log: Log): vscode.Disposable {
  return vscode.window.registerCustomEditorProvider(
    BROWSER,
    {
      openCustomDocument: uri => ({ uri, dispose: () => undefined }),
      resolveCustomEditor(document, panel) {
        const port = portOf(panel.webview, log);
        const session = browse(document.uri, port);
        const stopServing = serve<TrajectoriesHostVerbs>(port, session.verbs);
        panel.onDidChangeViewState(() => {
          // A hidden view is thrown away by the window: nobody waits for what is read or looked for.
          if (!panel.visible) session.close();
        });
        panel.onDidDispose(() => {
          stopServing();
          session.close();
        });
        const title = `Trajectories of ${basename(dirname(document.uri.fsPath))}`;
        void showPage(panel, extension, { view: 'trajectories', title, log });
      },
    },
    { supportsMultipleEditorsPerDocument: true },
  );
}

interface Session {
  verbs: Parameters<typeof serve<TrajectoriesHostVerbs>>[1];
  close(): void;
}

/** What one editor asks; a view that is shown again begins again with `ready`. */
function browse(uri: vscode.Uri, port: Port): Session {
  const runFolder = dirname(uri.fsPath);
  let shown: { run: Run; list: TreeList; end(): void } | undefined;
  const list = (): TreeList => shownNow().list;
  const shownNow = (): NonNullable<typeof shown> => {
    if (shown === undefined) throw new Error('The view has not begun.');
    return shown;
  };
  const close = (): void => {
    shown?.end();
    shown = undefined;
  };
  const run = (name: CommandName, target: Target): Thenable<unknown> =>
    vscode.commands.executeCommand(commandId(name), { ...target, runFolder });
  const segmentOf = (segment?: number): Target => (segment === undefined ? {} : { segment });
  return {
    close,
    verbs: {
      ready() {
        close();
        shown = begin(openRun(runFolder), uri, port);
        const { config } = shown.run.manifest;
        return { runFolder, name: basename(runFolder), tools: toolTags(config) };
      },
      find: query => {
        const searched = list();
        searched.find(query).catch((error: unknown) => fail(searched, error));
      },
      stopFinding: () => list().stopFinding(),
      rows: (from, count) => list().rows(from, count),
      tree: id => shownNow().run.tree(id),
      openTree: async (tree, path, segment) =>
        void (await run('openTree', { tree, path, ...segmentOf(segment) })),
      openTrajectory: async (tree, path, segment) =>
        void (await run('openTrajectory', { tree, path, ...segmentOf(segment) })),
      compare: async (tree, path) => void (await run('compareTrajectory', { tree, path })),
      openPlainText: async () =>
        void (await vscode.commands.executeCommand('vscode.openWith', uri, 'default')),
    },
  };
}

function begin(run: Run, uri: vscode.Uri, port: Port): { run: Run; list: TreeList; end(): void } {
  const { remote: view, close } = connect<TrajectoriesViewVerbs>(port);
  const list = new TreeList(run, (listing, isNew) => view.listed(listing, isNew));
  let isOpen = true;
  let reading = Promise.resolve();
  const read = (): void => {
    reading = reading
      .then(() => (isOpen ? list.read(sizeOf(uri.fsPath)) : undefined))
      .catch((error: unknown) => {
        if (isOpen) fail(list, error);
      });
  };
  let timer: NodeJS.Timeout | undefined;
  const watcher = vscode.workspace.createFileSystemWatcher(
    new vscode.RelativePattern(vscode.Uri.file(run.folder), FILES.trees),
  );
  const changed = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      read();
    }, QUIET_MS);
  };
  const watching = vscode.Disposable.from(
    watcher,
    watcher.onDidChange(changed),
    watcher.onDidCreate(changed),
  );
  // The answer to `ready` goes out before the list.
  setImmediate(read);
  return {
    run,
    list,
    end() {
      isOpen = false;
      clearTimeout(timer);
      watching.dispose();
      list.close();
      close('The view was closed.');
    },
  };
}

const fail = (list: TreeList, error: unknown): void => list.fail(inFull(toFailure(error)));

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

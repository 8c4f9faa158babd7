/** Outcomes of other rewards as documents, with links to the trees and trajectories that they speak of. Knows nothing of how they came about. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Rescored } from '../core/rescore.ts';
import { commandId, COMMANDS, RESCORED } from './names.ts';
import { layOutRescored, type Link, type RescoredText } from './rescoreText.ts';

/** Outcomes as read-only documents with links to trees and trajectories; one per run, the last of its outcomes. */
export class Rescores implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #shown = new Map<string, RescoredText & { runFolder: string }>();
  readonly #subscriptions = vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(RESCORED, this),
    vscode.languages.registerDocumentLinkProvider({ scheme: RESCORED }, this),
    this.#changed,
  );

  async show(runFolder: string, rescored: Rescored): Promise<vscode.TextEditor> {
    const run = basename(runFolder);
    const uri = vscode.Uri.from({ scheme: RESCORED, path: `/${run}/${run} re-scored`, query: runFolder });
    this.#shown.set(uri.toString(), { ...layOutRescored(run, rescored), runFolder });
    this.#changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    // One line a group, until the reader wants its trajectories.
    await vscode.commands.executeCommand('editor.foldAll');
    return editor;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const known = this.#shown.get(uri.toString());
    return (
      known?.text ??
      `This window no longer knows the outcome. Choose “${COMMANDS.rescoreRollouts.title}” again.\n`
    );
  }

  provideDocumentLinks({ uri }: vscode.TextDocument): vscode.DocumentLink[] {
    const known = this.#shown.get(uri.toString());
    return (known?.links ?? []).map(link => {
      const place = new vscode.Range(link.line, link.start, link.line, link.end);
      const opened = new vscode.DocumentLink(place, commandUri(known!.runFolder, link));
      opened.tooltip = link.path === undefined ? `Open tree ${link.tree}` : `Open the trajectory as text`;
      return opened;
    });
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}

function commandUri(runFolder: string, { tree, path }: Link): vscode.Uri {
  const command = commandId(path === undefined ? 'openTree' : 'openTrajectory');
  const argument = encodeURIComponent(JSON.stringify([{ runFolder, tree, path }]));
  return vscode.Uri.parse(`command:${command}?${argument}`);
}

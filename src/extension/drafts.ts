/** Texts that a command asks the user to edit first, in an editor of their own; a lens, or a button, goes on with them. Knows nothing of what is done with one. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';

/** What becomes of a draft. */
export interface DraftUse {
  /** The lens: what it does. */
  title: string;
  /** The line above which it stands, from 0, the first where none is given: there it is out of sight where it comes late. */
  line?: number;
  /** Given the path of the saved file. */
  use(file: string): Promise<unknown>;
}

/** Names the editors of drafts in `when` clauses. */
const CONTEXT = 'branchpoint.drafts';

/** Drafts are files of the extension's own, so that closing one asks nothing. */
export class Drafts implements vscode.Disposable {
  readonly #folder: string;
  readonly #command: string;
  readonly #uses = new Map<string, DraftUse>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #provider: vscode.Disposable;

  /** `command` is the one that goes on with the draft in the active editor. */
  constructor(storage: vscode.Uri, command: string) {
    this.#folder = join(storage.fsPath, 'drafts');
    this.#command = command;
    this.#provider = vscode.languages.registerCodeLensProvider(
      { scheme: 'file', pattern: new vscode.RelativePattern(this.#folder, '*') },
      {
        onDidChangeCodeLenses: this.#changed.event,
        provideCodeLenses: ({ uri }) => this.#lenses(uri),
      },
    );
  }

  /** Shows a file of that name with the text, beside what the user is looking at. */
  async open(name: string, text: string, use: DraftUse): Promise<vscode.TextEditor> {
    await mkdir(this.#folder, { recursive: true });
    const uri = vscode.Uri.file(this.#pathFor(name.replaceAll(/[^\w.~-]+/g, '-')));
    await writeFile(uri.fsPath, text);
    this.#uses.set(uri.fsPath, use);
    await vscode.commands.executeCommand('setContext', CONTEXT, [...this.#uses.keys()]);
    this.#changed.fire();
    const { activeTabGroup } = vscode.window.tabGroups;
    return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), {
      // Beside an empty group it would leave half of the window empty.
      viewColumn: activeTabGroup.tabs.length === 0 ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside,
      preview: false,
    });
  }

  /** A draft that the user is editing is left to him: another of its name gets a number. */
  #pathFor(name: string): string {
    const { name: stem, ext } = parse(name);
    for (let number = 1; ; number++) {
      const path = join(this.#folder, number === 1 ? name : `${stem}-${number}${ext}`);
      const isEdited = ({ isDirty, uri }: vscode.TextDocument): boolean => isDirty && uri.fsPath === path;
      if (!vscode.workspace.textDocuments.some(isEdited)) return path;
    }
  }

  /** Saves the draft and goes on with it; the active editor's where none is named. */
  async use(named?: vscode.Uri): Promise<unknown> {
    const uri = named ?? vscode.window.activeTextEditor?.document.uri;
    const use = uri && this.#uses.get(uri.fsPath);
    if (uri === undefined || use === undefined)
      throw new FailureError({
        where: 'config',
        message: 'The active editor holds no text that a command waits for.',
        fix: 'Choose the command again that asked for it.',
      });
    const document = await vscode.workspace.openTextDocument(uri);
    // A save by the editor itself may have come first, and then there is nothing left to save.
    if (document.isDirty && !(await document.save()) && document.isDirty)
      throw new FailureError({ where: 'store', message: `${uri.fsPath} could not be saved.` });
    return use.use(uri.fsPath);
  }

  #lenses(uri: vscode.Uri): vscode.CodeLens[] {
    const use = this.#uses.get(uri.fsPath);
    if (use === undefined) return [];
    const command = { title: `$(play) ${use.title}`, command: this.#command, arguments: [uri] };
    const { line = 0 } = use;
    return [new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command)];
  }

  dispose(): void {
    this.#provider.dispose();
    this.#changed.dispose();
  }
}

/** Read-only documents whose words are links that run commands; what they say lives as long as the window. Knows nothing of what it is about. */
import * as vscode from 'vscode';
import { commandId, COMMANDS, type CommandName } from './names.ts';

export interface LinkedText {
  text: string;
  links: Link[];
}

/** A stretch of a line that runs a command. */
export interface Link {
  line: number;
  start: number;
  end: number;
  command: CommandName;
  argument: object;
  tooltip: string;
}

export class LinkedTexts implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider {
  readonly #scheme: string;
  readonly #forgotten: string;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #shown = new Map<string, LinkedText>();
  readonly #subscriptions: vscode.Disposable;

  /** `forgotten` is read where the window was loaded again. */
  constructor(scheme: string, forgotten: string) {
    this.#scheme = scheme;
    this.#forgotten = forgotten;
    this.#subscriptions = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.languages.registerDocumentLinkProvider({ scheme }, this),
      this.#changed,
    );
  }

  /**
   * The path is for people, its end is the editor's title; a text of the same place takes the place of the one before. Settles when the
   * editor has it, so that what is then done to the text is done to this one.
   */
  async show(place: { path: string; query: string }, shown: LinkedText): Promise<vscode.TextEditor> {
    const uri = vscode.Uri.from({ scheme: this.#scheme, ...place });
    this.#shown.set(uri.toString(), shown);
    this.#changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await becomes(document, shown.text);
    return vscode.window.showTextDocument(document, { preview: false });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#shown.get(uri.toString())?.text ?? this.#forgotten;
  }

  provideDocumentLinks({ uri }: vscode.TextDocument): vscode.DocumentLink[] {
    return (this.#shown.get(uri.toString())?.links ?? []).map(
      ({ line, start, end, command, argument, tooltip }) => {
        const target = vscode.Uri.parse(
          `command:${commandId(command)}?${encodeURIComponent(JSON.stringify([argument]))}`,
        );
        const opened = new vscode.DocumentLink(new vscode.Range(line, start, line, end), target);
        opened.tooltip = tooltip;
        return opened;
      },
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}

/** An open document is given its new text some time after it was told that there is one; one that is closed meanwhile never is. */
function becomes(document: vscode.TextDocument, text: string): Promise<void> {
  const isThere = (): boolean => document.isClosed || inLines(document.getText()) === inLines(text);
  return new Promise(resolve => {
    const look = (): void => {
      if (!isThere()) return;
      looking.dispose();
      resolve();
    };
    const looking = vscode.Disposable.from(
      vscode.workspace.onDidChangeTextDocument(look),
      vscode.workspace.onDidCloseTextDocument(look),
    );
    look();
  });
}

/** An editor has one kind of line break. */
const inLines = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

/** Outcomes of a command. */
export const textsOf = (scheme: string, command: CommandName): LinkedTexts =>
  new LinkedTexts(
    scheme,
    `This window no longer knows the outcome. Choose “${COMMANDS[command].title}” again.\n`,
  );

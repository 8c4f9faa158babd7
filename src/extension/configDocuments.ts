/** Examines configurations while they are typed and publishes what is wrong as Problems. Starts nothing; knows nothing of fixes or hints. */
import * as vscode from 'vscode';
import type { LocatedProblem } from '../run/configFile.ts';
import { examineConfig, type ExaminedConfig } from '../run/configProblems.ts';
import { CATEGORY, CONFIG_SUFFIX } from './names.ts';
import { isRecord } from './places.ts';

/** Between the last key and the look at the text. */
const PAUSE_MS = 150;

export const CONFIG_SELECTOR: vscode.DocumentSelector = { scheme: 'file', pattern: `**/*${CONFIG_SUFFIX}` };

/** VS Code’s own JSON support tells these already. */
const TOLD_BY_JSON: ReadonlySet<LocatedProblem['code']> = new Set(['not-json', 'repeated-key']);

/** True for what is launched from; a run’s record of its configuration has paths that are none from where it lies. */
export const isConfig = ({ uri }: vscode.TextDocument): boolean =>
  uri.scheme === 'file' && uri.fsPath.endsWith(CONFIG_SUFFIX) && !isRecord(uri.fsPath);

export class ConfigDocuments implements vscode.Disposable {
  readonly #problems = vscode.languages.createDiagnosticCollection('branchpoint');
  readonly #examined = new WeakMap<vscode.TextDocument, { version: number; found: ExaminedConfig }>();
  readonly #timers = new Map<vscode.TextDocument, NodeJS.Timeout>();
  readonly #subscriptions: vscode.Disposable[];

  constructor() {
    this.#subscriptions = [
      vscode.workspace.onDidOpenTextDocument(document => this.#publish(document)),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && isConfig(document)) this.#later(document);
      }),
      // Files that it names may have come or gone since.
      vscode.workspace.onDidSaveTextDocument(document => this.#again(document)),
      vscode.window.onDidChangeActiveTextEditor(editor => {
        if (editor !== undefined) this.#again(editor.document);
      }),
      vscode.workspace.onDidCloseTextDocument(document => {
        clearTimeout(this.#timers.get(document));
        this.#timers.delete(document);
        this.#problems.delete(document.uri);
      }),
    ];
    for (const document of vscode.workspace.textDocuments) this.#publish(document);
  }

  /** What is known of the text as it is now. */
  examined(document: vscode.TextDocument): ExaminedConfig {
    const known = this.#examined.get(document);
    if (known?.version === document.version) return known.found;
    const found = examineConfig(document.getText(), document.uri.fsPath);
    this.#examined.set(document, { version: document.version, found });
    return found;
  }

  /** What is told of an open configuration, so that nobody else tells it again. */
  messages(path: string): readonly string[] {
    const open = vscode.workspace.textDocuments.find(
      document => isConfig(document) && document.uri.fsPath === path,
    );
    return open === undefined ? [] : this.examined(open).problems.map(({ message }) => message);
  }

  #later(document: vscode.TextDocument): void {
    clearTimeout(this.#timers.get(document));
    this.#timers.set(
      document,
      setTimeout(() => {
        this.#timers.delete(document);
        if (!document.isClosed) this.#publish(document);
      }, PAUSE_MS),
    );
  }

  #again(document: vscode.TextDocument): void {
    this.#examined.delete(document);
    this.#publish(document);
  }

  #publish(document: vscode.TextDocument): void {
    if (!isConfig(document)) return;
    const { problems } = this.examined(document);
    this.#problems.set(
      document.uri,
      problems.filter(({ code }) => !TOLD_BY_JSON.has(code)).map(problem => diagnosticOf(document, problem)),
    );
  }

  dispose(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    vscode.Disposable.from(...this.#subscriptions, this.#problems).dispose();
  }
}

export const rangeOf = (
  document: vscode.TextDocument,
  { offset, length }: Pick<LocatedProblem, 'offset' | 'length'>,
): vscode.Range => new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));

function diagnosticOf(document: vscode.TextDocument, problem: LocatedProblem): vscode.Diagnostic {
  const found = new vscode.Diagnostic(
    rangeOf(document, problem),
    sentenceOf(problem),
    vscode.DiagnosticSeverity.Error,
  );
  found.source = CATEGORY;
  found.code = problem.code;
  return found;
}

/** Sentences that begin with a verb are about their key. */
const sentenceOf = ({ key, message, fix }: LocatedProblem): string =>
  `${/^[a-z]/.test(message) && key !== '' ? `${key} ` : ''}${message} ${fix}`;

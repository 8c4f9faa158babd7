/** Runs the program's checks of runs and configurations, keeps what they found and publishes it as Problems. Knows nothing of how things are checked. */
import * as vscode from 'vscode';
import type { CheckResult } from '../core/checkup.ts';
import { inFull } from './failures.ts';
import { readCheckup } from './checkPlace.ts';
import { locate, type CheckLocation } from './checkLocation.ts';
import { CATEGORY } from './names.ts';
import type { Trajectories } from './trajectories.ts';
import { failureOf, runProgram, type Program } from './workers.ts';

/** One result of a subject's check: what is shown of it is asked for with both. */
export interface ShownCheck {
  subject: string;
  result: CheckResult;
}

export interface CheckOptions {
  /** Leaves out what opens the policy: no trees are grown. */
  quick?: boolean;
  signal?: AbortSignal;
}

/** What a subject's last check found, and where; a new one ends the one before it. */
interface Known {
  results?: readonly CheckResult[];
  locations: readonly CheckLocation[];
  running?: { abort: AbortController; ended: Promise<readonly CheckResult[]> };
}

const SEVERITIES: Readonly<Record<CheckResult['status'], vscode.DiagnosticSeverity>> = {
  ok: vscode.DiagnosticSeverity.Information,
  warning: vscode.DiagnosticSeverity.Warning,
  error: vscode.DiagnosticSeverity.Error,
};

/** A subject is a run's folder or a configuration's path. */
export class Checks implements vscode.Disposable {
  readonly #program: () => Program;
  readonly #trajectories: Trajectories;
  readonly #told: (subject: string) => readonly string[];
  readonly #known = new Map<string, Known>();
  readonly #problems = vscode.languages.createDiagnosticCollection('branchpoint-checks');
  readonly #changed = new vscode.EventEmitter<string>();
  readonly #documents: vscode.Disposable[];
  /** The subject whose check began, ended or became stale. */
  readonly onDidChange = this.#changed.event;

  /** `told` gives the messages that somebody else shows of a subject: those are not shown a second time. */
  constructor(
    program: () => Program,
    trajectories: Trajectories,
    told: (subject: string) => readonly string[],
  ) {
    this.#program = program;
    this.#trajectories = trajectories;
    this.#told = told;
    const publish = ({ uri }: vscode.TextDocument): void => {
      if (this.#known.has(uri.fsPath)) this.#publish();
    };
    this.#documents = [
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.#forgetAbout(document.uri);
      }),
      vscode.workspace.onDidOpenTextDocument(publish),
      vscode.workspace.onDidCloseTextDocument(publish),
    ];
  }

  /** What the last check found, in its order; undefined where there was none or the file was edited since. */
  results(subject: string): readonly CheckResult[] | 'running' | undefined {
    const known = this.#known.get(subject);
    return known?.running === undefined ? known?.results : 'running';
  }

  /**
   * Checks a subject; one that is being checked is begun again. Where the signal ends it, resolves with what was known
   * before. Rejects with a FailureError where the program cannot check.
   */
  check(subject: string, options: CheckOptions = {}): Promise<readonly CheckResult[]> {
    const before = this.#known.get(subject) ?? { locations: [] };
    before.running?.abort.abort();
    const abort = new AbortController();
    const ended = this.#run(subject, options, abort.signal).then(
      found => {
        const now = this.#known.get(subject);
        // The window closes.
        if (now === undefined) return found?.results ?? [];
        const { running: next, ...kept } = now;
        // One that was begun meanwhile answers for both.
        if (next !== undefined && next.abort !== abort) return next.ended;
        this.#end(subject, found ?? kept);
        return found?.results ?? kept.results ?? [];
      },
      (error: unknown) => {
        if (this.#known.get(subject)?.running?.abort === abort) this.#end(subject, { locations: [] });
        throw error;
      },
    );
    this.#known.set(subject, { ...before, running: { abort, ended } });
    options.signal?.addEventListener('abort', () => abort.abort(), { once: true });
    this.#changed.fire(subject);
    return ended;
  }

  /** Opens the exact token, line or key that a result is about. */
  async show(subject: string, result: CheckResult): Promise<void> {
    const { uri, range } = await locate(subject, result, this.#trajectories);
    const editor = await vscode.window.showTextDocument(uri, { selection: range });
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** What was found, and where; undefined where the signal ended it, also while places were looked for. */
  async #run(
    subject: string,
    { quick = false }: CheckOptions,
    signal: AbortSignal,
  ): Promise<Required<Pick<Known, 'results' | 'locations'>> | undefined> {
    const args = ['check', subject, '--json', ...(quick ? ['--quick'] : [])];
    const outcome = await runProgram(this.#program(), args, signal);
    if (signal.aborted) return undefined;
    const results = readCheckup(outcome.out);
    if (results === undefined) throw failureOf(outcome);
    const locations = await this.#locate(subject, results);
    return signal.aborted ? undefined : { results, locations };
  }

  #locate(subject: string, results: readonly CheckResult[]): Promise<CheckLocation[]> {
    const found = results.filter(({ status }) => status !== 'ok');
    return Promise.all(found.map(result => locate(subject, result, this.#trajectories)));
  }

  #end(subject: string, known: Known): void {
    this.#known.set(subject, known);
    this.#publish();
    this.#changed.fire(subject);
  }

  /** Results about a text that was edited are no longer true, and their ranges no longer right. */
  #forgetAbout(uri: vscode.Uri): void {
    for (const [subject, { results, locations, running }] of this.#known) {
      const isSubject = vscode.Uri.file(subject).toString() === uri.toString();
      if (isSubject) running?.abort.abort();
      if (!isSubject && !locations.some(location => location.uri.toString() === uri.toString())) continue;
      if (running === undefined) this.#known.delete(subject);
      else this.#known.set(subject, { locations: [], running });
      if (results !== undefined) this.#publish();
      this.#changed.fire(subject);
    }
  }

  #publish(): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const [subject, { locations }] of this.#known) {
      const told = this.#told(subject);
      for (const location of locations) {
        if (told.some(message => location.result.message.includes(message))) continue;
        const key = location.uri.toString();
        byFile.set(key, [...(byFile.get(key) ?? []), problemOf(location)]);
      }
    }
    this.#problems.clear();
    for (const [uri, problems] of byFile) this.#problems.set(vscode.Uri.parse(uri), problems);
  }

  dispose(): void {
    for (const { running } of this.#known.values()) running?.abort.abort();
    this.#known.clear();
    vscode.Disposable.from(...this.#documents, this.#problems, this.#changed).dispose();
  }
}

function problemOf({ result, range }: CheckLocation): vscode.Diagnostic {
  const problem = new vscode.Diagnostic(
    range,
    inFull({ where: 'config', ...result }),
    SEVERITIES[result.status],
  );
  problem.source = CATEGORY;
  problem.code = result.id;
  return problem;
}

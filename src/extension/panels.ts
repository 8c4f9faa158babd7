/** Webview panels: one dashboard per run, one per rollout tree, evaluation and set of compared runs; they come back after a reload. Knows nothing of what they draw. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Event } from '../core/events.ts';
import { extremes } from '../core/extremes.ts';
import type { Neighbours } from '../core/neighbours.ts';
import { packSteps } from '../core/stepColumns.ts';
import type { Grown } from '../core/tree.ts';
import type { Tree } from '../core/types.ts';
import type { Port, Remote } from '../protocol/channel.ts';
import type { Handlers } from '../protocol/channel.ts';
import { connect, serve, toFailure } from '../protocol/channel.ts';
import type {
  CompareVerbs,
  EvaluationVerbs,
  HostVerbs,
  TreePath,
  TreeRow,
  ViewSubject,
  ViewVerbs,
} from '../protocol/verbs.ts';
import { foldersOf } from './comparePanel.ts';
import type { Held } from './evaluationPanel.ts';
import type { Log } from './failures.ts';
import { inBackground, inFull } from './failures.ts';
import { type CommandName, commandId, PANELS, type ViewKind } from './names.ts';
import { portOf, showPage } from './page.ts';
import type { Pump } from './pump.ts';
import { headlines, makePump, settled, summed } from './pump.ts';
import { type Target, targetOf } from './target.ts';

/** Where the panels' facts and trees come from. */
export interface PanelSource {
  /**
   * Gives all facts so far, then new ones as they come; `restarted` where the journal was replaced. For `headlines` how trees grew in
   * finished steps may be left out.
   */
  follow(
    runFolder: string,
    taker: { facts(events: readonly Event[]): void; restarted(events: readonly Event[]): void },
    headlines: boolean,
  ): vscode.Disposable;
  /** Also trees that still grow. */
  tree(runFolder: string, id: string): Promise<Tree>;
  /** The trees around one; also those that still grow. */
  neighbours(runFolder: string, id: string): Promise<Neighbours>;
  /** The trees of a step as a list shows them. */
  rows(runFolder: string, step: number): Promise<TreeRow[]>;
  /** The trees of a step with their tokens' numbers. */
  grown(runFolder: string, step: number): Promise<Grown[]>;
  counterfactuals(runFolder: string, tree: string): ReturnType<HostVerbs['counterfactuals']>;
  /** Throws a FailureError, which the view then shows, where the folder is no run that can be read. */
  check(runFolder: string): void;
  hasGitDiff(runFolder: string): boolean;
  /** Whether a worker owns the run. */
  isLive(runFolder: string): boolean;
  /** What the views of evaluations and comparisons are answered. */
  verbs(held: Held): Handlers<EvaluationVerbs & CompareVerbs>;
  /** Something about a run changed, perhaps whether it is live. */
  readonly onDidChange: vscode.Event<unknown>;
}

const COMMANDS: Record<Parameters<HostVerbs['runCommand']>[0], CommandName> = {
  pause: 'pauseRun',
  resume: 'resumeRun',
  stop: 'stopRun',
  openConfig: 'openConfiguration',
  gitDiff: 'openGitDiff',
  evaluate: 'evaluateCheckpoint',
  diagnosis: 'collectDiagnosis',
  trainLive: 'trainLive',
};

interface OpenPanel {
  kind: ViewKind;
  panel: vscode.WebviewPanel;
  subject: ViewSubject;
  /** Settles when the page has begun for the first time, or is closed. */
  begun: Promise<void>;
  /** What runs while the view is shown and has asked for its facts. */
  session?: Session;
}

/** Which runs a view follows, which of their facts it folds, and whether these are headlines: then it takes those of many steps in columns. */
const FOLLOWED: Record<
  ViewKind,
  {
    runs(subject: ViewSubject): readonly string[];
    facts(events: readonly Event[]): Event[];
    isBrief?: boolean;
  }
> = {
  dashboard: { runs: ({ runFolder }) => [runFolder], facts: headlines, isBrief: true },
  tree: { runs: ({ runFolder }) => [runFolder], facts: settled },
  evaluation: { runs: () => [], facts: settled },
  compare: { runs: foldersOf, facts: summed, isBrief: true },
};

interface Session {
  view: Remote<ViewVerbs>;
  /** What the view was told, by run. */
  lives: readonly boolean[];
  end(reason: string): void;
}

export class Panels implements vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #source: PanelSource;
  readonly #log: Log;
  readonly #open = new Set<OpenPanel>();
  readonly #subscriptions: vscode.Disposable[];

  constructor(extension: vscode.Uri, source: PanelSource, log: Log) {
    this.#extension = extension;
    this.#source = source;
    this.#log = log;
    this.#subscriptions = [source.onDidChange(() => this.#tellLives()), ...this.#restore()];
  }

  #restore(): vscode.Disposable[] {
    return (Object.keys(PANELS) as ViewKind[]).map(kind =>
      vscode.window.registerWebviewPanelSerializer(PANELS[kind], {
        // eslint-disable-next-line @typescript-eslint/require-await -- the interface asks for a promise
        deserializeWebviewPanel: async (panel, state: unknown) => {
          const subject = targetOf(state);
          if (subject.runFolder === undefined) panel.dispose();
          else this.#adopt(kind, panel, { ...subject, runFolder: subject.runFolder });
        },
      }),
    );
  }

  /** Shows the view of a subject: the panel that is open already, or a new one. */
  show(
    kind: ViewKind,
    subject: ViewSubject,
    column: vscode.ViewColumn = vscode.ViewColumn.Active,
    preserveFocus = false,
  ): void {
    const known = this.#panelOf(kind, subject);
    if (known === undefined) {
      const panel = vscode.window.createWebviewPanel(PANELS[kind], titleOf(kind, subject), {
        viewColumn: column,
        preserveFocus,
      });
      this.#adopt(kind, panel, subject);
      return;
    }
    known.subject = subject;
    known.panel.reveal(undefined, preserveFocus);
    const { session } = known;
    if (session !== undefined)
      inBackground(this.#log, 'View', session.view.show({ ...subject, isLive: session.lives[0] === true }));
  }

  /**
   * Settles when the page of a view has begun, or is closed. Whoever shows two views at once waits for the first: a window that
   * loads its first two pages together may leave one of them blank.
   */
  async begun(kind: ViewKind, subject: ViewSubject): Promise<void> {
    await this.#panelOf(kind, subject)?.begun;
  }

  #panelOf(kind: ViewKind, subject: ViewSubject): OpenPanel | undefined {
    return [...this.#open].find(opened => keyOf(opened.kind, opened.subject) === keyOf(kind, subject));
  }

  /** What is open, for tests and for the explorer's selection. */
  get subjects(): { kind: ViewKind; subject: ViewSubject }[] {
    return Array.from(this.#open, ({ kind, subject }) => ({ kind, subject }));
  }

  /** The run of the view that the user is in. */
  get activeRun(): string | undefined {
    return [...this.#open].find(({ panel }) => panel.active)?.subject.runFolder;
  }

  #adopt(kind: ViewKind, panel: vscode.WebviewPanel, subject: ViewSubject): void {
    panel.title = titleOf(kind, subject);
    const begun = showPage(panel, this.#extension, { view: kind, title: panel.title, log: this.#log });
    const opened: OpenPanel = { kind, panel, subject, begun };
    this.#open.add(opened);
    panel.iconPath = { light: this.#media(`${kind}-light.svg`), dark: this.#media(`${kind}-dark.svg`) };
    const port = portOf(panel.webview, this.#log);
    const stopServing = serve<HostVerbs>(port, this.#verbs(opened, port));
    panel.onDidChangeViewState(() => {
      // A hidden view is thrown away by the window and begins again, with `ready`, when it is shown.
      if (!panel.visible) opened.session?.end('The view was hidden.');
    });
    panel.onDidDispose(() => {
      stopServing();
      opened.session?.end('The view was closed.');
      this.#open.delete(opened);
    });
  }

  #media(name: string): vscode.Uri {
    return vscode.Uri.joinPath(this.#extension, 'media', name);
  }

  #verbs(opened: OpenPanel, port: Port): Parameters<typeof serve<HostVerbs>>[1] {
    const about = (target: Target): Target => ({ ...target, runFolder: opened.subject.runFolder });
    const held: Held = {
      get subject() {
        return opened.subject;
      },
      change: subject => void (opened.subject = subject),
    };
    return {
      ...this.#source.verbs(held),
      ready: () => {
        opened.session?.end('The view began again.');
        for (const folder of foldersOf(opened.subject)) this.#source.check(folder);
        // The answer goes out before the first facts.
        setImmediate(() => this.#begin(opened, port));
        const { subject } = opened;
        return {
          subject: { ...subject, isLive: this.#source.isLive(subject.runFolder) },
          name: basename(subject.runFolder),
          hasGitDiff: this.#source.hasGitDiff(subject.runFolder),
        };
      },
      neighbours: id => this.#source.neighbours(opened.subject.runFolder, id),
      tree: id => this.#source.tree(opened.subject.runFolder, id),
      trees: step => this.#source.rows(opened.subject.runFolder, step),
      extremes: async step => extremes(await this.#source.grown(opened.subject.runFolder, step)),
      openTree: async tree => void (await run('openTree', about({ tree }))),
      openTrajectory: async (tree, path, segment) =>
        void (await run('openTrajectory', about({ tree, path, ...(segment !== undefined && { segment }) }))),
      counterfactuals: tree => this.#source.counterfactuals(opened.subject.runFolder, tree),
      branchFrom: async (tree, path, segment) =>
        void (await run('branchFromHere', about({ tree, path, segment }))),
      replay: async (tree, path) => void (await run('replayRollout', about({ tree, path }))),
      compare: async (one, other) => void (await run('compareTrajectory', { ...about(one), other })),
      runCommand: async command => void (await run(COMMANDS[command], about({}))),
      remember: subject => {
        opened.subject = { ...subject, runFolder: opened.subject.runFolder };
        opened.panel.title = titleOf(opened.kind, opened.subject);
      },
    };
  }

  #begin(opened: OpenPanel, port: Port): void {
    if (!opened.panel.visible || !this.#open.has(opened)) return;
    // A view may ask twice before the first turn.
    opened.session?.end('The view began again.');
    const { remote: view, close } = connect<ViewVerbs>(port);
    const { runs, facts, isBrief = false } = FOLLOWED[opened.kind];
    const fed = runs(opened.subject).map((folder, run) => {
      const pump: Pump = makePump(
        batch => view.events({ ...batch, ...(isBrief && packSteps(batch.events)), run }),
        error => this.#log.error(`View: ${inFull(toFailure(error))}`),
      );
      const taker = {
        facts: (events: readonly Event[]): void => pump.push(facts(events)),
        restarted: (events: readonly Event[]): void => pump.restart(facts(events)),
      };
      const following = this.#source.follow(folder, taker, isBrief);
      return { following, pump };
    });
    opened.session = {
      view,
      lives: this.#livesOf(opened.subject),
      end(reason) {
        for (const { following, pump } of fed) {
          following.dispose();
          pump.stop();
        }
        close(reason);
        delete opened.session;
      },
    };
  }

  /** A worker that begins, or ends without a word, changes what a view may offer. */
  #tellLives(): void {
    for (const { session, subject } of this.#open) {
      if (session === undefined) continue;
      const lives = this.#livesOf(subject);
      if (lives.every((isLive, run) => isLive === session.lives[run])) continue;
      session.lives = lives;
      inBackground(this.#log, 'View', session.view.show({ ...subject, isLive: lives[0] === true }));
    }
  }

  #livesOf(subject: ViewSubject): boolean[] {
    return foldersOf(subject).map(folder => this.#source.isLive(folder));
  }

  dispose(): void {
    for (const { panel } of [...this.#open]) panel.dispose();
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }
}

const run = (name: CommandName, target: Target & { other?: TreePath }): Thenable<unknown> =>
  vscode.commands.executeCommand(commandId(name), target);

/** What tells a view of a kind from the others, and what its tab is called. */
const IDENTITY: Record<
  ViewKind,
  { key(subject: ViewSubject): unknown; title(subject: ViewSubject): string }
> = {
  dashboard: { key: () => '', title: ({ runFolder }) => basename(runFolder) },
  tree: {
    key: ({ tree = '' }) => tree,
    title: ({ runFolder, tree = '' }) => `${basename(runFolder)} · tree ${tree}`,
  },
  evaluation: {
    key: ({ evaluation }) => evaluation,
    title: ({ runFolder, evaluation = '' }) => `${basename(runFolder)} · ${evaluation}`,
  },
  compare: {
    key: foldersOf,
    title: subject =>
      `Compare ${foldersOf(subject)
        .map(folder => basename(folder))
        .join(', ')}`,
  },
};

const keyOf = (kind: ViewKind, subject: ViewSubject): string =>
  JSON.stringify([kind, subject.runFolder, IDENTITY[kind].key(subject)]);

const titleOf = (kind: ViewKind, subject: ViewSubject): string => IDENTITY[kind].title(subject);

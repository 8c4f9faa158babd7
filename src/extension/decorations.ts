/** Tints the tokens of visible trajectory editors, inside what can be seen. Knows nothing of what a tint means. */
import * as vscode from 'vscode';
import type { Log } from './failures.ts';
import { inBackground } from './failures.ts';
import { TRAJECTORY } from './names.ts';
import type { Stretch, Tint } from './overlay.ts';
import { decorationsIn, TINTS } from './overlay.ts';
import { setting } from './settings.ts';
import type { OpenTrajectory, Trajectories } from './trajectories.ts';
import { rangeIn } from './trajectories.ts';

/** Lines above and below the visible ones that are tinted too, so that scrolling does not flicker. */
const MARGIN_LINES = 60;
/** Scrolling asks many times; one answer per frame is enough. */
const FRAME_MS = 16;

/** Colour alone never tells: signs differ in their underline, its weight in how strong they are. */
const UNDERLINES: Partial<Record<Tint, string>> = {
  plus1: 'underline solid 1px',
  plus2: 'underline solid 2px',
  minus1: 'underline wavy 1px',
  minus2: 'underline wavy 2px',
  trained: 'underline dotted 1px',
};

export class TokenDecorations implements vscode.Disposable {
  readonly #trajectories: Trajectories;
  readonly #log: Log;
  readonly #tints: Record<Tint, vscode.TextEditorDecorationType>;
  #untrained = makeUntrained();
  readonly #uncertain = vscode.window.createTextEditorDecorationType({
    overviewRulerColor: new vscode.ThemeColor('branchpoint.uncertain'),
    overviewRulerLane: vscode.OverviewRulerLane.Right,
  });
  readonly #parting = vscode.window.createTextEditorDecorationType({
    border: '2px solid',
    borderColor: new vscode.ThemeColor('branchpoint.divergence'),
    overviewRulerColor: new vscode.ThemeColor('branchpoint.divergence'),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
    // Not by colour alone.
    before: { contentText: '▸', color: new vscode.ThemeColor('branchpoint.divergence') },
  });
  readonly #fork: vscode.TextEditorDecorationType;
  /** Tints that an editor has now. */
  readonly #shown = new WeakMap<vscode.TextEditor, ReadonlySet<Tint>>();
  /** By document: where it parts from the one that it is compared with. */
  readonly #partings = new Map<string, vscode.Range>();
  readonly #subscriptions: vscode.Disposable[];
  #timer: NodeJS.Timeout | undefined;

  constructor(trajectories: Trajectories, changed: vscode.Event<void>, extension: vscode.Uri, log: Log) {
    this.#trajectories = trajectories;
    this.#fork = makeFork(extension);
    this.#log = log;
    this.#tints = Object.fromEntries(TINTS.map(tint => [tint, makeTint(tint)])) as Record<
      Tint,
      vscode.TextEditorDecorationType
    >;
    this.#subscriptions = [
      vscode.window.onDidChangeVisibleTextEditors(() => this.#refreshSoon()),
      vscode.window.onDidChangeTextEditorVisibleRanges(
        ({ textEditor }) => textEditor.document.uri.scheme === TRAJECTORY && this.#refreshSoon(),
      ),
      changed(() => this.#refreshSoon()),
      vscode.window.onDidChangeActiveColorTheme(() => {
        this.#untrained.dispose();
        this.#untrained = makeUntrained();
        this.#refreshSoon();
      }),
      // A document that grew is laid out anew.
      vscode.workspace.onDidChangeTextDocument(
        ({ document }) => document.uri.scheme === TRAJECTORY && this.#refreshSoon(),
      ),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#partings.delete(uri.toString())),
    ];
    this.#refreshSoon();
  }

  /** Marks the first token that differs, for as long as the document is open. */
  markParting(uri: vscode.Uri, range: vscode.Range): void {
    this.#partings.set(uri.toString(), range);
    this.#refreshSoon();
  }

  #refreshSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const editor of vscode.window.visibleTextEditors)
        if (editor.document.uri.scheme === TRAJECTORY)
          inBackground(this.#log, 'Token overlay', this.#decorate(editor));
    }, FRAME_MS);
  }

  async #decorate(editor: vscode.TextEditor): Promise<void> {
    const trajectory = await this.#trajectories.read(editor.document.uri);
    const { tints, untrained, marks, forks } = decorationsIn(
      trajectory,
      setting('trajectory.overlay'),
      setting('trajectory.credit'),
      { seen: visible(editor, trajectory, 0), near: visible(editor, trajectory, MARGIN_LINES) },
    );
    const { starts, ends } = trajectory.layout;
    const range = (start: number, end: number): vscode.Range => rangeIn(trajectory, start, end);
    const now = new Set(tints.map(({ tint }) => tint));
    const before = this.#shown.get(editor);
    this.#shown.set(editor, now);
    for (const tint of TINTS) {
      // Of the tints of other overlays, which are most, there is nothing to take away.
      if (!now.has(tint) && before?.has(tint) !== true) continue;
      const runs = tints.filter(run => run.tint === tint);
      editor.setDecorations(
        this.#tints[tint],
        runs.map(({ start, end }) => range(start, end)),
      );
    }
    editor.setDecorations(
      this.#untrained,
      untrained.map(([start, end]) => range(start, end)),
    );
    editor.setDecorations(
      this.#uncertain,
      marks.map(token => range(starts[token]!, ends[token]!)),
    );
    editor.setDecorations(
      this.#fork,
      forks.map(line => new vscode.Range(line, 0, line, 0)),
    );
    const parting = this.#partings.get(editor.document.uri.toString());
    editor.setDecorations(this.#parting, parting === undefined ? [] : [parting]);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    vscode.Disposable.from(
      ...this.#subscriptions,
      ...Object.values(this.#tints),
      this.#untrained,
      this.#uncertain,
      this.#parting,
      this.#fork,
    ).dispose();
  }
}

/** Beside a question that made a trajectory, and where it is in the whole text. */
function makeFork(extension: vscode.Uri): vscode.TextEditorDecorationType {
  const icon = (name: string): vscode.Uri => vscode.Uri.joinPath(extension, 'media', `tree-${name}.svg`);
  return vscode.window.createTextEditorDecorationType({
    light: { gutterIconPath: icon('light') },
    dark: { gutterIconPath: icon('dark') },
    gutterIconSize: 'contain',
    overviewRulerColor: new vscode.ThemeColor('charts.green'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
}

const CONTRASTS: readonly vscode.ColorThemeKind[] = [
  vscode.ColorThemeKind.HighContrast,
  vscode.ColorThemeKind.HighContrastLight,
];

/** Dimmed, but not for whoever asks for contrast. */
function makeUntrained(): vscode.TextEditorDecorationType {
  const isContrast = CONTRASTS.includes(vscode.window.activeColorTheme.kind);
  return vscode.window.createTextEditorDecorationType({
    fontStyle: 'italic',
    ...(!isContrast && { opacity: '0.65' }),
  });
}

function makeTint(tint: Tint): vscode.TextEditorDecorationType {
  const textDecoration = UNDERLINES[tint];
  return vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor(`branchpoint.${tint}`),
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    ...(textDecoration !== undefined && { textDecoration }),
  });
}

/** Offsets of what the editor shows, with so many lines around it. */
function visible(
  { visibleRanges }: vscode.TextEditor,
  { layout: { lineStarts, text } }: OpenTrajectory,
  margin: number,
): Stretch {
  const first = Math.min(...visibleRanges.map(({ start }) => start.line), lineStarts.length - 1);
  const last = Math.max(...visibleRanges.map(({ end }) => end.line), 0);
  return {
    from: lineStarts[Math.max(0, first - margin)]!,
    to: lineStarts[last + margin + 1] ?? text.length,
  };
}

/** Tints the tokens of visible trajectory editors, inside what can be seen. Knows nothing of what a tint means. */
import * as vscode from 'vscode';
import type { Log } from './failures.ts';
import { inBackground } from './failures.ts';
import { TRAJECTORY } from './names.ts';
import type { Tint } from './overlay.ts';
import { mostUncertain, tintedRuns, TINTS, untrainedRanges } from './overlay.ts';
import { setting } from './settings.ts';
import type { OpenTrajectory, Trajectories } from './trajectories.ts';
import { rangeIn } from './trajectories.ts';

/** Ranges of one editor over all tints: VS Code slows down with thousands. */
const MOST_RANGES = 1000;
/** Lines above and below the visible ones that are tinted too, so that scrolling does not flicker. */
const MARGIN_LINES = 60;
/** Marks in the overview ruler. */
const RULER_MARKS = 50;
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
  readonly #untrained = vscode.window.createTextEditorDecorationType({
    opacity: '0.65',
    fontStyle: 'italic',
  });
  readonly #uncertain = vscode.window.createTextEditorDecorationType({
    overviewRulerColor: new vscode.ThemeColor('branchpoint.uncertain'),
    overviewRulerLane: vscode.OverviewRulerLane.Right,
  });
  readonly #subscriptions: vscode.Disposable[];
  #timer: NodeJS.Timeout | undefined;

  constructor(trajectories: Trajectories, changed: vscode.Event<void>, log: Log) {
    this.#trajectories = trajectories;
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
    ];
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
    const { from, to } = visible(editor, trajectory);
    const runs = tintedRuns(trajectory, setting('trajectory.overlay'), setting('trajectory.credit'), {
      from,
      to,
      limit: MOST_RANGES,
    });
    for (const tint of TINTS)
      editor.setDecorations(
        this.#tints[tint],
        runs.filter(run => run.tint === tint).map(({ start, end }) => rangeIn(trajectory, start, end)),
      );
    editor.setDecorations(
      this.#untrained,
      untrainedRanges(trajectory).map(([start, end]) => rangeIn(trajectory, start, end)),
    );
    editor.setDecorations(
      this.#uncertain,
      mostUncertain(trajectory, RULER_MARKS).map(token =>
        rangeIn(trajectory, trajectory.layout.starts[token]!, trajectory.layout.ends[token]!),
      ),
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
    vscode.Disposable.from(
      ...this.#subscriptions,
      ...Object.values(this.#tints),
      this.#untrained,
      this.#uncertain,
    ).dispose();
  }
}

function makeTint(tint: Tint): vscode.TextEditorDecorationType {
  const textDecoration = UNDERLINES[tint];
  return vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor(`branchpoint.${tint}`),
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    ...(textDecoration !== undefined && { textDecoration }),
  });
}

/** Offsets of what the editor shows, with a margin. */
function visible(
  { visibleRanges }: vscode.TextEditor,
  { layout: { lineStarts, text } }: OpenTrajectory,
): { from: number; to: number } {
  const first = Math.min(...visibleRanges.map(({ start }) => start.line), lineStarts.length - 1);
  const last = Math.max(...visibleRanges.map(({ end }) => end.line), 0);
  return {
    from: lineStarts[Math.max(0, first - MARGIN_LINES)]!,
    to: lineStarts[last + MARGIN_LINES + 1] ?? text.length,
  };
}

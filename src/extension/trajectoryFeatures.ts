/** Folding, lenses and hovers of trajectory documents. Knows nothing of how a document is laid out or tinted. */
import * as vscode from 'vscode';
import { isCounterfactual } from '../core/counterfactual.ts';
import { pieceOf, type Pieces } from '../core/pieces.ts';
import { isReplayed } from '../core/replay.ts';
import { CHANGE_LEGEND } from './changeText.ts';
import { inBackground, type Log } from './failures.ts';
import { commandId, TRAJECTORY } from './names.ts';
import { LEGENDS, segmentLens } from './overlay.ts';
import { setting } from './settings.ts';
import type { Target } from './target.ts';
import { choiceTable, windowTable } from './tokenChoice.ts';
import { tokenFacts } from './tokenFacts.ts';
import type { OpenTrajectory, Trajectories } from './trajectories.ts';
import { rangeIn } from './trajectories.ts';
import { lineOf, tokenAt } from './trajectoryText.ts';

export function registerTrajectoryFeatures(
  trajectories: Trajectories,
  changed: vscode.Event<void>,
  log: Log,
): vscode.Disposable {
  const selector: vscode.DocumentSelector = { scheme: TRAJECTORY };
  return vscode.Disposable.from(
    tellUnbranchable(trajectories, log),
    vscode.languages.registerFoldingRangeProvider(selector, {
      provideFoldingRanges: async ({ uri }) =>
        (await trajectories.read(uri)).layout.folds.map(
          ({ firstLine, lastLine, what }) =>
            new vscode.FoldingRange(
              firstLine,
              lastLine,
              what === 'think' ? vscode.FoldingRangeKind.Comment : undefined,
            ),
        ),
    }),
    vscode.languages.registerCodeLensProvider(selector, {
      onDidChangeCodeLenses: changed,
      provideCodeLenses: async ({ uri }) => lenses(await trajectories.read(uri)),
    }),
    vscode.languages.registerHoverProvider(selector, {
      provideHover: async (document, position) =>
        hover(await trajectories.read(document.uri), document.offsetAt(position)),
    }),
  );
}

/** Documents of trajectories that nothing can be branched from, now at least, in `when` clauses. */
const UNBRANCHABLE = 'branchpoint.unbranchable';

/** Imported runs have no policy, and what was drawn beside the training is not drawn from again. */
const isBranchable = ({ address, clip }: OpenTrajectory): boolean =>
  clip !== undefined && !isCounterfactual(address.tree) && !isReplayed(address.tree);

/** Keeps a menu from offering what it would only refuse. */
function tellUnbranchable(trajectories: Trajectories, log: Log): vscode.Disposable {
  const known = new Set<string>();
  const tell = async (uri: vscode.Uri, isRefused: boolean): Promise<void> => {
    const name = uri.toString();
    if (known.has(name) === isRefused) return;
    if (isRefused) known.add(name);
    else known.delete(name);
    await vscode.commands.executeCommand('setContext', UNBRANCHABLE, [...known]);
  };
  const look = async (uri: vscode.Uri): Promise<void> => {
    const trajectory = await trajectories.read(uri);
    await tell(uri, trajectory.isGrowing || !isBranchable(trajectory));
  };
  const about = (act: (uri: vscode.Uri) => Promise<void>) => (uri: vscode.Uri) => {
    if (uri.scheme === TRAJECTORY) inBackground(log, 'Trajectory', act(uri));
  };
  const seen = about(look);
  const gone = about(uri => tell(uri, false));
  vscode.workspace.textDocuments.forEach(({ uri }) => seen(uri));
  return vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument(({ uri }) => seen(uri)),
    trajectories.onDidChange(seen),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => gone(uri)),
  );
}

/** The numbers of every segment and what can be done with it, below what can be done with the whole. */
function lenses(trajectory: OpenTrajectory): vscode.CodeLens[] {
  const { layout } = trajectory;
  const { runFolder, tree, path } = trajectory.address;
  // Without the checkpoints, which whoever compares two again is asked for.
  const address = { runFolder, tree, path };
  const credit = setting('trajectory.credit');
  const isOfRun = !isReplayed(tree);
  const canDraw = isBranchable(trajectory) && !trajectory.isGrowing;
  return [
    ...(isOfRun ? [openTree(address)] : []),
    ...(canDraw ? ofWhole(trajectory, address) : []),
    overlayLens(trajectory),
  ]
    .map(command => lens(0, command))
    .concat(
      layout.segments.flatMap(place => {
        const about = { ...address, segment: place.segment };
        return [
          // A lens without a command is plain text.
          { title: segmentLens(trajectory, place, credit), command: '' },
          ...(isOfRun ? [openTree(about)] : []),
          compareWith(about),
          ...(canDraw ? [branchFrom(about)] : []),
        ].map(command => lens(place.heading, command));
      }),
    );
}

const lens = (line: number, command: vscode.Command): vscode.CodeLens =>
  new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);

const openTree = (about: Target): vscode.Command => ({
  title: 'Open Tree',
  command: commandId('openTree'),
  arguments: [about],
});

const compareWith = (about: Target): vscode.Command => ({
  title: 'Compare with…',
  tooltip: 'Shows the difference to another trajectory, with the first token that differs marked in both',
  command: commandId('compareTrajectory'),
  arguments: [about],
});

const branchFrom = (about: Target): vscode.Command => ({
  title: 'Branch from Here…',
  tooltip: 'Lets a policy go on from here, beside the training',
  command: commandId('branchFromHere'),
  arguments: [about],
});

const ofWhole = ({ tree }: OpenTrajectory, about: Target): vscode.Command[] => [
  {
    title: 'Replay',
    tooltip: 'Draws the tree again as it was drawn, and shows whether it comes out the same',
    command: commandId('replayRollout'),
    arguments: [about],
  },
  {
    title: 'Compare Checkpoints…',
    tooltip: 'Scores the trajectory under two checkpoints, and shows what became likelier',
    command: commandId('compareCheckpoints'),
    arguments: [about],
  },
  {
    title: `Re-score Step ${tree.step}…`,
    tooltip: 'Shows what other reward settings would have made of the trajectories of this step',
    command: commandId('rescoreRollouts'),
    arguments: [{ ...about, steps: String(tree.step) }],
  },
];

function overlayLens({ change }: OpenTrajectory): vscode.Command {
  const overlay = setting('trajectory.overlay');
  return change
    ? { title: `Overlay: Δ log p · ${CHANGE_LEGEND}`, command: '' }
    : {
        title: `Overlay: ${overlay} · ${LEGENDS[overlay]}`,
        tooltip: 'Show the next overlay',
        command: commandId('cycleOverlay'),
      };
}

function hover(trajectory: OpenTrajectory, offset: number): vscode.Hover | undefined {
  const { layout, columns, pieces, clip } = trajectory;
  const token = tokenAt(layout, offset);
  if (pieces === undefined) return undefined;
  if (token === undefined) return questionHover(trajectory, lineOf(layout.lineStarts, offset), pieces);
  const bytes = pieceOf(pieces, columns.ids[layout.tokens[token]!]!);
  const choice = choiceTable(trajectory, token, pieces);
  const text = new vscode.MarkdownString(`${choice === undefined ? '' : `${choice}\n`}| | |\n|:-|:-|\n`);
  for (const [name, value] of tokenFacts(trajectory, token, bytes, clip))
    text.appendMarkdown(`| ${name} | \`${value}\` |\n`);
  return new vscode.Hover(text, rangeIn(trajectory, layout.starts[token]!, layout.ends[token]!));
}

/** On the line of a branching question: the tokens that it was measured on. */
function questionHover(trajectory: OpenTrajectory, line: number, pieces: Pieces): vscode.Hover | undefined {
  const asked = trajectory.layout.questions.find(question => question.line === line);
  const table = asked && windowTable(trajectory, asked.decision, pieces);
  return table === undefined ? undefined : new vscode.Hover(new vscode.MarkdownString(table));
}

/** Commands of the editor of one trajectory: overlays, and going from place to place. Knows nothing of how tokens are laid out. */
import * as vscode from 'vscode';
import type { App } from './app.ts';
import { COMMANDS, type CommandName, TRAJECTORY } from './names.ts';
import { LEGENDS, type Overlay, OVERLAYS } from './overlay.ts';
import { changeSetting, setting } from './settings.ts';
import type { OpenTrajectory } from './trajectories.ts';
import { addressOf, type TrajectoryAddress } from './trajectoryAddress.ts';
import { nextOf, parentBranch, type Place, segmentAt, siblingOf, uncertainSteps } from './trajectoryMoves.ts';

/** How long a sentence stays in the status bar. */
const SAY_MS = 4000;

type Handler = (app: App, argument: unknown) => Promise<unknown>;

export const TRAJECTORY_COMMANDS = {
  cycleOverlay: unlessChange(() =>
    chooseOverlay(OVERLAYS[(OVERLAYS.indexOf(setting('trajectory.overlay')) + 1) % OVERLAYS.length]!),
  ),
  chooseOverlay: unlessChange(pickOverlay),
  toggleMask: unlessChange(toggleMask),
  nextUncertain: app => goToUncertain(app, 1),
  previousUncertain: app => goToUncertain(app, -1),
  nextSibling: app => goToSibling(app, 1),
  previousSibling: app => goToSibling(app, -1),
  parentBranch: goToParent,
} satisfies Partial<Record<CommandName, Handler>>;

/** The trajectory in the editor that has the focus, and that editor. */
export function activeTrajectory(): { address: TrajectoryAddress; editor: vscode.TextEditor } | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.uri.scheme === TRAJECTORY
    ? { address: addressOf(editor.document.uri.query), editor }
    : undefined;
}

/** A text of what two checkpoints make of a trajectory has that for its tints: another overlay would be chosen for other texts, unseen. */
function unlessChange(choose: () => Promise<void>): Handler {
  return async () => {
    const names = activeTrajectory()?.address.checkpoints;
    if (names === undefined) await choose();
    else say(`This text shows Δ log p from ${names.join(' to ')} and no other overlay`);
  };
}

const say = (sentence: string): void => void vscode.window.setStatusBarMessage(sentence, SAY_MS);

async function chooseOverlay(overlay: Overlay): Promise<void> {
  await changeSetting('trajectory.overlay', overlay);
  say(`Token overlay: ${overlay}, ${LEGENDS[overlay]}`);
}

async function pickOverlay(): Promise<void> {
  const current = setting('trajectory.overlay');
  const chosen = await vscode.window.showQuickPick(
    OVERLAYS.map(label => ({
      label,
      detail: LEGENDS[label],
      ...(label === current && { description: 'shown now' }),
    })),
    { title: COMMANDS.chooseOverlay.title },
  );
  if (chosen !== undefined) await chooseOverlay(chosen.label);
}

let beforeMask: Overlay = 'entropy';

/** The mask, and back to what was shown before it. */
async function toggleMask(): Promise<void> {
  const current = setting('trajectory.overlay');
  if (current !== 'mask') beforeMask = current;
  await chooseOverlay(current === 'mask' ? beforeMask : 'mask');
}

async function goToUncertain({ trajectories }: App, direction: 1 | -1): Promise<void> {
  const active = activeTrajectory();
  if (active === undefined) return;
  const { editor } = active;
  const trajectory = await trajectories.read(editor.document.uri);
  const steps = uncertainSteps(trajectory);
  const next = nextOf(steps, editor.document.offsetAt(editor.selection.active), direction);
  if (next === undefined) return say('No token of this trajectory has an entropy of 0.5 nats or more');
  const at = editor.document.positionAt(next);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  say(`High-entropy step ${steps.indexOf(next) + 1} of ${steps.length}`);
}

async function goToSibling(app: App, direction: 1 | -1): Promise<void> {
  const here = await placeOf(app);
  if (here === undefined) return;
  const { tree } = here.trajectory;
  const sibling = siblingOf(tree, here.place, direction);
  if (sibling === undefined) return say('This trajectory shares no branching point with another');
  await go(app, here.trajectory, sibling);
}

async function goToParent(app: App): Promise<void> {
  const here = await placeOf(app);
  if (here === undefined) return;
  const { tree, path } = here.trajectory;
  const parent = parentBranch(tree, path);
  if (parent === undefined)
    return say(`Trajectory ${path} began at the prompt (${tree.paths[path]!.origin}): it left no other`);
  await go(app, here.trajectory, parent);
}

async function placeOf({
  trajectories,
}: App): Promise<{ trajectory: OpenTrajectory; place: Place } | undefined> {
  const active = activeTrajectory();
  if (active === undefined) return undefined;
  const { document, selection } = active.editor;
  const trajectory = await trajectories.read(document.uri);
  const segment = segmentAt(trajectory.layout, document.offsetAt(selection.active));
  return { trajectory, place: { path: trajectory.path, segment } };
}

async function go(
  { trajectories }: App,
  { address: { runFolder, tree: id }, tree }: OpenTrajectory,
  { path, segment }: Place,
): Promise<void> {
  await trajectories.show({ runFolder, tree: id, path }, segment);
  say(`Trajectory ${path} of ${tree.paths.length}`);
}

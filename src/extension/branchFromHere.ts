/** Branches from a place of a stored trajectory: asks with what, lets a worker draw, and shows what came of it. Knows nothing of how a counterfactual is grown. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { isCounterfactual } from '../core/counterfactual.ts';
import { counted } from '../core/figures.ts';
import { segmentsOf } from '../core/tree.ts';
import type { Tree } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { listCheckpoints } from '../run/checkpoint.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import {
  argumentsOf,
  branchedFrom,
  SAMPLES,
  sentenceOf,
  waysFrom,
  type Branched,
  type BranchPlan,
  type Way,
} from './branchPlan.ts';
import { COMMANDS, type CommandName } from './names.ts';
import { mustBeOwn } from './ownTrees.ts';
import { choose, type Choice, pickPath, pickTree, runOf } from './pickers.ts';
import { targetOf, type Target } from './target.ts';
import { activeTrajectory } from './trajectoryCommands.ts';
import { segmentAt } from './trajectoryMoves.ts';
import { tokenAt } from './trajectoryText.ts';
import { mustBeTrusted } from './trust.ts';

const TITLE = COMMANDS.branchFromHere.title;

export const BRANCH_COMMANDS = { branchFromHere } satisfies Partial<
  Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>
>;

/** A place of a written tree. */
interface Place {
  runFolder: string;
  tree: Tree;
  path: number;
  segment: number;
  /** Tokens of the segment before the cursor. */
  cursor: number;
}

/** About a segment, or the cursor's in the active trajectory. Whoever says how many samples is asked nothing. */
async function branchFromHere(app: App, argument: unknown): Promise<Branched | undefined> {
  mustBeTrusted('A branch');
  const place = await placeOf(app, targetOf(argument));
  if (place === undefined) return undefined;
  const [first, ...others] = waysFrom(place.tree, place.path, place.segment, place.cursor);
  if (first === undefined) return undefined;
  const given = (argument ?? {}) as Partial<BranchPlan>;
  if (typeof given.samples === 'number')
    return drawn(app, place, { ...given, at: first.at, samples: given.samples });
  return askAndDraw(app, place, [first, ...others]);
}

async function placeOf(app: App, target: Target): Promise<Place | undefined> {
  const isNamed = target.runFolder !== undefined || target.tree !== undefined;
  const active = isNamed ? undefined : activeTrajectory();
  const known: Target = active === undefined ? target : active.address;
  const runFolder = await runOf(app, known, TITLE);
  const id = runFolder === undefined ? undefined : (known.tree ?? (await pickTree(app, runFolder)));
  if (runFolder === undefined || id === undefined) return undefined;
  const tree = await stored(runFolder, id);
  const path = known.path ?? (await pickPath(app, runFolder, id));
  if (path === undefined) return undefined;
  if (active !== undefined) return { runFolder, tree, path, ...(await underCursor(app, active.editor)) };
  const segment = known.segment ?? (await pickSegment(tree, path));
  return segment === undefined ? undefined : { runFolder, tree, path, segment, cursor: known.token ?? 0 };
}

async function stored(runFolder: string, id: string): Promise<Tree> {
  if (isCounterfactual(id))
    throw new FailureError({
      where: 'config',
      message: `${id} is a counterfactual itself.`,
      fix: 'Branch from the tree that it left.',
    });
  mustBeOwn(runFolder, id);
  return openRun(runFolder).tree(id);
}

async function underCursor(
  { trajectories }: App,
  { document, selection }: vscode.TextEditor,
): Promise<{ segment: number; cursor: number }> {
  const { layout, tree } = await trajectories.read(document.uri);
  const offset = document.offsetAt(selection.active);
  const segment = segmentAt(layout, offset);
  const token = tokenAt(layout, offset);
  const cursor = token === undefined ? 0 : layout.tokens[token]! - tree.segments[segment]!.start;
  return { segment, cursor };
}

const pickSegment = (tree: Tree, path: number): Promise<number | undefined> =>
  choose(
    `${TITLE.replace('…', '')}: after which step of trajectory ${path}?`,
    segmentsOf(tree, path).map((index): Choice<number> => {
      const { kind, turn, call, count, text } = tree.segments[index]!;
      const name = kind === 'model' ? `Turn ${turn + 1}` : kind === 'tool' ? `Result of ${call?.tool}` : kind;
      return { label: name, description: `${count} tokens`, detail: text.trim().slice(0, 200), value: index };
    }),
  );

/** The menu's answers. */
type Choosing = 'draw' | 'way' | 'result' | 'temperature' | 'checkpoint' | 'samples';

/** One Enter draws with what is usual; every part of it can be changed first. */
async function askAndDraw(
  app: App,
  place: Place,
  ways: readonly [Way, ...Way[]],
): Promise<Branched | undefined> {
  let [way] = ways;
  let plan: BranchPlan = { at: way.at, samples: SAMPLES };
  const { temperature } = openRun(place.runFolder).manifest.config.rollout;
  for (;;) {
    const asked = await menu(place, { way, ways, plan, temperature });
    if (asked === undefined) return undefined;
    if (asked === 'draw') return drawn(app, place, plan);
    if (asked === 'result') {
      await editResult(app, place, plan, way.result ?? '');
      return undefined;
    }
    if (asked === 'way') {
      way =
        (await choose(
          TITLE,
          ways.map(value => ({ label: value.label, value })),
        )) ?? way;
      plan = { ...plan, at: way.at };
    } else plan = { ...plan, ...(await changed(asked, place, plan, temperature)) };
  }
}

function menu(
  place: Place,
  { way, ways, plan, temperature }: { way: Way; ways: readonly Way[]; plan: BranchPlan; temperature: number },
): Promise<Choosing | undefined> {
  const newest = listCheckpoints(place.runFolder).at(-1);
  const usual = newest === undefined ? 'the initial policy: the run has no checkpoint' : basename(newest);
  const item = (value: Choosing, icon: string, label: string, description: string): Choice<Choosing> => ({
    label: `$(${icon}) ${label}`,
    description,
    value,
  });
  return choose(`${TITLE} (tree ${place.tree.id}, trajectory ${place.path})`, [
    item('draw', 'play', `Draw ${counted(plan.samples, 'sample')}`, way.label),
    ...(ways.length > 1 ? [item('way', 'git-branch', 'From elsewhere…', `now: ${way.label}`)] : []),
    ...(way.result === undefined
      ? []
      : [item('result', 'edit', 'Edit the tool’s result first…', way.result.trim().slice(0, 80))]),
    item('temperature', 'flame', 'Temperature…', `now: ${plan.temperature ?? temperature}`),
    item('checkpoint', 'save', 'Weights…', `now: ${plan.checkpoint ?? usual}`),
    item('samples', 'list-ordered', 'Samples…', `now: ${plan.samples}`),
  ]);
}

async function changed(
  what: 'temperature' | 'checkpoint' | 'samples',
  { runFolder }: Place,
  plan: BranchPlan,
  usual: number,
): Promise<Partial<BranchPlan>> {
  if (what === 'checkpoint') {
    const names = listCheckpoints(runFolder).map(name => basename(name));
    const chosen = await choose(
      'Weights to go on with',
      [...names.toReversed(), 'initial'].map(value => ({ label: value, value })),
    );
    return chosen === undefined ? {} : { checkpoint: chosen };
  }
  const isWhole = what === 'samples';
  const [least, most] = isWhole ? [1, 256] : [0, 10];
  const entered = await vscode.window.showInputBox({
    title: isWhole ? 'Samples to draw' : 'Sampling temperature; 0 is greedy',
    value: String(isWhole ? plan.samples : (plan.temperature ?? usual)),
    validateInput(text) {
      const value = Number(text);
      const isRight = text.trim() !== '' && value >= least && value <= most;
      if (isRight && (!isWhole || Number.isInteger(value))) return undefined;
      return `Enter a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}.`;
    },
  });
  return entered === undefined ? {} : { [what]: Number(entered) };
}

/** Lets the user say what the tool shall have said. */
async function editResult(app: App, place: Place, plan: BranchPlan, result: string): Promise<void> {
  const name = `${basename(place.runFolder)} ${place.tree.id} result.txt`;
  await app.drafts.open(name, result, {
    title: `Draw ${plan.samples} Samples with This Result`,
    use: file => drawn(app, place, { ...plan, resultFile: file }),
  });
}

/** Lets a worker draw, with its words as progress; undefined where it was cancelled. */
async function drawn(app: App, place: Place, plan: BranchPlan): Promise<Branched | undefined> {
  const { runFolder, tree, path, segment } = place;
  const outcome = await askProgram(
    app,
    `Branching from tree ${tree.id}`,
    argumentsOf(runFolder, tree.id, plan),
  );
  if (outcome === undefined) return undefined;
  const branched = branchedFrom(outcome);
  const said = sentenceOf(branched);
  app.log.info(said);
  vscode.window.setStatusBarMessage(`$(git-branch) ${said}`, 15_000);
  app.panels.show('tree', { runFolder, tree: tree.id, path, segment });
  return branched;
}

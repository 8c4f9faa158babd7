/** The rollout tree of one task in one step: what was grown, where it branched, and why. Knows nothing of files or workers. */
import type { Counterfactual } from '../../src/core/counterfactual.ts';
import type { Event } from '../../src/core/events.ts';
import { nearestSibling } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import type { ViewSubject } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, keptState, report } from '../shared/host.ts';
import { registerKit } from '../shared/kit.ts';
import { onThemeChange } from '../shared/theme.ts';
import { card, type Action } from './card.ts';
import { controls, lookedOf, type Looked } from './controls.ts';
import { drawing } from './drawing.ts';
import { factsOf, titleOf } from './explain.ts';
import { ghostCard } from './ghostCard.ts';
import { ghostAt, ghostFacts, graft, ownPlace, type Grafted } from './ghosts.ts';
import { help } from './help.ts';
import { shadingOf } from './shades.ts';
import { stepNavigation } from './steps.ts';
import type { Selection } from './walk.ts';
import '../shared/shared.css';
import './tree.css';

registerKit();

let tree: Tree | undefined;
/** What was drawn from the tree beside the training; undefined until the host has told it. */
let counterfactuals: readonly Counterfactual[] | undefined;
/** The tree with them; made anew only where one of them changes. */
let grafted: Grafted | undefined;
let subject: ViewSubject | undefined;
let looked: Looked = lookedOf(keptState());
/** What the reader chose; until then what a reader comes for is shown. */
let chosen: Selection | undefined;
let pinned: Selection | undefined;
/** The run's, once a fact told it. */
let seed: number | undefined;
/** The segment that the subject named last. */
let asked: number | undefined;
let asking = false;
let stale = false;

const host = joinHost({
  events: ({ events }) => take(events),
  show: shown => go(shown),
});

const open = (path: number, segment: number): void => {
  const own = grafted && ownPlace(grafted, path, segment);
  if (own) report(host.openTrajectory(own.ghost.counterfactual.id, own.path, own.segment));
  else if (tree) report(host.openTrajectory(tree.id, path, segment));
};
/** What can be done with a segment, as buttons on the card. */
const ACTIONS: readonly Action[] = [
  {
    name: 'open-text',
    label: 'Open as Text',
    meaning: 'Open the trajectory in an editor, at this segment (Enter)',
    needsPolicy: false,
    act: open,
  },
  {
    name: 'compare-sibling',
    label: 'Compare with Sibling',
    meaning: 'Show the trajectory beside the one that goes with it the longest, as a diff',
    needsPolicy: false,
    needsSibling: true,
    act: path => {
      const sibling = tree && nearestSibling(tree, path);
      if (tree && sibling !== undefined)
        report(host.compare({ tree: tree.id, path }, { tree: tree.id, path: sibling }));
    },
  },
  {
    name: 'branch-from',
    label: 'Branch from Here…',
    needsPolicy: true,
    meaning: 'Let a policy go on from here, beside the training, and see what it would have earned',
    act: (path, segment) => tree && report(host.branchFrom(tree.id, path, segment)),
  },
  {
    name: 'replay',
    label: 'Replay',
    needsPolicy: true,
    meaning: 'Draw the tree again as it was drawn, and see whether it comes out the same',
    act: path => tree && report(host.replay(tree.id, path)),
  },
];

const failure = element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true });
const title = element('h1');
const facts = element('p', { class: 'quiet' });
const steps = stepNavigation(id => {
  if (subject) go({ ...withoutPlace(subject), tree: id });
});
const keys = help();
const panel = controls({
  look,
  zoom: by => picture.zoom(by),
  help: () => keys.show(),
});
const picture = drawing({
  select: choose,
  open,
  key: event => press(event.key),
  laidOut: mode => panel.laidOut(mode),
});
const details = card(ACTIONS, ({ segment }) => ghostPart(segment));
document.body.append(
  element(
    'main',
    {},
    element('header', {}, element('div', { class: 'title' }, title, steps.root), facts, panel.root),
    failure,
    element('div', { class: 'split' }, picture.root, details.root),
  ),
  keys.root,
);
picture.look(looked.mode);
onThemeChange(() => tree && draw());
report(host.ready().then(answer => go(answer.subject)));

function take(events: readonly Event[]): void {
  const start = events.findLast(event => event.type === 'run-started');
  if (start) seed = start.seed;
  if (events.some(event => 'tree' in event && event.tree === subject?.tree)) refresh();
  // Another tree of the run began or is done: the ways from here lead further.
  if (events.some(({ type }) => type === 'tree-finished' || type === 'step-started')) showWays();
}

/** Shows another tree, or another segment of the same; being told the same again changes nothing. */
function go(next: ViewSubject): void {
  const isKnown = next.segment === undefined || next.segment === asked;
  const isOther = next.tree !== undefined && next.tree !== subject?.tree;
  const isMoved = isOther && subject !== undefined;
  subject = next;
  asked = next.segment;
  keep();
  if (isOther) {
    failure.hidden = true;
    tree = undefined;
    pinned = undefined;
    chosen = next.segment === undefined ? undefined : { segment: next.segment };
    if (isMoved) report(host.remember(next));
    counterfactuals = undefined;
    refresh();
    showWays();
  } else if (!isKnown) choose({ segment: next.segment! });
  showGhosts();
}

/** Asks what was drawn beside the training; of what has come since it was last asked the newest is chosen. */
function showGhosts(): void {
  const wanted = subject?.tree;
  if (wanted === undefined) return;
  report(
    host.counterfactuals(wanted).then(found => {
      if (wanted !== subject?.tree) return;
      const before = counterfactuals;
      if (before?.length === found.counterfactuals.length) return;
      counterfactuals = found.counterfactuals;
      grafted = undefined;
      draw();
      if (before) chooseNewest();
      const [failure] = found.failures;
      if (failure) throw new Error(failure.message);
    }),
  );
}

function chooseNewest(): void {
  const newest = grafted?.ghosts.at(-1);
  if (newest) choose({ segment: newest.segment });
}

/** The card of a ghost's segment; undefined for one of the tree itself. */
function ghostPart(segment: number): Node[] | undefined {
  const ghost = grafted && ghostAt(grafted, segment);
  if (!ghost || !tree) return undefined;
  const { id } = tree;
  const { counterfactual, kept } = ghost;
  return ghostCard(ghost, segment - ghost.segment + kept, {
    open: (path, own) => report(host.openTrajectory(counterfactual.id, path, own)),
    compare: path =>
      report(host.compare({ tree: id, path: counterfactual.of.path }, { tree: counterfactual.id, path })),
  });
}

function withoutPlace({ path: _, segment: __, ...rest }: ViewSubject): ViewSubject {
  return rest;
}

/** The window remembers what is shown and how it is looked at. */
function keep(): void {
  if (subject) keepState({ ...subject, looked });
}

/** Asks for the tree again; what arrives meanwhile asks once more. */
function refresh(): void {
  if (asking) {
    stale = true;
    return;
  }
  const wanted = subject?.tree;
  if (wanted === undefined) return;
  asking = true;
  report(
    host
      .tree(wanted)
      .then(answer => {
        if (wanted !== subject?.tree) return;
        tree = answer;
        grafted = undefined;
        draw();
      })
      .finally(() => {
        asking = false;
        if (!stale) return;
        stale = false;
        refresh();
      }),
  );
}

function showWays(): void {
  const wanted = subject?.tree;
  if (wanted === undefined) return;
  report(
    host.neighbours(wanted).then(found => {
      if (wanted === subject?.tree) steps.show(found);
    }),
  );
}

function draw(): void {
  if (!tree) return;
  title.textContent = titleOf(tree);
  grafted ??= graft(tree, counterfactuals ?? []);
  const { ghosts, ...drawn } = grafted;
  facts.textContent = `${factsOf(tree)}${ghostFacts(grafted)}`;
  const shading = shadingOf(tree, looked.tint, looked.credit);
  panel.show(looked, shading, ghosts.length > 0);
  picture.draw({ ...drawn, shading, credit: looked.credit }, selectionIn(tree));
  picture.pin(pinned);
  showCard();
}

function showCard(): void {
  if (!tree) return;
  details.show({ tree, selection: selectionIn(tree), pinned, around: seed === undefined ? {} : { seed } });
}

const selectionIn = (shown: Tree): Selection => chosen ?? firstChoice(shown);

function choose(selection: Selection): void {
  chosen = selection;
  if (!tree) return;
  picture.select(selection);
  showCard();
}

function look(next: Looked): void {
  const isLaidOtherwise = next.mode !== looked.mode;
  looked = next;
  keep();
  if (isLaidOtherwise) picture.look(looked.mode);
  draw();
}

/** True where the key meant something. */
function press(key: string): boolean {
  if (key === '?') keys.show();
  else if (key === ' ') {
    const selection = tree && selectionIn(tree);
    pinned = JSON.stringify(pinned) === JSON.stringify(selection) ? undefined : selection;
    picture.pin(pinned);
    showCard();
  } else return steps.key(key);
  return true;
}

/** What a reader came for: why a branch was refused, else why one was made. */
function firstChoice({ decisions }: Tree): Selection {
  const wanted = decisions.findIndex(({ outcome }) => outcome === 'refuse');
  const decision = wanted >= 0 ? wanted : decisions.findIndex(({ outcome }) => outcome === 'branch');
  return decision >= 0 ? { segment: decisions[decision]!.segment, decision } : { segment: 0 };
}

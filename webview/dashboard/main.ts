/** The dashboard of one run: its facts as curves, live by increments. Knows nothing of files or workers. */
import { alarms, silence } from '../../src/core/alarms.ts';
import type { Event } from '../../src/core/events.ts';
import { emptyState, foldInto, type RunState } from '../../src/core/fold.ts';
import { unpackSteps } from '../../src/core/stepColumns.ts';
import type { ViewSubject } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, keptState, report } from '../shared/host.ts';
import { registerKit } from '../shared/kit.ts';
import { onThemeChange } from '../shared/theme.ts';
import { alarmList } from './alarmList.ts';
import { SCALES, type Scale, scalesOf } from './axis.ts';
import { board, type Looked } from './board.ts';
import { controls } from './controls.ts';
import { header, type About } from './header.ts';
import { growSeams, type Seam } from './marks.ts';
import { pinnedBar } from './pinned.ts';
import { stepBar } from './stepBar.ts';
import { stepPanel } from './steps.ts';
import '../shared/shared.css';
import './dashboard.css';

registerKit();

/** How often it is looked whether a live run has fallen silent. */
const LISTEN_MS = 10_000;

let state: RunState = emptyState();
let seams: Seam[] = [];
const about: About = { name: '', isLive: true, hasGitDiff: false };
let subject: ViewSubject | undefined;
let looked: Looked = lookedOf(keptState());
let pinned: number | undefined;
/** The step that was pinned before the window was loaded again, until its facts are here. */
let pinnedBefore = pinnedOf(keptState());
let heard = performance.now();
/** What the next frame draws. */
const due = { cursor: false, all: false };
let cursor: { step: number | undefined; isTold: boolean } = { step: undefined, isTold: false };

const host = joinHost({
  events({ from, events, steps: packed, more }) {
    if (from === 0) restart();
    take(unpackSteps(events, packed), more ?? false);
  },
  show: shown => learn(shown),
});

const top = header(command => report(host.runCommand(command)));
const hints = alarmList(showEvidence);
const steps = stepPanel({
  open: id => report(host.openTree(id)),
  trees: (step, told) => report(host.trees(step).then(told)),
});
const hover = (step: number | undefined, isTold: boolean): void => {
  cursor = { step, isTold };
  due.cursor = true;
  nextFrame();
};
const bar = stepBar({ hover, pick: pin });
const charts = board({ hover, pick: pin, zoomed: () => showControls() }, looked);
const panel = controls({
  scale: scale => look({ ...looked, scale }),
  smoothing: smoothing => look({ ...looked, smoothing }),
  reset: () => charts.zoom(undefined),
});
const chosen = pinnedBar({
  open: ({ tree, path, segment }) => report(host.openTrajectory(tree, path, segment)),
  trees: () => steps.root.scrollIntoView(),
  move: by => pin((pinned ?? 0) + by),
  unpin: () => pin(undefined),
});

document.body.append(
  element(
    'main',
    {},
    top.root,
    hints.root,
    element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true }),
    element('div', { class: 'looking' }, bar.root, panel.root),
    // By the keyboard it is reached from the step bar, before all the charts.
    chosen.root,
    panel.hint,
    charts.root,
    steps.root,
  ),
);
onThemeChange(() => {
  charts.retheme();
  bar.update(state, charts.marks);
  showControls();
});
window.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.defaultPrevented && pinned !== undefined) pin(undefined);
});
setInterval(showAlarms, LISTEN_MS);
report(
  host.ready().then(answer => {
    about.name = answer.name;
    about.hasGitDiff = answer.hasGitDiff;
    learn(answer.subject);
  }),
);

/** What the facts do not say. */
function learn(shown: ViewSubject): void {
  subject = shown;
  keep();
  about.isLive = shown.isLive ?? true;
  top.update(state, about);
}

/** The window remembers what is shown and how it is looked at. */
function keep(): void {
  if (subject) keepState({ ...subject, looked, pinned: pinned ?? pinnedBefore });
}

function lookedOf(kept: unknown): Looked {
  const found = (kept as { looked?: Partial<Looked> } | undefined)?.looked;
  const isScale = (scale: unknown): scale is Scale =>
    typeof scale === 'string' && Object.hasOwn(SCALES, scale);
  const { scale, smoothing } = found ?? {};
  return {
    scale: isScale(scale) ? scale : 'step',
    smoothing: typeof smoothing === 'number' && smoothing >= 0 && smoothing < 1 ? smoothing : 0,
  };
}

function pinnedOf(kept: unknown): number | undefined {
  const found = (kept as { pinned?: unknown } | undefined)?.pinned;
  return Number.isInteger(found) ? (found as number) : undefined;
}

function restart(): void {
  state = emptyState();
  seams = [];
  drawn = '';
  charts.clear();
}

/** The next facts wait already. */
let hasMore = false;

/** `more`: what comes next is drawn along with it, unless that takes long. */
function take(events: readonly Event[], more: boolean): void {
  heard = performance.now();
  hasMore = more;
  // A resumption voids steps that the charts show already: then they start over.
  if (events.some(event => event.type === 'resumed')) {
    drawn = '';
    charts.clear();
  }
  growSeams(seams, state, events);
  foldInto(state, events);
  due.all = true;
  if (!hasMore || performance.now() - drewAt > LONGEST_WAIT_MS) nextFrame();
}

let isFrameDue = false;
/** Drawing takes at most half of the time, so that many facts at once are taken in quickly. */
let restUntil = 0;
/** Draws once a frame, however many facts or moves of the pointer come in it. */
function nextFrame(): void {
  if (isFrameDue) return;
  isFrameDue = true;
  requestAnimationFrame(began => {
    isFrameDue = false;
    const isRested = performance.now() >= restUntil;
    if (due.all && isRested) {
      due.all = false;
      due.cursor = true;
      draw();
      restUntil = 2 * performance.now() - began;
    }
    if (due.cursor) showCursor();
    due.cursor = false;
    if (due.all) nextFrame();
  });
}

/** While facts are waiting that are drawn along with these. */
const LONGEST_WAIT_MS = 1000;
/** The first facts are drawn at once. */
let drewAt = -Infinity;

/** What the charts have drawn; while a step grows most facts change none of it. */
let drawn = '';

function draw(): void {
  drewAt = performance.now();
  top.update(state, about);
  const { summaries, evaluations, checkpoints, trees } = state;
  const lengths = [summaries, evaluations, checkpoints, trees, seams].map(({ length }) => length);
  // Charts out of sight wait for the last facts, also where these are none of theirs.
  const now = [...lengths, hasMore].join(' ');
  if (now === drawn) return;
  drawn = now;
  charts.update(state, seams, hasMore);
  if (pinnedBefore !== undefined) pin(pinnedBefore);
  else if (pinned !== undefined) showPin();
  bar.update(state, charts.marks);
  showControls();
  showAlarms();
  steps.update(state);
}

function showCursor(): void {
  charts.cursor(cursor.step, cursor.isTold);
  bar.cursor(cursor.step);
}

function showControls(): void {
  panel.update({
    ...looked,
    scales: scalesOf(state.summaries),
    isZoomed: charts.isZoomed,
    marks: new Set(charts.marks.map(({ kind }) => kind)),
  });
}

function showAlarms(): void {
  const quiet = about.isLive ? silence(state, (performance.now() - heard) / 1000) : undefined;
  hints.update([...(quiet ? [quiet] : []), ...alarms(state)]);
}

function look(next: Looked): void {
  looked = next;
  charts.look(looked);
  if (pinned !== undefined) charts.pin(pinned);
  bar.update(state, charts.marks);
  showControls();
  keep();
}

/** A step that is not done has nothing to show. */
function pin(step: number | undefined): void {
  if (step !== undefined && !state.summaries.some(one => one.step === step)) return;
  pinned = step;
  pinnedBefore = undefined;
  keep();
  showPin();
  steps.select(step);
  if (step === undefined) return;
  chosen.offer(undefined);
  report(
    host.extremes(step).then(extremes => {
      if (pinned === step) chosen.offer(extremes);
    }),
  );
}

function showPin(): void {
  const step = state.summaries.find(one => one.step === pinned);
  if (!step && pinned !== undefined) {
    // It was voided: the list follows the last step again.
    pinned = undefined;
    steps.select(undefined);
    keep();
  }
  charts.pin(pinned);
  bar.pin(pinned);
  chosen.show(step);
}

function showEvidence(step: number, chart: string): void {
  pin(step);
  charts.reveal(chart);
}

/** Runs side by side: curves over each other, what each came to, and how their configurations differ; live by increments. Knows nothing of files. */
import type { Event } from '../../src/core/events.ts';
import { emptyState, foldInto, type RunState } from '../../src/core/fold.ts';
import { groupsOf, outcomesOf, type RunFacts } from '../../src/core/runComparison.ts';
import { unpackSteps } from '../../src/core/stepColumns.ts';
import type { ViewSubject } from '../../src/protocol/verbs.ts';
import type { Place } from '../charts/lines.ts';
import { forgetColours } from '../charts/look.ts';
import type { Stretch, View } from '../charts/plot.ts';
import { nameOf, scalesOf } from '../dashboard/axis.ts';
import { controls } from '../dashboard/controls.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, keptState, report } from '../shared/host.ts';
import { onThemeChange } from '../shared/theme.ts';
import { metricChart, type MetricChart } from './chart.ts';
import { axisOf, metricsOf, placeName, type Compared } from './curves.ts';
import { lookedOf, type Looked } from './looked.ts';
import { behaviourTable, differenceTable, outcomeTable } from './tables.ts';
import '../shared/shared.css';
import '../dashboard/dashboard.css';
import '../shared/report.css';
import './compare.css';

let runs: readonly RunFacts[] = [];
/** [run] those whose facts come before the runs are known grow on demand. */
const states: RunState[] = [];
let subject: ViewSubject | undefined;
let looked: Looked = lookedOf(keptState());
/** The part of the axis that is looked at. */
let zoomed: Stretch | undefined;

const stateOf = (run: number): RunState => (states[run] ??= emptyState());

const host = joinHost({
  events({ run = 0, from, events, steps: packed }) {
    if (from === 0) states[run] = emptyState();
    take(run, unpackSteps(events, packed));
  },
  show(shown) {
    subject = shown;
    report(learn());
  },
});

function take(run: number, events: readonly Event[]): void {
  foldInto(stateOf(run), events);
  drawSoon();
}

const heading = element('h1', {}, 'Compare runs');
const panel = controls({
  scale: scale => look({ scale }),
  smoothing: smoothing => look({ smoothing }),
  reset: () => zoom(undefined),
});
const voice = element('p', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
const slots: MetricChart[] = looked.metrics.map((key, index) =>
  metricChart(
    key,
    {
      hover: (place, isTold) => hover(index, place, isTold),
      pick: () => undefined,
      zoom: stretch => zoom(stretch),
    },
    () => look({ metrics: slots.map(slot => slot.key) }),
  ),
);
const target = element('input', {
  type: 'number',
  step: 0.05,
  onchange: () => {
    const value = target.valueAsNumber;
    if (Number.isFinite(value)) look({ target: value });
  },
});
const outcome = element('div', {});
const behaviour = element('div', {});
const difference = element('div', {});
document.body.append(
  element(
    'main',
    {},
    element(
      'header',
      { class: 'title' },
      heading,
      element(
        'div',
        { class: 'buttons' },
        element(
          'button',
          { type: 'button', class: 'plain', onclick: () => report(host.chooseRuns()) },
          'Choose Runs…',
        ),
      ),
    ),
    element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true }),
    element('div', { class: 'looking' }, panel.root),
    element('section', { class: 'slots', 'aria-label': 'Curves' }, ...slots.map(({ root }) => root)),
    element(
      'section',
      { 'data-section': 'outcome', 'aria-label': 'Outcome' },
      element('h2', {}, 'Outcome'),
      element('label', { class: 'target' }, 'Reward to reach ', target),
      outcome,
    ),
    element(
      'section',
      { 'data-section': 'behaviour', 'aria-label': 'Behaviour' },
      element('h2', {}, 'Behaviour'),
      behaviour,
    ),
    element(
      'section',
      { 'data-section': 'differences', 'aria-label': 'Differences' },
      element('h2', {}, 'What differs'),
      difference,
    ),
    voice,
  ),
);
onThemeChange(() => {
  forgetColours();
  for (const { chart } of slots) chart?.retheme();
});
report(
  host.ready().then(answer => {
    subject = answer.subject;
    return learn();
  }),
);

/** What the facts do not say. */
async function learn(): Promise<void> {
  runs = await host.runs();
  keep();
  heading.textContent = `Compare ${runs.length} runs`;
  difference.replaceChildren(
    differenceTable(runs, (first, second) => report(host.openConfigurations(first, second))),
  );
  drawSoon();
}

function keep(): void {
  if (subject) keepState({ ...subject, looked });
}

function look(change: Partial<Looked>): void {
  if (change.scale !== undefined && change.scale !== looked.scale) zoomed = undefined;
  looked = { ...looked, ...change };
  keep();
  drawSoon();
}

function zoom(next: Stretch | undefined): void {
  zoomed = next;
  drawSoon();
}

let isDue = false;
/** Drawing takes at most half of the time. */
let restUntil = 0;
function drawSoon(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(
    () =>
      requestAnimationFrame(began => {
        isDue = false;
        draw();
        restUntil = 2 * performance.now() - began;
      }),
    Math.max(0, restUntil - performance.now()),
  );
}

function draw(): void {
  if (runs.length === 0) return;
  const known = runs.map((_, run) => stateOf(run));
  const compared: Compared = { runs, groups: groupsOf(runs), states: known, axes: known.map(axisOf) };
  const metrics = metricsOf(known);
  const view = viewOf(compared);
  for (const slot of slots) slot.show(compared, metrics, looked, view);
  const scales = scalesOf(known.flatMap(({ summaries }) => summaries));
  panel.update({ ...looked, scales, isZoomed: zoomed !== undefined, marks: new Set() });
  drawOutcome(compared);
}

/** The same stretch for all charts, so that their cursors line up. */
function viewOf({ axes }: Compared): View {
  const { scale } = looked;
  const ends = axes.map(axis => (scale === 'step' ? axis.steps : axis[scale]).at(-1) ?? 0);
  const whole = { from: 0, to: Math.max(1, ...ends) };
  return {
    window: zoomed ?? whole,
    smoothing: looked.smoothing,
    marks: [],
    nameOf: x => nameOf(scale, x),
    pointName: x => placeName(scale, x),
    restsOnLast: true,
  };
}

function drawOutcome({ groups, states: known }: Compared): void {
  const [plain] = outcomesOf(groups.slice(0, 1), known, Infinity);
  const goal = looked.target ?? Math.floor(100 * (plain?.final?.mean ?? 0)) / 100;
  if (document.activeElement !== target) target.value = String(goal);
  const common = Math.min(...known.map(({ summaries }) => summaries.at(-1)?.step ?? 0));
  const outcomes = outcomesOf(groups, known, goal);
  const open = (run: number): void => report(host.openRun(run));
  put(outcome, outcomeTable(outcomes, runs, { target: goal, common, open }));
  put(behaviour, behaviourTable(outcomes, runs, open));
}

/** While runs are live tables are drawn anew all the time: what the keyboard is on stays. */
function put(place: HTMLElement, table: HTMLElement): void {
  if (place.firstElementChild?.isEqualNode(table)) return;
  const held = [...place.querySelectorAll('button')].findIndex(one => one === document.activeElement);
  place.replaceChildren(table);
  if (held >= 0) place.querySelectorAll('button')[held]?.focus();
}

/** A point of one chart is none of another, but its place on the axis is. */
function hover(index: number, place: Place | undefined, isTold: boolean): void {
  slots.forEach(({ chart }, i) => chart?.cursor(place && chart.placeAt(place.x), i === index));
  const { chart } = slots[index]!;
  if (isTold && place && chart) voice.textContent = chart.sentence(place.step);
}

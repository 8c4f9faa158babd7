/** All charts of the dashboard as one: they share the x axis, the window, the cursor, the pin and the marks. */
import type { RunState } from '../../src/core/fold.ts';
import { lineChart, type Hears, type LineChart, type Place } from '../charts/lines.ts';
import { forgetColours } from '../charts/look.ts';
import { emptyPlot, type Mark, type Plot, type Stretch, type View } from '../charts/plot.ts';
import { element } from '../shared/element.ts';
import { emptyAxis, growAxis, nameOf, xOf, xsOf, type Axis, type Scale } from './axis.ts';
import { GROUPS, isOfSteps } from './charts.ts';
import { marksOf, type Seam } from './marks.ts';
import type { ChartPlan, EvaluationPlan } from './plan.ts';
import { evaluationPlot, growTo, rescale, stepPlot, type StepPlot } from './plots.ts';

/** What the user chose. */
export interface Looked {
  scale: Scale;
  smoothing: number;
}

export interface Board {
  root: HTMLElement;
  readonly marks: readonly Mark[];
  readonly isZoomed: boolean;
  /** Forgets all steps. */
  clear(): void;
  /** Takes in what came since the last call. `hasMore`: what is out of sight waits for what comes next. */
  update(state: RunState, seams: readonly Seam[], hasMore: boolean): void;
  look(looked: Looked): void;
  zoom(window: Stretch | undefined): void;
  cursor(step: number | undefined, isTold: boolean): void;
  pin(step: number | undefined): void;
  /** Brings a chart into sight. */
  reveal(title: string): void;
  retheme(): void;
}

export interface BoardHears {
  hover(step: number | undefined, isTold: boolean): void;
  pick(step: number): void;
  zoomed(): void;
}

interface Kept {
  axis: Axis;
  state: RunState | undefined;
  seams: readonly Seam[];
  marks: Mark[];
  looked: Looked;
  window: Stretch | undefined;
  /** The chart under the pointer. */
  hovered: number;
  /** [chart] undefined for the chart of evaluations. What is out of sight may lack the last steps. */
  plots: (StepPlot | undefined)[];
  evaluated: Plot;
  view: View | undefined;
  /** Charts that wait for an idle moment. */
  waiting: Set<number>;
  /** The next facts wait already: no moment is idle. */
  hasMore: boolean;
  isIdling: boolean;
}

export function board(hears: BoardHears, looked: Looked): Board {
  const kept = nothing(looked);
  const voice = element('p', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
  const zoom = (window: Stretch | undefined): void => {
    kept.window = window;
    show(kept, charts);
    hears.zoomed();
  };
  const charts: LineChart[] = PLANS.map(({ title }, index) =>
    lineChart(title, hearsOf(kept, index, { ...hears, zoom, seen: () => bring(kept, charts, index) })),
  );
  const placeOf = (step: number | undefined): Place | undefined =>
    step === undefined ? undefined : { step, x: xOf(kept.axis, kept.looked.scale, step) };
  return {
    root: element('div', { class: 'board' }, ...sections(charts), voice),
    get marks() {
      return kept.marks;
    },
    get isZoomed() {
      return kept.window !== undefined;
    },
    clear() {
      Object.assign(kept, { axis: emptyAxis(), window: undefined, plots: PLANS.map(plotOf) });
    },
    update(state, seams, hasMore) {
      Object.assign(kept, { state, seams, hasMore });
      for (let i = kept.axis.steps.length; i < state.summaries.length; i++)
        growAxis(kept.axis, state.summaries[i]!);
      show(kept, charts);
    },
    look(next) {
      if (next.scale !== kept.looked.scale) {
        kept.window = undefined;
        for (const one of kept.plots) if (one) rescale(one.plot, kept.axis, next.scale);
      }
      kept.looked = next;
      show(kept, charts);
    },
    zoom,
    cursor(step, isTold) {
      const place = placeOf(step);
      charts.forEach((chart, i) => chart.cursor(place, i === kept.hovered));
      const spoken = isTold && step !== undefined ? charts[kept.hovered]?.sentence(step) : undefined;
      if (spoken !== undefined) voice.textContent = spoken;
    },
    pin: step => charts.forEach(chart => chart.pin(placeOf(step))),
    reveal: title =>
      charts[PLANS.findIndex(plan => plan.title === title)]?.root.scrollIntoView({ block: 'center' }),
    retheme() {
      forgetColours();
      for (const chart of charts) chart.retheme();
    },
  };
}

const nothing = (looked: Looked): Kept => ({
  axis: emptyAxis(),
  state: undefined,
  seams: [],
  marks: [],
  looked,
  window: undefined,
  hovered: -1,
  plots: PLANS.map(plotOf),
  evaluated: emptyPlot(),
  view: undefined,
  waiting: new Set(),
  hasMore: false,
  isIdling: false,
});

/** Charts in sight are shown at once, the others one by one when nothing else is to do, or when they come into sight. */
function show(kept: Kept, charts: readonly LineChart[]): void {
  const { axis, looked, state, seams } = kept;
  kept.marks = state ? marksOf(state, seams, { axis, scale: looked.scale }) : [];
  kept.evaluated = evaluationPlot(state?.evaluations ?? [], axis, looked.scale);
  kept.view = viewOf(kept);
  charts.forEach((_, i) => kept.waiting.add(i));
  charts.forEach((chart, i) => chart.isSeen && bring(kept, charts, i));
  if (!kept.isIdling) whenIdle(kept, charts);
}

/** Brings a chart that waits up to date. */
function bring(
  { waiting, plots, evaluated, view, axis, looked, state }: Kept,
  charts: readonly LineChart[],
  at: number,
): void {
  if (!waiting.delete(at) || !view) return;
  const one = plots[at];
  if (one) growTo(one, state?.summaries ?? [], xsOf(axis, looked.scale));
  charts[at]!.show(one?.plot ?? evaluated, view);
}

function whenIdle(kept: Kept, charts: readonly LineChart[]): void {
  kept.isIdling = kept.waiting.size > 0 && !kept.hasMore;
  if (!kept.isIdling) return;
  window.requestIdleCallback(() => {
    const [at] = kept.waiting;
    if (at !== undefined && !kept.hasMore) bring(kept, charts, at);
    whenIdle(kept, charts);
  });
}

const PLANS = GROUPS.flatMap(({ charts }) => charts);
const plotOf = (plan: ChartPlan | EvaluationPlan): StepPlot | undefined =>
  isOfSteps(plan) ? stepPlot(plan) : undefined;

/** What every chart is told to look at; all of them from the same first x to the same last, so that cursors line up. */
function viewOf({ axis, looked, marks, window }: Kept): View {
  const xs = xsOf(axis, looked.scale);
  const whole = { from: Math.min(xs[0] ?? 0, marks[0]?.x ?? Infinity), to: xs.at(-1) ?? 1 };
  return {
    window: window ?? whole,
    smoothing: looked.smoothing,
    marks,
    nameOf: x => nameOf(looked.scale, x),
  };
}

function hearsOf(
  kept: Kept,
  index: number,
  hears: BoardHears & Required<Pick<Hears, 'zoom' | 'seen'>>,
): Hears {
  return {
    hover(place, isTold) {
      kept.hovered = place === undefined ? -1 : index;
      hears.hover(place?.step, isTold);
    },
    pick: step => hears.pick(step),
    zoom: hears.zoom,
    seen: hears.seen,
  };
}

function sections(charts: readonly LineChart[]): HTMLElement[] {
  let first = 0;
  return GROUPS.map(group => {
    const own = charts.slice(first, (first += group.charts.length));
    return element(
      'section',
      { class: 'group', 'aria-label': group.title },
      element('h2', {}, group.title),
      element('div', { class: 'charts' }, ...own.map(({ root }) => root)),
    );
  });
}

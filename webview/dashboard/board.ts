/** All charts of the dashboard as one: they share the x axis, the window, the cursor, the pin and the marks. */
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { lineChart, type Hears, type LineChart, type Place } from '../charts/lines.ts';
import { forgetColours } from '../charts/look.ts';
import type { Mark, Stretch, View } from '../charts/plot.ts';
import { element } from '../shared/element.ts';
import { emptyAxis, growAxis, nameOf, xOf, type Axis, type Scale } from './axis.ts';
import { GROUPS, isOfSteps } from './charts.ts';
import { marksOf, type Seam } from './marks.ts';
import type { ChartPlan, EvaluationPlan } from './plan.ts';
import { evaluationPlot, growPlot, rescale, stepPlot, type StepPlot } from './plots.ts';

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
  /** Takes in what came since the last call. */
  update(state: RunState, seams: readonly Seam[]): void;
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
  /** [chart] undefined for the chart of evaluations. */
  plots: (StepPlot | undefined)[];
}

export function board(hears: BoardHears, looked: Looked): Board {
  const kept: Kept = {
    axis: emptyAxis(),
    state: undefined,
    seams: [],
    marks: [],
    looked,
    window: undefined,
    hovered: -1,
    plots: PLANS.map(plotOf),
  };
  const voice = element('p', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
  const zoom = (window: Stretch | undefined): void => {
    kept.window = window;
    show(kept, charts);
    hears.zoomed();
  };
  const charts = PLANS.map(({ title }, index) => lineChart(title, hearsOf(kept, index, { ...hears, zoom })));
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
    clear: () => void Object.assign(kept, { axis: emptyAxis(), window: undefined, plots: PLANS.map(plotOf) }),
    update(state, seams) {
      Object.assign(kept, { state, seams });
      for (const step of state.summaries.slice(kept.axis.steps.length)) grow(kept, step);
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

function show(kept: Kept, charts: readonly LineChart[]): void {
  const { axis, looked, state, seams, plots } = kept;
  kept.marks = state ? marksOf(state, seams, { axis, scale: looked.scale }) : [];
  const evaluated = evaluationPlot(state?.evaluations ?? [], axis, looked.scale);
  const view = viewOf(kept);
  charts.forEach((chart, i) => chart.show(plots[i]?.plot ?? evaluated, view));
}

const PLANS = GROUPS.flatMap(({ charts }) => charts);
const plotOf = (plan: ChartPlan | EvaluationPlan): StepPlot | undefined =>
  isOfSteps(plan) ? stepPlot(plan) : undefined;

function grow({ axis, looked, plots }: Kept, step: FinishedStep): void {
  growAxis(axis, step);
  const x = xOf(axis, looked.scale, step.step);
  for (const one of plots) if (one) growPlot(one, step, x);
}

/** What every chart is told to look at; all of them from the same first x to the same last, so that cursors line up. */
function viewOf({ axis, looked, marks, window }: Kept): View {
  const xs = looked.scale === 'step' ? axis.steps : axis[looked.scale];
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
  hears: BoardHears & { zoom(window: Stretch | undefined): void },
): Hears {
  return {
    hover(place, isTold) {
      kept.hovered = place === undefined ? -1 : index;
      hears.hover(place?.step, isTold);
    },
    pick: step => hears.pick(step),
    zoom: hears.zoom,
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

/** The run's numbers as the columns of its charts, grown step by step. Knows nothing of canvases. */
import type { StepSummary } from '../../src/core/events.ts';
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { glance } from '../../src/core/stepColumns.ts';
import { addPoint, addPoints, addSeries, emptyPlot, type Plot } from '../charts/plot.ts';
import { xOf, type Axis, type Scale } from './axis.ts';
import { EVALUATIONS } from './charts.ts';
import type { ChartPlan, Line } from './plan.ts';

/** A chart's columns, and the lines that they are measured by. */
export interface StepPlot {
  plan: ChartPlan;
  plot: Plot;
  lines: Line[];
  names: Set<string>;
}

export function stepPlot(plan: ChartPlan): StepPlot {
  const made: StepPlot = { plan, plot: emptyPlot(), lines: [], names: new Set() };
  for (const line of plan.lines) addLine(made, line);
  return made;
}

/** Adds all steps that the columns lack; there is one x for each. A name that was not seen before gets a series. */
export function growTo(grown: StepPlot, steps: readonly FinishedStep[], xs: readonly number[]): void {
  const { plot, lines } = grown;
  const first = plot.steps.length;
  addNames(grown, steps, first);
  const places = { steps: steps.slice(first).map(({ step }) => step), xs: xs.slice(first, steps.length) };
  addPoints(plot, places, (line, i) => lines[line]!.of(glance(steps[first + i]!)));
}

function addNames(grown: StepPlot, steps: readonly FinishedStep[], first: number): void {
  const { named } = grown.plan;
  if (!named) return;
  let last: StepSummary | undefined;
  for (let i = first; i < steps.length; i++) {
    const summary = glance(steps[i]!);
    // Steps that came together show the names of all of them.
    if (summary === last) continue;
    last = summary;
    for (const name of named.in(summary)) {
      if (grown.names.has(name)) continue;
      addLine(grown, named.line(name, grown.names.size), named.before);
      grown.names.add(name);
    }
  }
}

function addLine(grown: StepPlot, line: Line, before?: number): void {
  grown.lines.push(line);
  addSeries(grown.plot, line, before);
}

/** Evaluations by step: of a step that was evaluated again, the last. */
export function evaluationPlot(evaluations: RunState['evaluations'], axis: Axis, scale: Scale): Plot {
  const plot = emptyPlot();
  for (const line of EVALUATIONS.lines) addSeries(plot, line);
  const byStep = new Map(evaluations.map(({ step, summary }) => [step, summary]));
  for (const [step, summary] of [...byStep].sort(([a], [b]) => a - b))
    addPoint(plot, { step, x: xOf(axis, scale, step) }, i => EVALUATIONS.lines[i]!.of(summary));
  return plot;
}

/** Lays the points along another scale. */
export const rescale = (plot: Plot, axis: Axis, scale: Scale): void =>
  void (plot.xs = plot.steps.map(step => xOf(axis, scale, step)));

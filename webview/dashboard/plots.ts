/** The run's numbers as the columns of its charts, grown step by step. Knows nothing of canvases. */
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { addPoint, addSeries, emptyPlot, type Plot } from '../charts/plot.ts';
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

/** Adds a step to the columns; a name that was not seen before gets a series. */
export function growPlot(grown: StepPlot, { step, summary }: FinishedStep, x: number): void {
  for (const name of grown.plan.named?.in(summary) ?? []) {
    if (grown.names.has(name)) continue;
    addLine(grown, grown.plan.named!.line(name, grown.names.size), grown.plan.named!.before);
    grown.names.add(name);
  }
  const { lines } = grown;
  addPoint(grown.plot, { step, x }, i => lines[i]!.of(summary));
}

/** Adds all steps that the columns lack; there is one x for each. */
export function growTo(grown: StepPlot, steps: readonly FinishedStep[], xs: readonly number[]): void {
  for (let i = grown.plot.steps.length; i < steps.length; i++) growPlot(grown, steps[i]!, xs[i]!);
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

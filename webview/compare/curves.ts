/** Metrics of several runs as the columns of one chart: each run, and the mean of those that differ in their seed only. Knows nothing of canvases. */
import type { EvaluationSummary, StepSummary } from '../../src/core/events.ts';
import type { RunState } from '../../src/core/fold.ts';
import type { RunFacts, RunGroup } from '../../src/core/runComparison.ts';
import { glance } from '../../src/core/stepColumns.ts';
import { meanOf, placesOf, valuesAt, type Curve } from '../../src/core/runCurves.ts';
import type { Plot, Series } from '../charts/plot.ts';
import { smooth } from '../charts/smooth.ts';
import { emptyAxis, growAxis, nameOf, xOf, type Axis, type Scale } from '../dashboard/axis.ts';
import { EVALUATIONS, GROUPS, isOfSteps } from '../dashboard/charts.ts';
import type { ChartPlan, Line, Value } from '../dashboard/plan.ts';

/** A number that can be compared. */
export interface Metric {
  /** Its raw key. */
  key: string;
  /** Of its chart in the dashboard. */
  chart: string;
  label: string;
  meaning: string;
  /** [run] in the order of the steps. */
  of(state: RunState): { step: number; value: Value }[];
}

/** All numbers that one of the runs may have, in the dashboard's order. */
export const metricsOf = (states: readonly RunState[]): Metric[] =>
  GROUPS.flatMap(({ charts }) => charts).flatMap((plan): Metric[] =>
    isOfSteps(plan)
      ? linesOf(plan, states)
          .filter(isLine)
          .map(line => metricOf(plan.title, line, stepValues(line.of)))
      : EVALUATIONS.lines.filter(isLine).map(line => metricOf(plan.title, line, evaluationValues(line.of))),
  );

const isLine = ({ kind = 'line' }: Series): boolean => kind === 'line';

const metricOf = (chart: string, { key, label, meaning }: Series, of: Metric['of']): Metric => ({
  key,
  chart,
  label,
  meaning,
  of,
});

const stepValues =
  (of: (summary: StepSummary) => Value): Metric['of'] =>
  ({ summaries }) =>
    summaries.map(finished => ({ step: finished.step, value: of(glance(finished)) }));

/** Of a step that was evaluated again, the last. */
const evaluationValues =
  (of: (summary: EvaluationSummary) => Value): Metric['of'] =>
  ({ evaluations }) =>
    [...new Map(evaluations.map(({ step, summary }) => [step, { step, value: of(summary) }])).values()].sort(
      (a, b) => a.step - b.step,
    );

/** A chart's lines, those of names that only the runs know included. */
function linesOf({ lines, named }: ChartPlan, states: readonly RunState[]): Line[] {
  if (!named) return [...lines];
  const names = new Set(
    states.flatMap(({ summaries }) => summaries.flatMap(finished => named.in(glance(finished)))),
  );
  return [...lines, ...[...names].map((name, index) => named.line(name, index))];
}

/** Running totals of a run. */
export function axisOf({ summaries }: RunState): Axis {
  const axis = emptyAxis();
  for (const step of summaries) growAxis(axis, step);
  return axis;
}

/** What was measured of a metric, along a scale; of points at the same place the last. */
function curveOf(metric: Metric, state: RunState, axis: Axis, scale: Scale): Curve {
  const points = new Map<number, number>();
  for (const { step, value } of metric.of(state))
    if (typeof value === 'number' && Number.isFinite(value)) points.set(xOf(axis, scale, step), value);
  return { xs: [...points.keys()], ys: [...points.values()] };
}

/** Colours by group. */
const COLOURS = [
  'charts-blue',
  'charts-orange',
  'charts-green',
  'charts-purple',
  'charts-red',
  'charts-yellow',
];
export const colourOf = (group: number): string => COLOURS[group % COLOURS.length]!;
/** Every other one, so that two runs that go the same way are both seen; the colours' next round is the other way about. */
export const isDashed = (group: number): boolean => (group + Math.floor(group / COLOURS.length)) % 2 === 1;

/** What is compared. */
export interface Compared {
  runs: readonly RunFacts[];
  groups: readonly RunGroup[];
  /** [run] */
  states: readonly RunState[];
  axes: readonly Axis[];
}

/** A series with its values at the places, raw and smoothed. */
interface Drawn {
  series: Series;
  values: number[];
  smoothed: number[];
}

/** The span of a group's runs and their mean. */
function meanOfGroup(
  key: string,
  group: RunGroup,
  { look, places }: { look: Omit<Series, 'key' | 'label'>; places: readonly number[] },
  { raw, soft }: { raw: readonly Curve[]; soft: readonly Curve[] },
): Drawn[] {
  const { mean, low, high } = meanOf(raw, places);
  const edge = { ...look, meaning: `smallest to largest of the ${raw.length} runs` };
  const names = { label: `${group.name} (mean of ${raw.length})`, key: `${key}, mean` };
  return [
    {
      series: { ...edge, key: `${key}, smallest`, label: 'low', kind: 'band-low' },
      values: low,
      smoothed: low,
    },
    {
      series: { ...edge, key: `${key}, largest`, label: `${group.name} span`, kind: 'band-high' },
      values: high,
      smoothed: high,
    },
    { series: { ...look, ...names }, values: mean, smoothed: meanOf(soft, places).mean },
  ];
}

/**
 * The chart of a metric: for a group of one run its curve; for others the mean and the span of the runs where all of them have
 * values, and each run for whoever asks for it. A point stands wherever one of the runs has one.
 */
export function comparedPlot(
  metric: Metric,
  { runs, groups, states, axes }: Compared,
  { scale, smoothing }: { scale: Scale; smoothing: number },
): Plot {
  const raw = states.map((state, run) => curveOf(metric, state, axes[run]!, scale));
  const soft = raw.map(({ xs, ys }) => ({ xs, ys: smooth(ys, smoothing) }));
  const places = placesOf(raw);
  const drawn = groups.flatMap((group, index) => {
    const look = { colour: colourOf(index), dashed: isDashed(index), meaning: metric.meaning };
    const isAlone = group.runs.length === 1;
    const each = group.runs.map((run): Drawn => ({
      series: {
        key: `${metric.key} of ${runs[run]!.name}`,
        label: runs[run]!.name,
        ...look,
        ...(!isAlone && { dashed: true, isAside: true }),
      },
      values: valuesAt(raw[run]!, places),
      smoothed: valuesAt(soft[run]!, places),
    }));
    const of = (curves: readonly Curve[]): Curve[] => group.runs.map(run => curves[run]!);
    return isAlone
      ? each
      : [
          ...meanOfGroup(
            `${metric.key} of ${group.name}`,
            group,
            { look, places },
            { raw: of(raw), soft: of(soft) },
          ),
          ...each,
        ];
  });
  return {
    series: drawn.map(({ series }) => series),
    xs: places,
    steps: scale === 'step' ? places : places.map((_, index) => index),
    values: drawn.map(({ values }) => values),
    smoothed: drawn.map(({ smoothed }) => smoothed),
  };
}

/** `step 12`, `1.2 k tool calls`. */
export function placeName(scale: Scale, x: number): string {
  if (scale === 'step') return `step ${x}`;
  const unit = { tokens: ' tokens', calls: ' tool calls', time: '' }[scale];
  return `${nameOf(scale, x)}${unit}`;
}

/** What a chart draws: series over steps, and what is looked at of them. Knows nothing of canvases or of what the numbers mean. */

export interface Series {
  /** Unique in its chart; the raw key of the number in the journal. */
  key: string;
  label: string;
  /** VS Code theme colour, e.g. `charts-blue`. */
  colour: string;
  /** What the number is: a formula or a sentence. */
  meaning: string;
  /** The two bands of a chart stand side by side, low first, and are filled between. Default `line`. */
  kind?: 'line' | 'band-low' | 'band-high';
  dashed?: boolean;
  /** Not drawn until it is asked for in the legend. */
  isAside?: boolean;
}

/** Columns of the same length; steps and xs ascend. */
export interface Plot {
  series: Series[];
  /** [point] */
  steps: number[];
  /** [point] place on the x axis. */
  xs: number[];
  /** [series][point] NaN where not measured. */
  values: number[][];
  /** [series][point] the smoothed values, where points are not evenly measured; else they are smoothed as they stand. */
  smoothed?: number[][];
}

/** A stretch of the x axis. */
export interface Stretch {
  from: number;
  to: number;
}

export type MarkKind = 'checkpoint' | 'evaluation' | 'resume' | 'config';

/** Something that happened at a step. */
export interface Mark {
  kind: MarkKind;
  step: number;
  x: number;
  text: string;
}

/** What is looked at, the same for all charts. */
export interface View {
  /** Absent: everything. */
  window?: Stretch;
  /** Weight of what came before, in [0, 1). */
  smoothing: number;
  marks: readonly Mark[];
  /** Names a place on the x axis. */
  nameOf(x: number): string;
  /** What a point is called by its place, where steps say nothing: `1.2 k tool calls`. */
  pointName?(x: number): string;
  /** Without a cursor, legends show each series' last measured value, not what was measured last. */
  restsOnLast?: boolean;
}

export const emptyPlot = (): Plot => ({ series: [], steps: [], xs: [], values: [] });

/** Adds a series; where nothing else is said it was not measured at the points so far. */
export function addSeries(plot: Plot, series: Series, before = NaN): void {
  plot.series.push(series);
  plot.values.push(plot.steps.map(() => before));
}

/** Adds a point with a value per series; null, undefined and infinite values were not measured. */
export function addPoint(
  plot: Plot,
  place: { step: number; x: number },
  valueOf: (series: number) => number | null | undefined,
): void {
  plot.steps.push(place.step);
  plot.xs.push(place.x);
  plot.values.forEach((column, series) => column.push(measured(valueOf(series))));
}

/** Adds points, one series after the other. */
export function addPoints(
  plot: Plot,
  { steps, xs }: { steps: readonly number[]; xs: readonly number[] },
  valueOf: (series: number, point: number) => number | null | undefined,
): void {
  for (let i = 0; i < steps.length; i++) {
    plot.steps.push(steps[i]!);
    plot.xs.push(xs[i]!);
  }
  plot.values.forEach((column, series) => {
    for (let i = 0; i < steps.length; i++) column.push(measured(valueOf(series, i)));
  });
}

const measured = (value: number | null | undefined): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : NaN;

/** Index of the last number that is at most `value` among ascending ones; -1 for none. */
export function indexAt(ascending: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Index of the number next to `value`; -1 where there are none. */
export function nearestIndex(ascending: ArrayLike<number>, value: number): number {
  const before = indexAt(ascending, value);
  if (before < 0) return ascending.length > 0 ? 0 : -1;
  if (before === ascending.length - 1) return before;
  return value - ascending[before]! <= ascending[before + 1]! - value ? before : before + 1;
}

/** How charts look: Chart.js options and datasets in the window's theme. Knows nothing of steps or of what is hovered. */
import {
  Chart,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Ticks,
  type ChartDataset,
  type ChartOptions,
  type Tick,
} from 'chart.js';
import { MINUS, withoutZero } from '../../src/core/figures.ts';
import { number } from '../shared/format.ts';
import { faded, isHighContrast, themeColour as readColour } from '../shared/theme.ts';
import { decimate, type Point } from './decimate.ts';
import type { Mark, MarkKind, Plot, Series, View } from './plot.ts';
import { smooth } from './smooth.ts';

Chart.register(LineController, LineElement, PointElement, LinearScale, Filler);

export type Drawing = Chart<'line', Point[]>;
type Lines = ChartDataset<'line', Point[]>;
type Axes = NonNullable<ChartOptions<'line'>['scales']>;

/** Reading a colour makes the browser compute styles, and a paint asks for hundreds. */
const colours = new Map<string, string>();
/** After a change of theme. */
export const forgetColours = (): void => colours.clear();
function themeColour(name: string): string {
  const known = colours.get(name) ?? readColour(name);
  colours.set(name, known);
  return known;
}

/** Below so many points each is drawn as a dot. */
const DOTS = 80;
/** So few that there is hardly a line to see. */
const FEW = 3;

/** Chart.js draws; hovering, zooming and the legend are ours. */
export function makeDrawing(
  canvas: HTMLCanvasElement,
  { lines, axes, marks }: { lines: Lines[]; axes: Axes; marks: () => readonly Mark[] },
): Drawing {
  return new Chart<'line', Point[]>(canvas, {
    type: 'line',
    data: { datasets: lines },
    options: { ...OPTIONS, scales: axes },
    plugins: [{ id: 'marks', beforeDatasetsDraw: chart => drawMarks(chart, marks()) }],
  });
}

const OPTIONS: ChartOptions<'line'> = {
  animation: false,
  parsing: false,
  normalized: true,
  // Its own way of asking for the canvas' size makes the browser lay the page out once a chart.
  responsive: false,
  maintainAspectRatio: false,
  events: [],
  // Marks stand above the curves.
  layout: { padding: { top: 9 } },
  // A narrow picture of thousands of points must not be twice as dear on a dense screen.
  devicePixelRatio: Math.min(2, globalThis.devicePixelRatio || 1),
};

/** As Chart.js writes it, and as the numbers beside the chart are written. */
function bareTick(
  this: unknown,
  ...[value, index, ticks]: [value: string | number, index: number, ticks: Tick[]]
): string {
  const { numeric } = Ticks.formatters;
  const written = withoutZero(
    numeric.call(this as ThisParameterType<typeof numeric>, Number(value), index, ticks),
  );
  return written.includes('E') ? number(Number(value)) : written.replace('-', MINUS);
}

/** Axes in the theme's colours. */
export function scales(plot: Plot, view: View, range: readonly [number, number] | undefined): Axes {
  const text = themeColour('descriptionForeground');
  const grid = faded(themeColour('foreground'), isHighContrast() ? 0.3 : 0.1);
  const common = { grid: { color: grid, tickLength: 4 }, border: { display: false } } as const;
  const ticks = { color: text, maxRotation: 0, font: { size: 10 } } as const;
  const { from, to } = view.window ?? { from: plot.xs[0] ?? 0, to: plot.xs.at(-1) ?? 1 };
  return {
    x: {
      ...common,
      type: 'linear',
      // A single step stands in the middle.
      min: to > from ? from : from - 1,
      max: to > from ? to : from + 1,
      ticks: {
        ...ticks,
        precision: 0,
        autoSkipPadding: 18,
        maxTicksLimit: 7,
        callback: value => view.nameOf(Number(value)),
      },
    },
    y: {
      ...common,
      type: 'linear',
      // Where all is 0 an axis from −1 to 1 would look like something.
      ...(range?.[0] === 0 && range[1] === 0 && { min: 0, max: 1 }),
      ticks: { ...ticks, maxTicksLimit: 6, callback: bareTick },
    },
  };
}

/** A line, its raw values faintly behind it where it is smoothed, or an edge of a band. */
export function datasets(
  plot: Plot,
  view: View,
  { isShown, pixels }: { isShown: (series: Series) => boolean; pixels: number },
): Lines[] {
  return plot.series.flatMap((series, i): Lines[] => {
    const ys = plot.values[i]!;
    // The edges of a band come and go together.
    if (!isShown(series.kind === 'band-low' ? plot.series[i + 1]! : series)) return [];
    const reduced = (values: ArrayLike<number>): Point[] => decimate(plot.xs, values, view.window, pixels);
    const colour = themeColour(series.colour);
    if (series.kind === 'band-low' || series.kind === 'band-high')
      return [bandEdge(reduced(ys), series.kind, colour)];
    const style = {
      borderDash: series.dashed ? [5, 3] : [],
      borderWidth: isHighContrast() ? 2 : 1.5,
      // Under a solid line a dashed one would not be seen; the other way about both are.
      order: series.dashed ? 0 : 1,
    };
    if (view.smoothing === 0) return [line(reduced(ys), { ...style, borderColor: colour })];
    const raw = line(reduced(ys), { ...style, borderWidth: 1, borderColor: faded(colour, 0.3) });
    return [
      raw,
      line(reduced(plot.smoothed?.[i] ?? smooth(ys, view.smoothing)), { ...style, borderColor: colour }),
    ];
  });
}

function line(points: Point[], style: Partial<Lines>): Lines {
  const radius = points.length <= FEW ? 3 : points.length <= DOTS ? 1.5 : 0;
  // A value between two gaps has no line through it.
  const isAlone = (i: number): boolean =>
    Number.isNaN(points[i - 1]?.y ?? NaN) && Number.isNaN(points[i + 1]?.y ?? NaN);
  const hasAlone = radius === 0 && points.some((point, i) => !Number.isNaN(point.y) && isAlone(i));
  return {
    data: points,
    tension: 0,
    fill: false,
    pointRadius: hasAlone ? points.map((_, i) => (isAlone(i) ? 1.5 : 0)) : radius,
    pointBorderWidth: 0,
    ...(style.borderColor !== undefined && { pointBackgroundColor: style.borderColor }),
    ...style,
  };
}

function bandEdge(points: Point[], kind: 'band-low' | 'band-high', colour: string): Lines {
  return {
    data: points,
    tension: 0,
    borderWidth: isHighContrast() ? 1 : 0,
    borderColor: faded(colour, 0.6),
    pointRadius: 0,
    order: 2,
    fill: kind === 'band-high' ? '-1' : false,
    backgroundColor: faded(colour, isHighContrast() ? 0.3 : 0.16),
  };
}

/** What stands for each kind of mark, where colour is not seen: a shape, and a line right down for what breaks a curve. */
export const MARKS: Record<MarkKind, { colour: string; glyph: string; isLine: boolean; name: string }> = {
  config: { colour: 'charts-purple', glyph: '●', isLine: true, name: 'configuration changed' },
  resume: { colour: 'charts-orange', glyph: '▲', isLine: true, name: 'resumed' },
  evaluation: { colour: 'charts-green', glyph: '◆', isLine: false, name: 'evaluation' },
  checkpoint: { colour: 'charts-blue', glyph: '■', isLine: false, name: 'checkpoint' },
};

/** Glyphs are not drawn nearer to each other than this; the rarer kinds come first. */
const MARK_PIXELS = 8;

/**
 * Calls back for every mark that has room, rare kinds first. A checkpoint that shares its place with another mark, as one that was
 * evaluated does, is a frame around it.
 */
export function placeMarks(
  marks: readonly Mark[],
  pixelOf: (mark: Mark) => number,
  draw: (kind: MarkKind, pixel: number, isFrame: boolean) => void,
): void {
  /** Pixel by slot. */
  const taken = new Map<number, number>();
  const framed = new Set<number>();
  for (const kind of Object.keys(MARKS) as MarkKind[])
    for (const mark of marks) {
      if (mark.kind !== kind) continue;
      const pixel = pixelOf(mark);
      const slot = Math.round(pixel / MARK_PIXELS);
      if (Number.isNaN(pixel)) continue;
      const isFrame = kind === 'checkpoint' && taken.get(slot) === pixel && !framed.has(slot);
      if (taken.has(slot) && !isFrame) continue;
      if (isFrame) framed.add(slot);
      else taken.set(slot, pixel);
      draw(kind, pixel, isFrame);
    }
}

/** A square around the glyph whose top is at `y`. */
export const frame = (context: CanvasRenderingContext2D, x: number, y: number): void => {
  context.lineWidth = 1;
  context.setLineDash([]);
  context.strokeRect(x - MARK_PIXELS / 2, y - 0.5, MARK_PIXELS, MARK_PIXELS);
};

function drawMarks({ ctx, chartArea, scales: axes }: Chart, marks: readonly Mark[]): void {
  const { left, right, top, bottom } = chartArea;
  ctx.save();
  ctx.font = '8px sans-serif';
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  const pixelOf = ({ x }: Mark): number => {
    const pixel = axes['x']?.getPixelForValue(x) ?? NaN;
    return pixel >= left - 1 && pixel <= right + 1 ? pixel : NaN;
  };
  placeMarks(marks, pixelOf, (kind, pixel, isFrame) => {
    const { colour, glyph, isLine } = MARKS[kind];
    ctx.fillStyle = ctx.strokeStyle = themeColour(colour);
    if (isFrame) return frame(ctx, pixel, top - MARK_PIXELS);
    if (isLine) {
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(pixel, top);
      ctx.lineTo(pixel, bottom);
      ctx.stroke();
    }
    ctx.fillText(glyph, pixel, top);
  });
  ctx.restore();
}

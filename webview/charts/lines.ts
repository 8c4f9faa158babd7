/** A line chart over steps: series, an optional band and marked points; follows the theme and grows by increments. */
import {
  Chart,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  ScatterController,
  Tooltip,
  type ChartDataset,
  type ChartOptions,
  type Point,
} from 'chart.js';
import { element } from '../shared/element.ts';
import { number } from '../shared/format.ts';
import { faded, isHighContrast, themeColour } from '../shared/theme.ts';

Chart.register(
  LineController,
  ScatterController,
  LineElement,
  PointElement,
  LinearScale,
  Tooltip,
  Legend,
  Filler,
);

export interface Series {
  label: string;
  /** VS Code theme colour, e.g. `charts-blue`. */
  colour: string;
  /** What the number is, for the tooltip: formula and raw key. */
  meaning: string;
  kind?: 'line' | 'points' | 'band-low' | 'band-high';
  dashed?: boolean;
}

export interface LineChart {
  root: HTMLElement;
  /** Adds one x with a value per series; undefined is "not measured" and leaves a gap. */
  add(x: number, values: readonly (number | undefined)[]): void;
  clear(): void;
  /** Draws what was added since the last call. */
  paint(): void;
  /** Reads the theme again. */
  retheme(): void;
}

/** `picked` hears the x of a point that was clicked. */
export function lineChart(title: string, series: readonly Series[], picked: (x: number) => void): LineChart {
  const canvas = element('canvas', { role: 'img', tabindex: 0 });
  const empty = element('p', { class: 'quiet empty' }, 'Not logged yet.');
  const root = element(
    'section',
    { class: 'chart' },
    element('h2', {}, title),
    element('div', { class: 'canvas' }, canvas),
    empty,
  );
  const points: Point[][] = series.map(() => []);
  const chart = new Chart(canvas, {
    type: 'line',
    data: { datasets: series.map((one, i) => dataset(one, points[i]!)) },
    options: options(series, (line, index) => {
      const x = points[line]?.[index]?.x;
      if (typeof x === 'number') picked(x);
    }),
  });
  const retheme = (): void => {
    dress(chart, series);
    chart.update('none');
  };
  retheme();
  return {
    root,
    retheme,
    add(x, values) {
      values.forEach((value, i) =>
        points[i]!.push({ x, y: value !== undefined && Number.isFinite(value) ? value : NaN }),
      );
    },
    clear() {
      for (const list of points) list.length = 0;
    },
    paint() {
      empty.hidden = points.some(list => list.some(isMeasured));
      canvas.setAttribute('aria-label', describe(title, series, points));
      chart.update('none');
    },
  };
}

function options(
  series: readonly Series[],
  hit: (line: number, index: number) => void,
): ChartOptions<'line'> {
  return {
    animation: false,
    parsing: false,
    normalized: true,
    responsive: true,
    maintainAspectRatio: false,
    interaction: { mode: 'index', axis: 'x', intersect: false },
    onClick: (_, hits) => {
      if (hits[0]) hit(hits[0].datasetIndex, hits[0].index);
    },
    scales: { x: { type: 'linear', ticks: { precision: 0 } }, y: { type: 'linear' } },
    plugins: {
      legend: {
        position: 'bottom',
        labels: {
          boxWidth: 14,
          boxHeight: 2,
          filter: item => series[item.datasetIndex ?? 0]?.kind !== 'band-low',
        },
      },
      tooltip: {
        callbacks: {
          title: items => (items[0] ? `Step ${items[0].parsed.x}` : ''),
          label: item =>
            `${series[item.datasetIndex]!.label} ${number(item.parsed.y)} — ${series[item.datasetIndex]!.meaning}`,
        },
      },
    },
  };
}

function dataset(series: Series, data: Point[]): ChartDataset<'line', Point[]> {
  const isBand = series.kind?.startsWith('band') ?? false;
  return {
    label: series.label,
    data,
    showLine: series.kind !== 'points',
    borderWidth: isBand ? 0 : 1.5,
    borderDash: series.dashed ? [5, 4] : [],
    pointRadius: series.kind === 'points' ? 4 : isBand ? 0 : 1.5,
    pointHitRadius: 8,
    pointStyle: series.kind === 'points' ? 'rectRot' : 'circle',
    fill: series.kind === 'band-high' ? '-1' : false,
    tension: 0,
  };
}

/** Chart.js does not follow the editor's theme: hand it the colours. */
function dress(chart: Chart<'line', Point[]>, series: readonly Series[]): void {
  const text = themeColour('foreground');
  const grid = faded(text, isHighContrast() ? 0.3 : 0.12);
  chart.data.datasets.forEach((one, i) => {
    const colour = themeColour(series[i]!.colour);
    one.borderColor = colour;
    one.pointBackgroundColor = colour;
    one.backgroundColor = faded(colour, isHighContrast() ? 0.35 : 0.18);
  });
  for (const scale of Object.values(chart.options.scales ?? {})) {
    scale!.grid = { color: grid };
    scale!.ticks = { ...scale!.ticks, color: text };
  }
  const { legend, tooltip } = chart.options.plugins!;
  legend!.labels!.color = text;
  Object.assign(tooltip!, {
    backgroundColor: themeColour('editorHoverWidget-background', '#222222'),
    titleColor: themeColour('editorHoverWidget-foreground', text),
    bodyColor: themeColour('editorHoverWidget-foreground', text),
    borderColor: themeColour('editorHoverWidget-border', text),
    borderWidth: 1,
  });
}

const isMeasured = ({ y }: Point): boolean => !Number.isNaN(y);

/** What a screen reader says instead of the picture. */
function describe(title: string, series: readonly Series[], points: readonly Point[][]): string {
  const parts = series.flatMap((one, i) => {
    const list = points[i]!.filter(isMeasured);
    const last = list.at(-1);
    if (!last || one.kind?.startsWith('band')) return [];
    return [`${one.label} ${number(list[0]!.y)} at step ${list[0]!.x}, ${number(last.y)} at step ${last.x}`];
  });
  return `${title}: ${parts.length > 0 ? parts.join('; ') : 'not logged yet'}.`;
}

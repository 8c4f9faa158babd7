/** One chart of the comparison, with the choice of what it shows. Knows nothing of the host. */
import { lineChart, type Hears, type LineChart } from '../charts/lines.ts';
import type { View } from '../charts/plot.ts';
import type { Scale } from '../dashboard/axis.ts';
import { element } from '../shared/element.ts';
import { comparedPlot, type Compared, type Metric } from './curves.ts';

export interface MetricChart {
  root: HTMLElement;
  /** Key of the metric that is shown. */
  readonly key: string;
  /** Undefined before the first show. */
  readonly chart: LineChart | undefined;
  show(
    compared: Compared,
    metrics: readonly Metric[],
    how: { scale: Scale; smoothing: number },
    view: View,
  ): void;
}

/** `chosen` hears of another metric; the chart is then to be shown again. */
export function metricChart(start: string, hears: Hears, chosen: () => void): MetricChart {
  const root = element('div', { class: 'slot' });
  let key = start;
  let drawn: { key: string; chart: LineChart } | undefined;
  let offered = '';
  const select = element('select', {
    class: 'plain',
    'aria-label': 'What the chart shows',
    onchange: () => {
      key = select.value;
      chosen();
    },
  });
  return {
    root,
    get key() {
      return key;
    },
    get chart() {
      return drawn?.chart;
    },
    show(compared, metrics, how, view) {
      const metric = metrics.find(one => one.key === key) ?? metrics[0];
      if (!metric) return;
      const hadFocus = document.activeElement === select;
      if (drawn?.key !== metric.key) {
        drawn = { key: metric.key, chart: lineChart(`${metric.chart}: ${metric.label}`, hears) };
        drawn.chart.root.querySelector('h3')?.replaceChildren(select);
        root.replaceChildren(drawn.chart.root);
        // It was moved, which takes the keyboard away from it.
        if (hadFocus) select.focus();
      }
      const keys = metrics.map(one => one.key).join(' ');
      if (keys !== offered) select.replaceChildren(...options(metrics));
      offered = keys;
      select.value = metric.key;
      select.title = `${metric.meaning} (${metric.key})`;
      drawn.chart.show(comparedPlot(metric, compared, how), view);
    },
  };
}

/** By the dashboard's charts. */
function options(metrics: readonly Metric[]): HTMLElement[] {
  const charts = [...new Set(metrics.map(({ chart }) => chart))];
  return charts.map(chart => {
    const own = metrics.filter(metric => metric.chart === chart);
    const named = own.map(({ key, label }) =>
      element('option', { value: key }, own.length > 1 ? `${chart}: ${label}` : chart),
    );
    return element('optgroup', { label: chart }, ...named);
  });
}

/** What a chart says under the pointer: every value with its formula and raw key, and what happened there. */
import { element } from '../shared/element.ts';
import { number } from '../shared/format.ts';
import { MARKS } from './look.ts';
import { smooth } from './smooth.ts';
import { bandSpan, swatch } from './swatch.ts';
import type { Plot, Series, View } from './plot.ts';

interface Subject {
  plot: Plot;
  view: View;
  isShown(series: Series): boolean;
}

export function fillReadout(
  root: HTMLElement,
  { plot, view, isShown }: Subject,
  { index, step, x }: { index: number; step: number; x: number },
): void {
  const name = view.nameOf(x);
  const place = name === String(step) ? '' : ` · ${name}`;
  const rows = plot.series.flatMap((series, i) => {
    if (series.kind === 'band-low' || !isShown(series)) return [];
    const value = plot.values[i]![index];
    const isBand = series.kind === 'band-high';
    const text = isBand ? bandSpan(plot.values[i - 1]![index], value) : number(value);
    const smoothed =
      view.smoothing > 0 && !isBand
        ? ` (${number((plot.smoothed?.[i] ?? smooth(plot.values[i]!, view.smoothing))[index])})`
        : '';
    const isMissing = value === undefined || Number.isNaN(value);
    return [
      element(
        'div',
        { class: 'row' },
        swatch(series),
        element('span', {}, `${series.label} `, element('b', {}, isMissing ? 'not logged' : text), smoothed),
        element('span', { class: 'quiet' }, series.meaning),
        element('code', {}, isBand ? `${plot.series[i - 1]!.key}, ${series.key}` : series.key),
      ),
    ];
  });
  const marks = view.marks.filter(mark => mark.step === step);
  const measured =
    plot.steps[index] === step ? `Step ${step}` : `Step ${step}, measured at step ${plot.steps[index]}`;
  root.replaceChildren(
    element('div', { class: 'title' }, view.pointName?.(x) ?? measured + place),
    ...rows,
    ...marks.map(({ kind, text }) => element('div', { class: 'mark' }, `${MARKS[kind].glyph} ${text}`)),
  );
}

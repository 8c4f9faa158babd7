/** A chart's legend: which line is which, its value at the cursor, and a switch for each. Knows nothing of drawing. */
import { element } from '../shared/element.ts';
import { number } from '../shared/format.ts';
import { bandSpan, swatch } from './swatch.ts';
import type { Plot, Series } from './plot.ts';

export interface Legend {
  root: HTMLElement;
  show(plot: Plot, isShown: (series: Series) => boolean): void;
  press(isShown: (series: Series) => boolean): void;
  /** Values at a point, -1 for none; undefined for each series' last one. */
  values(plot: Plot, index: number | undefined): void;
}

interface Entry {
  series: Series;
  button: HTMLElement;
  value: HTMLElement;
}

export function legend(toggle: (series: Series) => void): Legend {
  const root = element('div', { class: 'legend' });
  let entries: (Entry | undefined)[] = [];
  let isLogged: boolean[] = [];
  const makeEntry = (series: Series): Entry | undefined => {
    // A band has two edges and one name.
    if (series.kind === 'band-low') return undefined;
    const value = element('span', { class: 'value' });
    const button = element(
      'button',
      { type: 'button', title: `${series.meaning} (${series.key})`, onclick: () => toggle(series) },
      swatch(series),
      `${series.label} `,
      value,
    );
    root.append(button);
    return { series, button, value };
  };
  const press = (isShown: (series: Series) => boolean): void => {
    for (const entry of entries) entry?.button.setAttribute('aria-pressed', String(isShown(entry.series)));
  };
  return {
    root,
    press,
    show({ series, values }, isShown) {
      isLogged = values.map(column => column.some(value => !Number.isNaN(value)));
      if (series.length < entries.length) {
        root.replaceChildren();
        entries = [];
      }
      if (series.length === entries.length) return;
      for (const one of series.slice(entries.length)) entries.push(makeEntry(one));
      press(isShown);
    },
    values(plot, index) {
      entries.forEach((entry, i) => {
        if (!entry) return;
        const column = plot.values[i] ?? [];
        const at = index ?? column.findLastIndex(one => !Number.isNaN(one));
        const value = column[at];
        const isBand = entry.series.kind === 'band-high';
        const text = !isLogged[i]
          ? 'not logged'
          : isBand
            ? bandSpan(plot.values[i - 1]?.[at], value)
            : number(value);
        if (entry.value.textContent !== text) entry.value.textContent = text;
      });
    },
  };
}

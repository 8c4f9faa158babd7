/** Facts and tables of a report as elements. Knows nothing of what they say. */
import type { Fact, Table } from '../../src/core/report.ts';
import { element, svg } from './element.ts';

export const factList = (facts: readonly Fact[]): HTMLElement =>
  element(
    'dl',
    { class: 'facts' },
    ...facts.map(({ label, value, note }) =>
      element(
        'div',
        {},
        element('dt', {}, label),
        element(
          'dd',
          {},
          value,
          ...(note === undefined ? [] : [element('span', { class: 'quiet' }, ` · ${note}`)]),
        ),
      ),
    ),
  );

/** A column of bare numbers, whose digits stand below each other; one with bars begins with its bars. */
const isNumeric = (rows: Table['rows'], column: number): boolean =>
  column > 0 &&
  rows.every(row => row[column]?.share === undefined && /^[+\u2212]?\.?\d/.test(row[column]?.text ?? '0'));

/** Each row's first cell is its head. */
export function tableOf({ heads, rows }: Table, caption: string): HTMLElement {
  const lookOf = heads.map((_, column) => (isNumeric(rows, column) ? { class: 'numeric' } : {}));
  return element(
    'div',
    { class: 'wide' },
    element(
      'table',
      {},
      element('caption', { class: 'visually-hidden' }, caption),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...heads.map((head, column) => element('th', { scope: 'col', ...lookOf[column] }, head)),
        ),
      ),
      element(
        'tbody',
        {},
        ...rows.map(([first, ...cells]) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, first?.text),
            ...cells.map(({ text, share }, i) =>
              element('td', lookOf[i + 1] ?? {}, share === undefined ? undefined : shareBar(share), text),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A share in [0, 1] as a bar; the number stands beside it. */
export const shareBar = (share: number): SVGElement =>
  svg(
    'svg',
    { class: 'share', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': true },
    svg('rect', { width: 100 * Math.min(1, Math.max(0, share)), height: 10 }),
  );

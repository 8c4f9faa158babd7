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

/** Each row's first cell is its head. */
export const tableOf = ({ heads, rows }: Table, caption: string): HTMLElement =>
  element(
    'div',
    { class: 'wide' },
    element(
      'table',
      {},
      element('caption', { class: 'visually-hidden' }, caption),
      element('thead', {}, element('tr', {}, ...heads.map(head => element('th', { scope: 'col' }, head)))),
      element(
        'tbody',
        {},
        ...rows.map(([first, ...cells]) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, first?.text),
            ...cells.map(({ text, share }) =>
              element('td', {}, share === undefined ? undefined : shareBar(share), text),
            ),
          ),
        ),
      ),
    ),
  );

/** A share in [0, 1] as a bar; the number stands beside it. */
export const shareBar = (share: number): SVGElement =>
  svg(
    'svg',
    { class: 'share', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': true },
    svg('rect', { width: 100 * Math.min(1, Math.max(0, share)), height: 10 }),
  );

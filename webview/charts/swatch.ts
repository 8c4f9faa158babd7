/** How a line is recognised in legends and readouts. Knows nothing of either. */
import { svg } from '../shared/element.ts';
import { number } from '../shared/format.ts';
import type { Series } from './plot.ts';

/** A short stretch of the line, or a block for a band. */
export function swatch(series: Series): SVGElement {
  // High-contrast themes leave orange out.
  const colour = `var(--vscode-${series.colour}, #d18616)`;
  const isBand = series.kind?.startsWith('band') ?? false;
  const line = svg('line', {
    x1: 0,
    y1: 5,
    x2: 14,
    y2: 5,
    'stroke-width': isBand ? 9 : 2,
    'stroke-opacity': isBand ? 0.35 : 1,
    'stroke-dasharray': series.dashed ? '4 3' : undefined,
  });
  line.style.stroke = colour;
  return svg('svg', { class: 'swatch', width: 14, height: 10, 'aria-hidden': true }, line);
}

/** `.10 to .90`. */
export const bandSpan = (low: number | undefined, high: number | undefined): string =>
  low === undefined || Number.isNaN(low) ? '–' : `${number(low)} to ${number(high)}`;

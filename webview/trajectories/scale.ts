/** Which rows of a long list are in sight, and where. Knows nothing of the DOM. */

/** Browsers lay out no more than some 33 million pixels: a longer list is scrolled in proportion. */
export const TALLEST = 10_000_000;
/** Rows above and below those in sight. */
const SPARE = 4;

export interface Extent {
  count: number;
  /** Pixels. */
  rowHeight: number;
  /** Pixels that are in sight. */
  view: number;
}

/** Pixels that the scrollbar stands for. */
export const tall = ({ count, rowHeight }: Extent): number => Math.min(count * rowHeight, TALLEST);

const hidden = ({ count, rowHeight, view }: Extent): number => Math.max(0, count * rowHeight - view);

/** Pixels of the list above what is in sight. */
export function above(extent: Extent, scrollTop: number): number {
  const range = tall(extent) - extent.view;
  return range <= 0 ? 0 : Math.min(1, scrollTop / range) * hidden(extent);
}

/** The scroll position that has so many pixels of the list above. */
export function scrollTopOf(extent: Extent, pixels: number): number {
  const most = hidden(extent);
  return most === 0 ? 0 : (Math.min(most, Math.max(0, pixels)) / most) * (tall(extent) - extent.view);
}

/** Rows to draw: half-open. */
export function inSight(extent: Extent, scrollTop: number): { from: number; to: number } {
  const top = above(extent, scrollTop);
  return {
    from: Math.max(0, Math.floor(top / extent.rowHeight) - SPARE),
    to: Math.min(extent.count, Math.ceil((top + extent.view) / extent.rowHeight) + SPARE),
  };
}

/** The scroll position that brings a row into sight, the nearest to the one that is. */
export function towards(extent: Extent, scrollTop: number, index: number): number {
  const top = above(extent, scrollTop);
  const at = index * extent.rowHeight;
  if (at < top) return scrollTopOf(extent, at);
  const bottom = at + extent.rowHeight;
  return bottom > top + extent.view ? scrollTopOf(extent, bottom - extent.view) : scrollTop;
}

/** Where a key goes from a row; undefined for other keys. */
export function keyTarget(
  key: string,
  index: number,
  { count, rowHeight, view }: Extent,
): number | undefined {
  const page = Math.max(1, Math.floor(view / rowHeight) - 1);
  const targets: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + page,
    PageUp: index - page,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? undefined : Math.max(0, Math.min(count - 1, target));
}

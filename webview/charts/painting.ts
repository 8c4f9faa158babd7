/** A canvas that is painted when it is in sight, and where things lie on it. Knows nothing of pointers or legends. */
import { extent } from './decimate.ts';
import { datasets, makeDrawing, scales, type Drawing } from './look.ts';
import type { Plot, Series, View } from './plot.ts';

export interface Shown {
  plot: Plot;
  view: View;
}

export interface Painting {
  /** Whether the canvas is in sight. */
  readonly isSeen: boolean;
  /** Undefined before anything was shown. */
  readonly shown: Shown | undefined;
  show(shown: Shown): void;
  /** Paints again, now if it is in sight. */
  paint(): void;
  /** Where the x axis ends; undefined before anything was painted. */
  axis(): { min: number; max: number } | undefined;
  xAt(pixel: number): number;
  /** Puts a vertical line at x, or hides it where that is out of the picture. */
  place(line: HTMLElement, x: number | undefined): void;
  isOnRight(x: number): boolean;
}

/**
 * `seen` hears when the canvas comes into sight, before it is painted if it was not yet; `painted` hears of every paint, with the exact minimum and maximum of what is in view: what lies over the canvas must be
 * placed again.
 */
export function paintingOf(
  canvas: HTMLCanvasElement,
  isShown: (series: Series) => boolean,
  { painted, seen }: { painted(range: [number, number] | undefined): void; seen(): void },
): Painting {
  let shown: Shown | undefined;
  let drawing: Drawing | undefined;
  let isSeen = false;
  let isOld = false;
  /** In CSS pixels. Asking the canvas would make the browser lay the page out in the middle of a paint. */
  let size: Size = { width: 0, height: 0 };
  const paint = (): void => {
    isOld = !isSeen;
    if (!shown || !isSeen) return;
    const { plot, view } = shown;
    const lines = datasets(plot, view, { isShown, pixels: Math.max(LEAST_PIXELS, Math.floor(size.width)) });
    const range = rangeOf(shown, isShown);
    const axes = scales(plot, view, range);
    if (drawing) {
      drawing.data.datasets = lines;
      drawing.options.scales = axes;
      drawing.update('none');
    } else drawing = makeDrawing(sized(canvas, size), { lines, axes, marks: () => shown?.view.marks ?? [] });
    painted(range);
  };
  watch(canvas.parentElement ?? canvas, {
    sight(isIn, sizeThere) {
      const wasSeen = isSeen;
      isSeen = isIn;
      if (!drawing) size = sizeThere;
      if (isSeen && !wasSeen) seen();
      if (isSeen && isOld) paint();
    },
    resized(next) {
      if (next.width === size.width && next.height === size.height) return;
      size = next;
      // Before the first paint it is enough to know.
      if (!drawing) return;
      drawing.resize(size.width, size.height);
      paint();
    },
  });
  const pixelOf = (x: number | undefined): number =>
    x === undefined ? NaN : (drawing?.scales['x']?.getPixelForValue(x) ?? NaN);
  return {
    get isSeen() {
      return isSeen;
    },
    get shown() {
      return shown;
    },
    show(next) {
      shown = next;
      paint();
    },
    paint,
    axis: () => drawing?.scales['x'],
    xAt: pixel => drawing?.scales['x']?.getValueForPixel(pixel) ?? NaN,
    place: (line, x) => put(line, pixelOf(x), drawing?.chartArea),
    isOnRight: x => pixelOf(x) > (drawing?.width ?? 0) / 2,
  };
}

function put(line: HTMLElement, pixel: number, area: Drawing['chartArea'] | undefined): void {
  line.hidden = !area || !(pixel >= area.left - 1 && pixel <= area.right + 1);
  if (!area || line.hidden) return;
  line.style.transform = `translateX(${pixel}px)`;
  line.style.top = `${area.top}px`;
  line.style.height = `${area.bottom - area.top}px`;
}

interface Size {
  width: number;
  height: number;
}

/** Hears whether an element is in sight, and how large it is. */
function watch(
  element: HTMLElement,
  { sight, resized }: { sight(isIn: boolean, size: Size): void; resized(size: Size): void },
): void {
  new IntersectionObserver(entries => {
    const { isIntersecting, boundingClientRect } = entries.at(-1)!;
    sight(isIntersecting, boundingClientRect);
  }).observe(element);
  new ResizeObserver(entries => {
    const { width, height } = entries.at(-1)!.contentRect;
    resized({ width, height });
  }).observe(element);
}

/** The canvas with its size written on it: where it has none Chart.js would ask the browser. */
function sized(canvas: HTMLCanvasElement, { width, height }: Size): HTMLCanvasElement {
  canvas.width = Math.floor(width);
  canvas.height = Math.floor(height);
  return canvas;
}

function rangeOf({ plot, view }: Shown, isShown: (series: Series) => boolean): [number, number] | undefined {
  const extents = plot.series.flatMap((series, i) => {
    const found = isShown(series) ? extent(plot.xs, plot.values[i]!, view.window) : undefined;
    return found ? [found] : [];
  });
  if (extents.length === 0) return undefined;
  return [Math.min(...extents.map(([low]) => low)), Math.max(...extents.map(([, high]) => high))];
}

/** Columns that lines are reduced to, at least. */
const LEAST_PIXELS = 50;

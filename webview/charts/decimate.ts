/** Fewer points that look the same: every pixel column keeps its exact minimum and maximum. Knows nothing of drawing. */
import { indexAt, type Stretch } from './plot.ts';

export interface Point {
  x: number;
  y: number;
}

/**
 * The points of a window, and one on either side so that lines leave the picture. Where there are more than two a bucket, each
 * bucket gives its smallest and its largest value in their order, and a gap where nothing in it was measured.
 *
 * @param xs [point] ascending.
 * @param ys [point] NaN where not measured.
 * @param buckets pixel columns of the window.
 */
export function decimate(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  window: Stretch | undefined,
  buckets: number,
): Point[] {
  const first = window ? Math.max(0, indexAt(xs, window.from)) : 0;
  const last = window ? Math.min(xs.length - 1, indexAt(xs, window.to) + 1) : xs.length - 1;
  const points: Point[] = [];
  if (last - first < 2 * buckets) {
    for (let i = first; i <= last; i++) points.push({ x: xs[i]!, y: ys[i]! });
    return points;
  }
  const from = xs[first]!;
  const width = (xs[last]! - from) / buckets;
  for (let start = first, bucket = 1; start <= last; bucket++) {
    const end = bucket >= buckets ? last + 1 : endOf(xs, start, last, from + bucket * width);
    if (end > start) addExtremes(points, xs, ys, { start, end });
    start = end;
  }
  return points;
}

/** Index behind the points before x, from `start` on. */
function endOf(xs: ArrayLike<number>, start: number, last: number, x: number): number {
  let end = start;
  while (end <= last && xs[end]! < x) end++;
  return end;
}

function addExtremes(
  points: Point[],
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  { start, end }: { start: number; end: number },
): void {
  let low = -1;
  let high = -1;
  for (let i = start; i < end; i++) {
    const y = ys[i]!;
    if (Number.isNaN(y)) continue;
    if (low < 0 || y < ys[low]!) low = i;
    if (high < 0 || y > ys[high]!) high = i;
  }
  const at = (i: number): Point => ({ x: xs[i]!, y: ys[i]! });
  if (low < 0) points.push({ x: xs[start]!, y: NaN });
  else if (low === high) points.push(at(low));
  else points.push(at(Math.min(low, high)), at(Math.max(low, high)));
}

/** Smallest and largest measured value of a window; undefined where there is none. */
export function extent(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  window: Stretch | undefined,
): [number, number] | undefined {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < xs.length; i++) {
    const y = ys[i]!;
    if (Number.isNaN(y) || (window && (xs[i]! < window.from || xs[i]! > window.to))) continue;
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  return low <= high ? [low, high] : undefined;
}

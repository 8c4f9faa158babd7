/** Curves over any axis: where they are, their mean, when they reach a height. Knows nothing of runs or of what is measured. */

/** Points with ascending xs; every y was measured. */
export interface Curve {
  xs: readonly number[];
  ys: readonly number[];
}

/** Heights of the line through the points at ascending places, NaN beyond its ends; one walk for all of them. */
export function valuesAt({ xs, ys }: Curve, places: readonly number[]): number[] {
  let next = 0;
  return places.map(x => {
    while (next < xs.length && xs[next]! < x) next++;
    if (next === xs.length || (next === 0 && xs[0]! > x)) return NaN;
    if (xs[next] === x) return ys[next]!;
    const share = (x - xs[next - 1]!) / (xs[next]! - xs[next - 1]!);
    return ys[next - 1]! + share * (ys[next]! - ys[next - 1]!);
  });
}

/** All xs of the curves, ascending, each once. */
export const placesOf = (curves: readonly Curve[]): number[] =>
  [...new Set(curves.flatMap(({ xs }) => xs))].sort((a, b) => a - b);

/** [place] mean, smallest and largest of the curves at places; NaN where one of them has no value: a mean of fewer would jump. */
export function meanOf(
  curves: readonly Curve[],
  places: readonly number[],
): { mean: number[]; low: number[]; high: number[] } {
  const columns = curves.map(curve => valuesAt(curve, places));
  const at = (of: (values: number[]) => number): number[] =>
    places.map((_, i) => of(columns.map(column => column[i]!)));
  return {
    mean: at(values => values.reduce((sum, value) => sum + value, 0) / values.length),
    low: at(values => Math.min(...values)),
    high: at(values => Math.max(...values)),
  };
}

/** The x at which the line first reaches a height; null where it never does. */
export function crossing({ xs, ys }: Curve, height: number): number | null {
  const index = ys.findIndex(y => y >= height);
  if (index < 0) return null;
  if (index === 0) return xs[0]!;
  const share = (height - ys[index - 1]!) / (ys[index]! - ys[index - 1]!);
  return xs[index - 1]! + share * (xs[index]! - xs[index - 1]!);
}

/**
 * Area under the line from its first x to `to`, or to its last x where that comes first, divided by that stretch: its mean height. Where
 * all points are at one x, their mean; NaN for no points before `to`.
 */
export function meanHeight(curve: Curve, to: number): number {
  const count = curve.xs.findLastIndex(x => x <= to) + 1;
  if (count === 0) return NaN;
  const [xs, ys] = [curve.xs.slice(0, count), curve.ys.slice(0, count)];
  if (count < curve.xs.length && xs.at(-1)! < to) {
    xs.push(to);
    ys.push(valuesAt(curve, [to])[0]!);
  }
  if (xs.at(-1) === xs[0]) return ys.reduce((sum, y) => sum + y, 0) / ys.length;
  let area = 0;
  for (let i = 1; i < xs.length; i++) area += ((ys[i]! + ys[i - 1]!) / 2) * (xs[i]! - xs[i - 1]!);
  return area / (xs.at(-1)! - xs[0]!);
}

/** Mean of each value and up to `count − 1` before it. */
export const trailingMeans = (values: readonly number[], count: number): number[] =>
  values.map((_, i) => {
    const window = values.slice(Math.max(0, i + 1 - count), i + 1);
    return window.reduce((sum, value) => sum + value, 0) / window.length;
  });

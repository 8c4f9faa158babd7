import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { decimate, extent } from '../../../webview/charts/decimate.ts';
import { indexAt, nearestIndex } from '../../../webview/charts/plot.ts';
import { smooth } from '../../../webview/charts/smooth.ts';

const steps = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
/** Numbers in [0, 1) from a seed. */
function noise(count: number, seed: number): number[] {
  let state = seed;
  return Array.from(
    { length: count },
    () => (state = (Math.imul(state, 48271) >>> 0) % 2147483647) / 2147483647,
  );
}

describe('decimation', () => {
  it('keeps the exact minimum and maximum of every stretch, whatever the zoom', () => {
    const xs = steps(10_000);
    const ys = noise(10_000, 7);
    ys[1234] = 50;
    ys[8765] = -50;
    for (const [from, to] of [
      [0, 9999],
      [1000, 1500.5],
      [8000, 9999],
      [5000, 5003],
    ] as const) {
      const window = { from, to };
      const points = decimate(xs, ys, window, 300);
      const seen = points.filter(({ x }) => x >= from && x <= to).map(({ y }) => y);
      const [low, high] = extent(xs, ys, window)!;
      assert.equal(Math.min(...seen), low);
      assert.equal(Math.max(...seen), high);
      assert.ok(points.length <= 602, `${points.length} points`);
    }
  });

  it('gives every pixel column its own extremes, in their order', () => {
    const xs = steps(1000);
    const ys = noise(1000, 3);
    const points = decimate(xs, ys, undefined, 10);
    assert.equal(points.length, 20);
    for (let bucket = 0; bucket < 10; bucket++) {
      const part = ys.slice(Math.ceil(bucket * 99.9), bucket === 9 ? 1000 : Math.ceil((bucket + 1) * 99.9));
      const pair = points.slice(2 * bucket, 2 * bucket + 2);
      assert.deepEqual(
        pair.map(({ y }) => y).sort((a, b) => a - b),
        [Math.min(...part), Math.max(...part)],
      );
      assert.ok(pair[0]!.x < pair[1]!.x);
    }
  });

  it('draws few points as they are, with a neighbour on either side of the window', () => {
    const points = decimate(steps(100), steps(100), { from: 10.5, to: 12.5 }, 300);
    assert.deepEqual(
      points.map(({ x }) => x),
      [10, 11, 12, 13],
    );
  });

  it('leaves a gap where nothing was measured, and none where something was', () => {
    const ys = steps(1000).map(i => (i >= 300 && i < 500 ? NaN : i % 2 === 0 ? NaN : 1));
    const gaps = decimate(steps(1000), ys, undefined, 100).filter(({ y }) => Number.isNaN(y));
    assert.ok(gaps.length >= 19 && gaps.length <= 21, `${gaps.length} gaps`);
    assert.ok(gaps.every(({ x }) => x >= 299 && x < 500));
  });

  it('has no extent where nothing was measured', () => {
    assert.equal(extent([1, 2], [NaN, NaN], undefined), undefined);
    assert.equal(extent([1, 2], [3, 4], { from: 5, to: 6 }), undefined);
    assert.deepEqual(decimate([], [], undefined, 10), []);
  });
});

describe('smoothing', () => {
  it('is a weighted mean of what came before, without a pull to 0', () => {
    assert.deepEqual(smooth([4, 4, 4], 0.9), [4, 4, 4]);
    assert.deepEqual(smooth([1, 3], 0.5), [1, (0.5 * 1 + 3) / 1.5]);
    assert.deepEqual(smooth([1, 5, 2], 0), [1, 5, 2]);
  });

  it('passes over what was not measured', () => {
    const [first, gap, last] = smooth([1, NaN, 3], 0.5);
    assert.equal(first, 1);
    assert.ok(Number.isNaN(gap));
    assert.equal(last, (0.5 * 1 + 3) / 1.5);
  });
});

describe('places on an axis', () => {
  it('finds the step at or before, and the nearest', () => {
    const xs = [1, 2, 4, 4, 9];
    assert.deepEqual(
      [0, 1, 3, 4, 100].map(x => indexAt(xs, x)),
      [-1, 0, 1, 3, 4],
    );
    assert.deepEqual(
      [0, 1.4, 3.1, 7, 100].map(x => nearestIndex(xs, x)),
      [0, 0, 2, 4, 4],
    );
    assert.equal(nearestIndex([], 1), -1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { estimate } from '../../src/core/bootstrap.ts';
import { streamKey, uniform } from '../../src/core/random.ts';

const coins = (seeds: number, tasks: number): number[][] =>
  Array.from({ length: seeds }, (_, seed) =>
    Array.from({ length: tasks }, (_, task) => (uniform(streamKey('coins', seed), task) < 0.5 ? 1 : 0)),
  );

describe('estimate', () => {
  // 400 fair coins have a standard error of 0.025, so 95 % of means lie within ±0.049; drawing rows and columns again counts
  // chance twice where neither has an effect of its own (Owen 2007), so the interval is wider by at most √3. The seed is fixed.
  it('is at least as wide as the normal approximation of independent values, and at most √3 times as wide', () => {
    const { mean, interval } = estimate(coins(20, 20), streamKey('pigeons'));
    const half = (interval[1] - interval[0]) / 2;
    assert.ok(interval[0] < mean && mean < interval[1]);
    assert.ok(half > 0.045 && half < 0.049 * 1.9, `${half}`);
  });

  // The share of a fair coin's heads in 200 throws has a standard error of 0.035, so 95 % lie within ±0.069 of the mean.
  it('is as wide as the normal approximation for the tasks of one seed', () => {
    const { mean, interval } = estimate(coins(1, 200), streamKey('resamples'));
    assert.ok(Math.abs(mean - interval[0] - 0.069) < 0.01, `${mean - interval[0]}`);
    assert.ok(Math.abs(interval[1] - mean - 0.069) < 0.01, `${interval[1] - mean}`);
  });

  it('is as wide as seeds differ where tasks do not', () => {
    const { mean, interval } = estimate(
      [0.2, 0.4, 0.6].map(value => Array<number>(50).fill(value)),
      7,
    );
    assert.ok(Math.abs(mean - 0.4) < 1e-12);
    assert.ok(Math.abs(interval[0] - 0.2) < 0.07 && Math.abs(interval[1] - 0.6) < 0.07, `${interval.join()}`);
  });

  it('knows that all seeds had the same tasks: a hard task is hard for all of them', () => {
    const tasks = Array.from({ length: 30 }, (_, task) => Number(task % 3 === 0));
    const same = estimate([tasks, tasks, tasks, tasks], 3).interval;
    const alone = estimate([tasks], 3).interval;
    assert.ok(Math.abs(same[1] - same[0] - (alone[1] - alone[0])) < 0.05, `${same.join()} ${alone.join()}`);
  });

  it('is a point where all values agree, and refuses tables with holes', () => {
    assert.deepEqual(
      estimate(
        [
          [1, 1],
          [1, 1],
        ],
        5,
      ),
      { mean: 1, interval: [1, 1] },
    );
    assert.throws(() => estimate([[1, 1], [1]], 5), /2, 1 values/);
    assert.throws(() => estimate([], 5), /no values/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { estimate, SHARE, studentQuantile, type Range } from '../../src/core/bootstrap.ts';
import { streamKey, uniform } from '../../src/core/random.ts';

const coins = (seeds: number, tasks: number): number[][] =>
  Array.from({ length: seeds }, (_, seed) =>
    Array.from({ length: tasks }, (_, task) => (uniform(streamKey('coins', seed), task) < 0.5 ? 1 : 0)),
  );

/** A number near normal with mean 0 and deviation 1, the n-th of an experiment. */
const normal = (experiment: number, n: number): number => {
  const key = streamKey('normal', experiment);
  return Math.sqrt(-2 * Math.log(1 - uniform(key, 2 * n))) * Math.cos(2 * Math.PI * uniform(key, 2 * n + 1));
};

/** Share of 1,000 experiments whose interval holds 0, the mean of what is drawn. */
function coverage(draw: (experiment: number) => number[][]): number {
  let held = 0;
  for (let experiment = 0; experiment < 1000; experiment++) {
    const { interval } = estimate(draw(experiment), streamKey('cover', experiment));
    if (interval[0] <= 0 && 0 <= interval[1]) held++;
  }
  return held / 1000;
}

describe('estimate', () => {
  // Of 1,000 fair experiments 95 % within ±2 % (3 standard errors). Seeds drawn again would give 0.50, 0.72 and 0.83.
  for (const seeds of [2, 3, 5])
    it(`holds the truth in 95 of 100 comparisons of ${seeds} runs with one number each`, () => {
      const found = coverage(experiment =>
        Array.from({ length: seeds }, (_, seed) => [normal(experiment, seed)]),
      );
      assert.ok(Math.abs(found - 0.95) < 0.02, `${found}`);
    });

  it('holds the truth in about 95 of 100 comparisons where seeds, tasks and chance all differ', () => {
    const [seeds, tasks] = [3, 20];
    const found = coverage(experiment =>
      Array.from({ length: seeds }, (_, seed) =>
        Array.from(
          { length: tasks },
          (_, task) =>
            normal(experiment, seed) +
            normal(experiment, seeds + task) +
            normal(experiment, seeds + tasks + seed * tasks + task),
        ),
      ),
    );
    assert.ok(Math.abs(found - 0.95) < 0.025, `${found}`);
  });

  // 400 fair coins have a standard error of 0.025, so 95 % of means lie within ±0.049.
  it('is as wide as the normal approximation of independent values, or somewhat wider', () => {
    const { mean, interval } = estimate(coins(20, 20), streamKey('pigeons'));
    const half = (interval[1] - interval[0]) / 2;
    assert.ok(interval[0] < mean && mean < interval[1]);
    assert.ok(half > 0.045 && half < 0.07, `${half}`);
  });

  // The share of a fair coin's heads in 200 throws has a standard error of 0.035, so 95 % lie within ±0.069 of the mean.
  it('is as wide as the normal approximation for the tasks of one seed', () => {
    const { mean, interval } = estimate(coins(1, 200), streamKey('resamples'));
    assert.ok(Math.abs(mean - interval[0] - 0.069) < 0.01, `${mean - interval[0]}`);
    assert.ok(Math.abs(interval[1] - mean - 0.069) < 0.01, `${interval[1] - mean}`);
  });

  it('is Student’s interval of the seeds where tasks do not differ, and ends where no value can be', () => {
    const values = [0.2, 0.4, 0.6].map(value => Array<number>(50).fill(value));
    const { mean, interval } = estimate(values, 7);
    assert.ok(Math.abs(mean - 0.4) < 1e-12);
    const half = (4.3027 * 0.2) / Math.sqrt(3);
    assert.ok(Math.abs(interval[1] - 0.4 - half) < 1e-6 && Math.abs(0.4 - interval[0] - half) < 1e-6);
    assert.deepEqual(estimate(values, 7, [0, 0.75]).interval, [0, 0.75]);
  });

  it('is that of a two-way analysis of variance where seeds and tasks both differ', () => {
    const table = [
      [0.1, 0.9, 0.5, 0.3],
      [0.8, 0.7, 1.3, 0.6],
      [0, 0.2, 0.9, 0.1],
    ];
    // By hand: mean squares .32333, .23333 and .07333, standard error .20069, 3.276 degrees of freedom, t 3.0362.
    const { mean, interval } = estimate(table, 1);
    const half = (interval[1] - interval[0]) / 2;
    assert.ok(Math.abs(mean - 0.533333) < 1e-6);
    assert.ok(Math.abs(half - 0.60934) < 0.01, `${half}`);
  });

  it('knows that all seeds had the same tasks: a hard task is hard for all of them', () => {
    const tasks = Array.from({ length: 30 }, (_, task) => Number(task % 3 === 0));
    const same = estimate([tasks, tasks, tasks, tasks], 3).interval;
    const alone = estimate([tasks], 3).interval;
    assert.ok(Math.abs(same[1] - same[0] - (alone[1] - alone[0])) < 0.05, `${same.join()} ${alone.join()}`);
  });

  it('is exact where all tasks are right, or all wrong, and not a point', () => {
    const of = (value: number, tasks: number, range: Range = SHARE) =>
      estimate([Array<number>(tasks).fill(value)], 5, range).interval.map(bound => Number(bound.toFixed(4)));
    // Clopper and Pearson: 1 − 0.025^(1/n).
    assert.deepEqual(of(0, 4), [0, 0.6024]);
    assert.deepEqual(of(1, 4), [0.3976, 1]);
    assert.deepEqual(of(0, 300), [0, 0.0122]);
    assert.deepEqual(of(-1, 4, [-1, 1]), [-1, 0.2047]);
    assert.deepEqual(of(0.5, 4), [0.5, 0.5], 'no end of the range');
    assert.deepEqual(of(0, 1), [0, 0], 'one value may be a mean');
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

  it('knows Student’s quantiles, also between whole degrees of freedom', () => {
    for (const [freedom, quantile] of [
      [1, 12.7062],
      [2, 4.3027],
      [2.5, 3.5747],
      [5, 2.5706],
      [6, 2.4469],
      [10, 2.2281],
      [30, 2.0423],
      [1000, 1.9623],
    ] as const)
      assert.ok(
        Math.abs(studentQuantile(freedom) / quantile - 1) < (freedom % 1 ? 0.02 : 0.002),
        `${freedom}: ${studentQuantile(freedom)}`,
      );
  });
});

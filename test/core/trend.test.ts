import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { streamKey, uniform } from '../../src/core/random.ts';
import { trendOf } from '../../src/core/trend.ts';

/** Ten values around a line, with noise between −1 and 1. */
const noisy = (series: number, slope: number): number[] =>
  Array.from({ length: 10 }, (_, i) => slope * i + 2 * uniform(streamKey('trend', series), i) - 1);

describe('a trend', () => {
  it('is where the newer half of the last ten values is another than the older half', () => {
    assert.equal(trendOf([0.1, 0.1, 0.2, 0.3, 0.5, 0.6]), 'rising');
    assert.equal(trendOf([0.6, 0.5, 0.4, 0.1, 0.1, 0]), 'falling');
    assert.equal(
      trendOf([9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
      undefined,
      'what was before is over',
    );
    assert.equal(trendOf([1, 1, 1, 2, 2, 2]), 'rising', 'without noise any difference is one');
    assert.equal(
      trendOf([1, 1, 1, 5, 2, 2, 2]),
      'rising',
      'of an odd number the one in the middle is left out',
    );
  });

  it('is none of what stays, of a few values, and of what was not logged', () => {
    assert.equal(trendOf([1, 1, 1, 1, 1, 1]), undefined);
    assert.equal(trendOf([0, 0, 0, 1, 1]), undefined);
    assert.equal(trendOf([0, 0, 0, 0, NaN, 1, 1, 1]), undefined);
  });

  it('is seldom seen in noise, and mostly where there is one', () => {
    const share = (slope: number): number => {
      const found = Array.from({ length: 1000 }, (_, series) => trendOf(noisy(series, slope)));
      return found.filter(trend => trend === 'rising').length / found.length;
    };
    // Of 1,000 series of a fixed seed: that is one outcome of the probability that the code states.
    assert.ok(share(0) > 0.02 && share(0) < 0.06, `${share(0)} of noise is said to rise`);
    assert.ok(share(0.3) > 0.9, `${share(0.3)} of what rises by a sixth of its noise a step is seen`);
  });
});

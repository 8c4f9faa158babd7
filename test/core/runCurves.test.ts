import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { crossing, meanHeight, meanOf, placesOf, trailingMeans, valuesAt } from '../../src/core/runCurves.ts';

const slow = { xs: [0, 10, 30], ys: [0, 1, 3] };
const fast = { xs: [0, 4, 20], ys: [2, 2, 6] };

describe('curves', () => {
  it('have values between their points, and none beyond their ends', () => {
    assert.deepEqual(valuesAt(slow, [0, 5, 10, 20, 30]), [0, 0.5, 1, 2, 3]);
    assert.deepEqual(valuesAt(fast, [-1, 21]), [NaN, NaN]);
    assert.deepEqual(valuesAt({ xs: [], ys: [] }, [1]), [NaN]);
  });

  it('are averaged only where all of them have values', () => {
    const places = placesOf([slow, fast]);
    assert.deepEqual(places, [0, 4, 10, 20, 30]);
    const { mean, low, high } = meanOf([slow, fast], places);
    assert.deepEqual(mean, [1, 1.2, 2.25, 4, NaN]);
    assert.deepEqual(low, [0, 0.4, 1, 2, NaN]);
    assert.deepEqual(high, [2, 2, 3.5, 6, NaN]);
  });

  it('reach a height where the line between two points does', () => {
    assert.equal(crossing(slow, 2), 20);
    assert.equal(crossing(fast, 1), 0);
    assert.equal(crossing(slow, 3.1), null);
    assert.equal(crossing({ xs: [5, 5], ys: [0, 1] }, 0.5), 5);
  });

  it('have a mean height up to a place', () => {
    // 0→1 over 10 and 1→3 over 20: (5 + 40) ÷ 30.
    assert.equal(meanHeight(slow, 30), 1.5);
    // As far as 20, where it is 2 high: (5 + 15) ÷ 20.
    assert.equal(meanHeight(slow, 20), 1);
    assert.equal(meanHeight(slow, 99), 1.5);
    assert.equal(meanHeight({ xs: [1, 3], ys: [7, 9] }, 1), 7);
    assert.equal(meanHeight({ xs: [1], ys: [7] }, 3), 7);
    // A run that calls no tool has all its points at 0 calls.
    assert.equal(meanHeight({ xs: [0, 0, 0], ys: [1, 2, 6] }, 0), 3);
    assert.equal(meanHeight({ xs: [0, 0, 8], ys: [1, 3, 6] }, 0), 2);
    assert.equal(meanHeight(slow, -1), NaN);
  });

  it('are smoothed by what came before', () => {
    assert.deepEqual(trailingMeans([4, 2, 6, 0], 2), [4, 3, 4, 3]);
  });
});

/** A mean adds in order and does not hide that there is nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { meanOf } from '../../src/core/mean.ts';

describe('a mean', () => {
  it('is the sum in order over the number, of lists and columns alike', () => {
    const values = [0.1, 0.2, 0.3, 1e16, -1e16];
    assert.equal(meanOf(values), (0.1 + 0.2 + 0.3 + 1e16 - 1e16) / 5);
    assert.equal(meanOf(Float64Array.from(values)), meanOf(values));
  });

  it('of nothing is no number', () => assert.ok(Number.isNaN(meanOf([]))));
});

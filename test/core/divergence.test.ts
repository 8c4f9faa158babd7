import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { divergence } from '../../src/core/divergence.ts';

describe('divergence', () => {
  it('is the first position at which two sequences differ, or one has ended', () => {
    assert.equal(divergence([1, 2, 3], [1, 5, 3]), 1);
    assert.equal(divergence([1, 2], [1, 2, 3]), 2);
    assert.equal(divergence([], [1]), 0);
    assert.equal(divergence([1, 2], [1, 2]), undefined);
  });
});

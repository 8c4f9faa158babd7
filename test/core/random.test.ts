import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { below, permutation, streamKey, uniform } from '../../src/core/random.ts';

const numbers = (key: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => uniform(key, i));

describe('random numbers by key', () => {
  it('are the same for the same key and counter, whatever was asked before', () => {
    const key = streamKey(7, 'sample', '3.1', 0);
    assert.equal(uniform(key, 1000), numbers(key, 1001)[1000]);
    assert.equal(streamKey(7, 'sample', '3.1', 0), key);
  });

  it('have different streams for neighbouring names', () => {
    const keys = new Set<number>();
    for (let seed = 0; seed < 20; seed++)
      for (let step = 0; step < 20; step++)
        for (let task = 0; task < 20; task++) keys.add(streamKey(seed, 'sample', step, task));
    assert.equal(keys.size, 8000);
    assert.notEqual(streamKey('ab', 'c'), streamKey('a', 'bc'));
  });

  it('are uniform: 20 cells of 100,000 draws pass a chi-square test at p = 1e-6', () => {
    for (const key of [streamKey(0), streamKey(1), streamKey(1, 'branch')]) {
      const cells = new Array<number>(20).fill(0);
      for (const value of numbers(key, 100_000)) cells[Math.floor(value * 20)]!++;
      const chiSquare = cells.reduce((sum, count) => sum + (count - 5000) ** 2 / 5000, 0);
      // The 1 − 1e-6 quantile of chi-square with 19 degrees of freedom is 63.4.
      assert.ok(chiSquare < 63.4, `chi-square ${chiSquare}`);
    }
  });

  it('do not repeat their neighbour: lag-one correlation of 100,000 draws is below five standard errors', () => {
    const values = numbers(streamKey(3), 100_001);
    const covariance =
      values.slice(1).reduce((sum, value, i) => sum + (value - 0.5) * (values[i]! - 0.5), 0) / 100_000;
    assert.ok(Math.abs(covariance * 12) < 5 / Math.sqrt(100_000), `correlation ${covariance * 12}`);
  });

  it('stay below 1 and below their bound', () => {
    for (let i = 0; i < 10_000; i++) assert.ok(uniform(streamKey(9), i) < 1 && below(streamKey(9), i, 7) < 7);
  });

  it('permute: every order of three comes up about as often', () => {
    const seen = new Map<string, number>();
    for (let seed = 0; seed < 6000; seed++) {
      const order = permutation(streamKey(seed, 'order'), 3).join('');
      seen.set(order, (seen.get(order) ?? 0) + 1);
    }
    assert.equal(seen.size, 6);
    // Binomial(6000, 1/6) has a standard deviation of 28.9; 5.5 of them fail by chance once in 4 million tests.
    for (const count of seen.values()) assert.ok(Math.abs(count - 1000) < 159, [...seen].join(' '));
  });
});

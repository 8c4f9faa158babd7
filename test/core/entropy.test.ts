import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { entropyForm, entropyOf, entropyScore } from '../../src/core/entropy.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  id: string;
  vocabulary: number;
  tokens: number[][];
  sum: number;
  upstream: number;
  mean: number;
}

const near = (actual: number, expected: number, what: string) =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${what}: ${actual}, expected ${expected}`);

describe('entropy', () => {
  for (const row of goldenRows<Row>('entropy'))
    it(`scores ${row.id} as the notes do`, () => {
      const entropies = row.tokens.map(probabilities => entropyOf(probabilities.map(Math.log)));
      const upstream = entropyForm('upstream', 20, row.vocabulary);
      near(entropyScore(entropies, { window: 20, aggregate: 'sum', divisor: 1 }), row.sum, 'sum');
      near(entropyScore(entropies, upstream), row.upstream, 'upstream');
      near(entropyScore(entropies, { ...upstream, aggregate: 'mean' }), row.mean, 'mean');
    });

  it('takes the mean of the first k entropies without normaliser under rule paper', () => {
    assert.equal(entropyScore([1, 2, 3, 100], entropyForm('paper', 3, 151665)), 2);
    assert.equal(entropyScore([], entropyForm('paper', 3, 151665)), 0);
  });

  it('leaves out tokens of probability 0, which upstream turns into NaN', () => {
    near(entropyOf([Math.log(0.5), Math.log(0.5), -Infinity]), Math.LN2, 'entropy');
  });
});

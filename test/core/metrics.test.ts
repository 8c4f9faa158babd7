import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { passAtK, toolProductivity } from '../../src/core/metrics.ts';
import { goldenRows } from '../golden/read.ts';

type Row =
  | { passes: number; correct: number; k: number; passAtK: number }
  | { accuracy: number; calls: number; productivity: number };

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual}, expected ${expected}`);

describe('metrics', () => {
  for (const row of goldenRows<Row>('metrics'))
    if ('k' in row)
      it(`gives pass@${row.k} = ${row.passAtK} for ${row.correct} of ${row.passes}`, () => {
        near(passAtK(row.passes, row.correct, row.k), row.passAtK);
      });
    else
      it(`gives a tool productivity of ${row.productivity} (V9)`, () => {
        near(toolProductivity(row.accuracy, row.calls), row.productivity);
      });

  it('agrees with drawing all k of n by hand', () => {
    // 6 passes, 2 right: of the 15 pairs 6 have none that is right.
    near(passAtK(6, 2, 2), 9 / 15);
    assert.equal(passAtK(4, 0, 4), 0);
    assert.equal(passAtK(4, 4, 1), 1);
    assert.throws(() => passAtK(4, 1, 5), /pass@5/);
  });
});

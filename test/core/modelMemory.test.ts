/** The estimate of the memory that training takes. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { estimate, packSizeOf, residentBytes } from '../../src/core/modelMemory.ts';
import { shapes } from '../bench/models.ts';
import { TINY } from '../worker/policy/embedded/fixtures.ts';

describe('The memory estimate', () => {
  // What a process takes at its peak depends on when garbage is collected, so it is measured by the benchmark, which prints
  // the estimate's error beside it; these are peaks that it found, activations kept.
  const measured = [
    ['sample', { tokens: 3840, treeTokens: 120, longest: 120 }, 0.29e9],
    ['4M', { tokens: 2048, treeTokens: 512, longest: 512 }, 0.412e9],
    ['135M', { tokens: 2048, treeTokens: 256, longest: 256 }, 4.66e9],
    ['05B', { tokens: 1024, treeTokens: 256, longest: 256 }, 11.96e9],
  ] as const;
  for (const [name, size, bytes] of measured)
    it(`is within 15 % of the ${bytes / 1e9} GB that the shape ${name} took on ${size.tokens} tokens`, () => {
      const error = estimate(shapes[name], packSizeOf(size), true) / bytes - 1;
      assert.ok(Math.abs(error) < 0.15, `${(100 * error).toFixed(1)} %`);
    });

  it('grows with rows, with keys and with kept activations', () => {
    const size = { rows: 100, keysPerRow: 50 };
    const least = estimate(TINY, size, false);
    assert.ok(estimate(TINY, { ...size, rows: 200 }, false) > least);
    assert.ok(estimate(TINY, { ...size, keysPerRow: 5000 }, false) > least);
    const deep = { ...TINY, layers: 30 };
    assert.ok(estimate(deep, size, true) > estimate(deep, size, false));
    assert.equal(residentBytes(TINY, true), 4 * residentBytes(TINY, false));
  });

  it('takes a pack to be as large as its budget, or as one larger tree', () => {
    const rowsOf = (tokens: number, treeTokens: number): number =>
      packSizeOf({ tokens, treeTokens, longest: 100 }).rows;
    assert.deepEqual([rowsOf(300, 100), rowsOf(9000, 100), rowsOf(9000, 3000)], [300, 2048, 3000]);
  });
});

/** The estimate of the memory that training takes, against what a process of its own took. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, it } from 'mocha';
import { STEADY_MEMORY } from '../../../../src/worker/policy/embedded/client.ts';
import { estimate, packSizeOf, residentBytes } from '../../../../src/worker/policy/embedded/memory.ts';
import { TINY } from './fixtures.ts';

const measure = fileURLToPath(new URL('../../../bench/measure.ts', import.meta.url));

describe('The memory estimate', () => {
  for (const how of ['kept', 'recomputed'])
    it(`is within 15 % of what 4 million parameters took on 2,048 tokens, activations ${how}`, async function () {
      if (process.platform !== 'linux') this.skip();
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [measure, 'train', '4M', '1', how, '4'],
        { env: { ...process.env, ...STEADY_MEMORY } },
      );
      const { peakBytes, estimatedBytes } = JSON.parse(stdout) as Record<string, number>;
      const error = estimatedBytes! / peakBytes! - 1;
      assert.ok(Math.abs(error) < 0.15, `${(100 * error).toFixed(0)} % of ${peakBytes} bytes`);
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

/** A short version of test/long/mutate.ts; the seed is fixed so that a failure can be repeated. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { mutate } from '../long/mutate.ts';

describe('damaged files', () => {
  it('of every kind give correct data or a failure that names the file, soon', async function () {
    this.timeout(120_000);
    const { problems, outcomes, slowestMs } = await mutate(300, 2);
    assert.deepEqual(problems, []);
    assert.equal(Object.keys(outcomes).length, 18);
    const refused = Object.values(outcomes).reduce((sum, counts) => sum + counts.refused, 0);
    assert.ok(refused > 150 && slowestMs < 20_000, `${refused} refused, the slowest took ${slowestMs} ms`);
  });
});

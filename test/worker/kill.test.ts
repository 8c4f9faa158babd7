/** A short version of test/long/kill.ts; the seed is fixed so that a failure can be repeated. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { killTest } from '../long/kill.ts';

describe('a killed run', () => {
  it('comes to the same as one that nobody killed, wherever it was killed', async function () {
    this.timeout(300_000);
    const { kills, failures, byMoment } = await killTest({ moments: 6, seed: 3 });
    assert.deepEqual(failures, []);
    assert.ok(kills >= 5, `${kills} kills`);
    assert.ok(Object.keys(byMoment).length >= 3, JSON.stringify(byMoment));
  });
});

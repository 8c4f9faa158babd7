/** What did not start is begun again, a few times, and left alone from when it started. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, it } from 'mocha';
import { untilStopped } from '../../src/extension/starting.ts';

describe('starting', () => {
  it('is tried again so often, and not once more', async () => {
    let times = 0;
    untilStopped(() => times++, { patience: 2, tries: 2 });
    await wait(40);
    assert.equal(times, 2);
  });

  it('is left alone from when it started', async () => {
    let times = 0;
    const stop = untilStopped(() => ++times === 1 && stop(), { patience: 2, tries: 5 });
    await wait(40);
    assert.equal(times, 1);
  });
});

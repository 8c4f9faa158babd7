/** What did not start is begun again, a few times, and left alone from when it started. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, it } from 'mocha';
import { untilStopped, whileShown } from '../../src/extension/starting.ts';

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

  it('is waited for whenever it is shown anew, and not while it is hidden', async () => {
    let times = 0;
    const watch = whileShown(() => times++, { patience: 2, tries: 2 });
    await wait(20);
    assert.equal(times, 0);
    watch.shown(true);
    watch.shown(false);
    await wait(20);
    assert.equal(times, 0);
    watch.shown(true);
    await wait(20);
    assert.equal(times, 2);
    watch.shown(true);
    await wait(20);
    assert.equal(times, 2, 'it was shown all the time');
    watch.shown(false);
    watch.shown(true);
    watch.started();
    await wait(20);
    assert.equal(times, 2);
  });
});

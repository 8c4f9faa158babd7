/** What did not start is begun again, a few times, and left alone from when it started. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, it } from 'mocha';
import { untilStopped, whileShown } from '../../src/extension/starting.ts';

const PATIENCE = 2;
/** Many times the patience, whatever else the computer does until then. */
async function longAfter(has: () => boolean): Promise<void> {
  while (!has()) await wait(1);
  await wait(10 * PATIENCE);
}

describe('starting', () => {
  it('is tried again so often, and not once more', async () => {
    let times = 0;
    untilStopped(() => times++, { patience: PATIENCE, tries: 2 });
    await longAfter(() => times >= 2);
    assert.equal(times, 2);
  });

  it('is left alone from when it started', async () => {
    let times = 0;
    const stop = untilStopped(() => ++times === 1 && stop(), { patience: PATIENCE, tries: 5 });
    await longAfter(() => times >= 1);
    assert.equal(times, 1);
  });

  it('is waited for whenever it is shown anew, and not while it is hidden', async () => {
    let times = 0;
    const watch = whileShown(() => times++, { patience: PATIENCE, tries: 2 });
    watch.shown(true);
    watch.shown(false);
    await longAfter(() => true);
    assert.equal(times, 0);
    watch.shown(true);
    await longAfter(() => times >= 2);
    watch.shown(true);
    await longAfter(() => true);
    assert.equal(times, 2, 'it was shown all the time');
    watch.shown(false);
    watch.shown(true);
    await longAfter(() => times >= 4);
    watch.shown(false);
    watch.shown(true);
    watch.started();
    await longAfter(() => true);
    assert.equal(times, 4);
  });
});

/** Examples of trying again. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { streamKey } from '../../src/core/random.ts';
import { delayAfter, PassingError, retrying } from '../../src/worker/retry.ts';

describe('retry', () => {
  const signal = new AbortController().signal;
  /** Fails so many times, then answers; with the delays that were waited for. */
  const failing = async (times: number, error: () => Error, retries = 3) => {
    const delays: number[] = [];
    let attempts = 0;
    const attempt = (): Promise<string> =>
      ++attempts > times ? Promise.resolve('answer') : Promise.reject(error());
    const wait = (ms: number): Promise<void> => {
      delays.push(ms);
      return Promise.resolve();
    };
    const options = { retries, key: streamKey('a'), signal, wait };
    const outcome = await retrying(attempt, options).catch((reason: Error) => reason.message);
    return { outcome, attempts, delays };
  };

  it('tries a passing failure again, later each time, and gives up after the last', async () => {
    const late = await failing(3, () => new PassingError('busy'));
    assert.deepEqual([late.outcome, late.attempts], ['answer', 4]);
    assert.deepEqual(late.delays, [0, 1, 2].map(n => delayAfter(n, streamKey('a')))); // prettier-ignore
    const never = await failing(9, () => new PassingError('busy'));
    assert.deepEqual([never.outcome, never.attempts, never.delays.length], ['busy', 4, 3]);
    assert.equal((await failing(9, () => new PassingError('busy'), 0)).attempts, 1);
  });

  it('does not try again what will not pass', async () => {
    assert.deepEqual(await failing(1, () => new Error('no')), { outcome: 'no', attempts: 1, delays: [] });
  });

  it('waits between half and all of 250 ms doubled, 8 s at most, the same for the same key', () => {
    for (let attempt = 0; attempt < 12; attempt++) {
      const full = Math.min(8000, 250 * 2 ** attempt);
      const delays = Array.from({ length: 50 }, (_, i) => delayAfter(attempt, streamKey('k', i)));
      assert(delays.every(delay => delay > full / 2 && delay <= full));
      assert(new Set(delays).size > 45);
      assert.equal(delayAfter(attempt, streamKey('k', 7)), delays[7]);
    }
  });

  it('does not begin to wait for a caller that has given up meanwhile', async () => {
    const caller = new AbortController();
    const attempt = (): Promise<never> => {
      caller.abort();
      return Promise.reject(new PassingError('busy'));
    };
    const wait = (): Promise<never> => assert.fail('it waits');
    const waiting = retrying(attempt, { retries: 9, key: 1, signal: caller.signal, wait });
    await assert.rejects(waiting, { name: 'PassingError', message: 'busy' });
  });

  it('ends when its caller gives up', async () => {
    const caller = new AbortController();
    const attempt = (): Promise<never> => Promise.reject(new PassingError('busy'));
    const waiting = retrying(attempt, { retries: 9, key: 1, signal: caller.signal });
    caller.abort();
    await assert.rejects(waiting, { name: /AbortError|PassingError/ });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { closeAll, closingAfter } from '../../src/worker/closing.ts';

describe('closing', () => {
  const closed: string[] = [];
  const closer = (name: string, message?: string) => (): Promise<void> => {
    closed.push(name);
    return message === undefined ? Promise.resolve() : Promise.reject(new Error(message));
  };

  it('closes everything, the last first, and throws the first failure', async () => {
    closed.length = 0;
    const closers = [closer('a'), closer('b', 'b stays open'), closer('c', 'c stays open')];
    await assert.rejects(closeAll(closers), /c stays open/);
    assert.deepEqual(closed, ['c', 'b', 'a']);
  });

  it('throws the work’s failure before those of closing', async () => {
    closed.length = 0;
    const working = closingAfter(closers => {
      closers.push(closer('a'), closer('b', 'b stays open'));
      return Promise.reject(new Error('the work failed'));
    });
    await assert.rejects(working, /the work failed/);
    assert.deepEqual(closed, ['b', 'a']);
    const done = closingAfter(closers => {
      closers.push(closer('c', 'c stays open'));
      return Promise.resolve(1);
    });
    await assert.rejects(done, /c stays open/);
    assert.equal(await closingAfter(() => Promise.resolve(2)), 2);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { targetOf } from '../../src/extension/target.ts';

describe('what a command is about', () => {
  it('is read back from what a window kept of a view, whatever else that holds', () => {
    const kept = {
      runFolder: '/runs/a-1',
      evaluation: 'step-8',
      against: { runFolder: '/runs/b-1', evaluation: 'step-0' },
      runFolders: ['/runs/a-1', '/runs/b-1'],
    };
    assert.deepEqual(targetOf({ ...kept, looked: { scale: 'step' }, isLive: true }), kept);
  });

  it('leaves out what is not of the right kind', () => {
    const wrong = { runFolder: 1, evaluation: {}, against: { runFolder: '/runs/b-1' }, runFolders: ['a', 2] };
    assert.deepEqual(targetOf(wrong), {});
    assert.deepEqual(targetOf({ against: null, path: 0.5 }), {});
  });
});

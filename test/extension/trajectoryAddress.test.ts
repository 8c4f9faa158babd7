import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { targetOf } from '../../src/extension/target.ts';
import { addressOf, addressParts } from '../../src/extension/trajectoryAddress.ts';

describe('the address of a trajectory', () => {
  it('survives its URI, also with spaces, percent signs and backslashes', () => {
    const address = { runFolder: 'C:\\my runs\\50% #1?', tree: '41.3', path: 12 };
    const { path, query } = addressParts(address);
    assert.deepEqual(addressOf(query), address);
    assert.equal(path, '/50% #1?/50% #1? 41.3 path 12.trajectory');
  });

  it('is refused where it is something else', () => {
    assert.throws(() => addressOf('["/runs/a", 3, 4]'), /is not the address of a trajectory/);
    assert.throws(() => addressOf('{}'), /is not the address of a trajectory/);
  });
});

describe('what a command is about', () => {
  it('is read from whatever it was run with, part by part', () => {
    assert.deepEqual(
      targetOf({ runFolder: '/r', tree: '1.0', path: 2, segment: 1.5, checkpoint: 7, label: 'x' }),
      { runFolder: '/r', tree: '1.0', path: 2 },
    );
    assert.deepEqual([targetOf(undefined), targetOf('run'), targetOf(null)], [{}, {}, {}]);
  });
});

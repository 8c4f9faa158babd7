import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  above,
  inSight,
  keyTarget,
  scrollTopOf,
  tall,
  TALLEST,
  towards,
} from '../../../webview/trajectories/scale.ts';

const SMALL = { count: 100, rowHeight: 20, view: 200 };
const LONG = { count: 100_000_000, rowHeight: 20, view: 200 };

describe('the scale of a long list', () => {
  it('draws the rows in sight and a few around, however long the list', () => {
    assert.deepEqual(inSight(SMALL, 0), { from: 0, to: 14 });
    assert.deepEqual(inSight(SMALL, 1800), { from: 86, to: 100 });
    for (const scrollTop of [0, 12_345, TALLEST - 200]) {
      const { from, to } = inSight(LONG, scrollTop);
      assert.ok(to - from <= 20, `${from} to ${to}`);
    }
  });

  it('reaches the first and the last row of a list that is longer than a browser lays out', () => {
    assert.equal(tall(LONG), TALLEST);
    assert.equal(above(LONG, 0), 0);
    assert.equal(inSight(LONG, TALLEST - 200).to, LONG.count);
    for (const pixels of [0, 1_000_000, 1_999_999_800])
      assert.ok(Math.abs(above(LONG, scrollTopOf(LONG, pixels)) - pixels) < 1e-3);
  });

  it('moves no more than it must to bring a row into sight', () => {
    assert.equal(towards(SMALL, 100, 7), 100);
    assert.equal(towards(SMALL, 100, 2), 40);
    assert.equal(towards(SMALL, 100, 20), 220);
  });

  it('knows where keys go, and stays inside', () => {
    assert.equal(keyTarget('ArrowDown', 99, SMALL), 99);
    assert.equal(keyTarget('ArrowUp', -1, SMALL), 0);
    assert.equal(keyTarget('PageDown', 3, SMALL), 12);
    assert.equal(keyTarget('End', 3, SMALL), 99);
    assert.equal(keyTarget('x', 3, SMALL), undefined);
  });
});

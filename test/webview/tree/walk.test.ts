import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { layOut } from '../../../webview/tree/layout.ts';
import { keyOf, selectionOf, walk } from '../../../webview/tree/walk.ts';
import { combs, SMALL } from './fixture.ts';

const layout = layOut(SMALL, { mode: 'steps', opened: new Set(), window: 650, zoom: 1 });
/** Where the keys lead from a start, one after the other; `-` where one leads nowhere. */
function led(start: string, keys: readonly string[]): string[] {
  let at = selectionOf(start)!;
  return keys.map(key => {
    const next = walk(SMALL, layout, at, key);
    if (next) at = next;
    return next ? keyOf(next) : '-';
  });
}

describe('the keyboard in a rollout tree', () => {
  it('walks along a trajectory and its questions, and back', () => {
    assert.deepEqual(led('s0', Array<string>(6).fill('ArrowRight')), ['s1', 's3', 's3d0', 's3d1', 's4', '-']);
    assert.deepEqual(led('s4', Array<string>(5).fill('ArrowLeft')), ['s3', 's1', 's0', '-', '-']);
    assert.deepEqual(led('s3d1', ['ArrowLeft', 'ArrowLeft']), ['s3d0', 's3']);
  });

  it('goes from step to step past the questions with n and p', () => {
    assert.deepEqual(led('s0', ['n', 'n', 'n', 'n', 'p']), ['s1', 's3', 's4', '-', 's3']);
  });

  it('goes among the branches of a place with ] and [, and to the question that made one with b', () => {
    assert.deepEqual(led('s4', [']', ']', '[', '[']), ['s5', '-', 's4', '-']);
    assert.deepEqual(led('s5', ['b', 'b']), ['s3d0', '-']);
  });

  it('goes to the nearest box of the next lane up and down, to the first and to the last', () => {
    assert.deepEqual(led('s4', ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']), ['s5', 's2', '-', 's5']);
    assert.deepEqual(led('s5', ['Home', 'End']), ['s0', 's2']);
  });

  it('steps over a folded run as one', () => {
    const tree = combs(1, 8);
    const folded = layOut(tree, { mode: 'folded', opened: new Set(), window: 650, zoom: 1 });
    assert.deepEqual(walk(tree, folded, { segment: 1 }, 'n'), { segment: 8 });
    assert.deepEqual(walk(tree, folded, { segment: 8 }, 'p'), { segment: 1 });
  });

  it('knows no other key, not even the names of what every object has', () => {
    assert.deepEqual(led('s0', ['x', 'constructor', 'toString']), ['-', '-', '-']);
    assert.equal(selectionOf('e3'), undefined);
  });
});

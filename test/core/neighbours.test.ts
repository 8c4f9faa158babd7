import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { neighbours, type Listed } from '../../src/core/neighbours.ts';

const tree = (id: string, question: string): Listed => ({ id, step: Number(id.split('.')[0]), question });
/** Task `a` in steps 1, 2 and 4, in step 2 twice. */
const TREES = [
  tree('1.0', 'a'),
  tree('1.1', 'b'),
  tree('2.0', 'a'),
  tree('2.1', 'a'),
  tree('3.0', 'c'),
  tree('4.0', 'a'),
];
const ways = (id: string): Record<string, string> =>
  Object.fromEntries(Object.entries(neighbours(TREES, id).ways).map(([way, { id: there }]) => [way, there]));

describe('the neighbours of a tree', () => {
  it('are the others of its step, and the same task in other steps', () => {
    assert.deepEqual(ways('2.0'), { nextTree: '2.1', previousStep: '1.0', nextStep: '4.0' });
    assert.deepEqual(ways('4.0'), { previousStep: '2.0' });
    assert.deepEqual(ways('3.0'), {});
  });

  it('say which of how many it is', () => {
    assert.deepEqual([neighbours(TREES, '2.1').place, neighbours(TREES, '2.1').count], [2, 2]);
    assert.deepEqual(neighbours(TREES, '9.9'), { ways: {}, place: 0, count: 0 });
  });
});

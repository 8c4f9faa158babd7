/** What is wrong with a line is told with its place in it. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Fact } from '../../src/core/events.ts';
import { eventOf } from '../../src/run/eventShape.ts';
import { treeLine } from '../../src/run/treeShape.ts';
import { record } from '../../src/run/shape.ts';
import { evaluationOf, right } from '../fakes/evaluations.ts';
import { finished, smallTree } from './fixtures.ts';

const wrongIn = (fact: object): string => {
  try {
    eventOf({ seq: 0, at: '', step: 1, ...fact }, 'event');
    return 'nothing';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the shape of an event', () => {
  it('names the very field, also in lists and in shapes of several fields', () => {
    const { summary } = finished(1) as Extract<Fact, { type: 'step-finished' }>;
    const turns = (byTurn: unknown): object => ({
      type: 'step-finished',
      summary: { ...summary, gradientNorm: 1, entropy: { ...summary.entropy, byTurn } },
    });
    assert.equal(wrongIn(turns([1, null, 2])), 'nothing');
    assert.equal(
      wrongIn(turns([1, 'x'])),
      'event.summary.entropy.byTurn[1] should be a number, but is string.',
    );
    const evaluated = (interval: unknown): object => ({
      type: 'evaluated',
      summary: { ...evaluationOf([[right()]]).summary, interval },
    });
    assert.equal(wrongIn(evaluated([0, 1])), 'nothing');
    assert.equal(wrongIn(evaluated(3)), 'event.summary.interval should be a list, but is 3.');
    assert.equal(wrongIn(evaluated([0])), 'event.summary.interval[1] should be a number, but is missing.');
  });
});

describe('the shape of a tree', () => {
  it('names the very field, also where the tree is a field of something else', () => {
    const shape = record<{ tree: ReturnType<typeof treeLine> }>({ tree: treeLine });
    const { tree, columns } = smallTree(1, 0);
    const line = { ...tree, tokens: { offset: 0, count: columns.ids.length } };
    assert.deepEqual(shape({ tree: line }, 'file'), { tree: line });
    assert.throws(
      () => shape({ tree: { ...line, paths: 3 } }, 'file'),
      /^FailureError: file\.tree\.paths should/,
    );
    assert.throws(
      () => shape({ tree: { ...line, segments: [] } }, 'file'),
      /^FailureError: file\.tree\.segments is/,
    );
  });
});

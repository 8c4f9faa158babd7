import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { isEmpty, matchesIn, mayHold } from '../../src/core/trajectorySearch.ts';
import { smallTree } from '../extension/fixture.ts';

const { tree } = smallTree();
const paths = (query: Parameters<typeof matchesIn>[1]): number[] =>
  matchesIn(tree, query).map(({ path }) => path);

describe('looking for trajectories', () => {
  it('finds text in any of their segments, letter case aside, with what stands around it', () => {
    assert.deepEqual(matchesIn(tree, { text: 'I DO not' }), [
      { path: 1, segment: 4, excerpt: 'I do not know' },
    ]);
    assert.deepEqual(matchesIn(tree, { text: 'result' }), [
      { path: 0, segment: 2, excerpt: '<result> Oslo </result>' },
      { path: 1, segment: 2, excerpt: '<result> Oslo </result>' },
    ]);
    assert.deepEqual(paths({ text: 'Bergen' }), []);
  });

  it('finds by tool, stop reason and bounds of the reward, all of which must hold', () => {
    assert.deepEqual(paths({ tool: 'search' }), [0, 1]);
    assert.deepEqual(paths({ tool: 'python' }), []);
    assert.deepEqual(paths({ stop: 'length' }), [1]);
    assert.deepEqual(paths({ minimum: 1 }), [0]);
    assert.deepEqual(paths({ maximum: 0.99 }), [1]);
    assert.deepEqual(paths({ minimum: -1, maximum: 1 }), [0, 1]);
    assert.deepEqual(paths({ text: 'oslo', maximum: 0 }), [1]);
  });

  it('leaves out what was not judged where a reward is asked for', () => {
    const { reward, ...unjudged } = tree.paths[0]!;
    assert.equal(reward?.total, 1);
    assert.deepEqual(matchesIn({ ...tree, paths: [unjudged] }, { minimum: -9 }), []);
    assert.deepEqual(matchesIn({ ...tree, paths: [unjudged] }, {}), [{ path: 0 }]);
  });

  it('asks nothing where all parts are left open', () => {
    assert.ok(isEmpty({}) && isEmpty({ text: '' }));
    assert.ok(!isEmpty({ minimum: 0 }));
  });

  it('never says that a line lacks a text that JSON may write in another way', () => {
    for (const text of ['Oslo', 'a+b (c)?', 'x/y', '"quoted"', 'back\\slash', 'é', 'two\nlines'])
      assert.ok(mayHold(text)(JSON.stringify({ text: `…${text.toUpperCase()}…` })), text);
    assert.ok(!mayHold('Oslo')(JSON.stringify({ text: 'Bergen' })));
  });
});

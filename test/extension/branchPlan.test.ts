import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { resultText } from '../../src/core/tags.ts';
import { argumentsOf, branchedFrom, sentenceOf, waysFrom } from '../../src/extension/branchPlan.ts';
import { makeTree, type Planned } from './fixture.ts';

const PLAN: Planned[] = [
  { parent: -1, kind: 'prompt', text: 'Largest city?', turn: 0 },
  { parent: 0, kind: 'model', text: '<search>x</search>', turn: 0, extra: { stop: 'call' } },
  {
    ...{ parent: 1, kind: 'tool', text: resultText('one\ntwo'), turn: 1 },
    extra: { call: { tool: 'search', argument: 'x', outcome: 'ok', latencyMs: 1, shared: false } },
  },
  { parent: 2, kind: 'model', text: 'Oslo', turn: 1, extra: { stop: 'answer' } },
];

describe('ways to go on from a place', () => {
  const { tree } = makeTree(PLAN);
  tree.paths = [{ leaf: 3, origin: 'initial', calls: 1, stop: 'answer' }];
  const labels = (segment: number, cursor?: number): string[] =>
    waysFrom(tree, 0, segment, cursor).map(({ label }) => label);

  it('are one after a prompt or a result, whose words can be edited', () => {
    assert.deepEqual(labels(0), ['Begin again after the prompt']);
    const [after] = waysFrom(tree, 0, 2);
    assert.deepEqual(after, {
      at: { path: 0, segment: 2 },
      label: 'Go on after the result of search',
      result: 'one\ntwo',
    });
  });

  it('are to draw a turn again, to call again, and to go on at the cursor', () => {
    assert.deepEqual(labels(1), ['Draw turn 1 again', 'Call search again, and go on']);
    assert.deepEqual(labels(3), ['Draw turn 2 again']);
    assert.deepEqual(labels(3, 2), ['Go on in turn 2 after its first 2 tokens', 'Draw turn 2 again']);
    assert.deepEqual(waysFrom(tree, 0, 3, 2)[0]!.at, { path: 0, segment: 3, token: 2 });
    assert.throws(() => waysFrom(tree, 0, 9), /not on trajectory 0/);
  });

  it('become a command line, and its last line a sentence', () => {
    const plan = { at: { path: 0, segment: 3, token: 0 }, samples: 2, temperature: 0.5, resultFile: '-x' };
    assert.deepEqual(argumentsOf('/run', '41.3', plan), [
      'branch',
      '/run',
      '--tree=41.3',
      '--path=0',
      '--segment=3',
      '--token=0',
      '--tool-result=-x',
      '--temperature=0.5',
      '--samples=2',
      '--json',
    ]);
    const told = { id: '41.3~1', rewards: [1, 0], mean: 0.5, original: 1, difference: -0.5 };
    const line = JSON.stringify({ ...told, weights: { checkpoint: 'step-000002', step: 2 } });
    assert.equal(
      sentenceOf(branchedFrom(line)),
      '41.3~1: 2 samples from step-000002 earned +.50 on average, the original +1.00: −.50. Not trained on.',
    );
    assert.throws(() => branchedFrom('{}'), /cannot be read/);
  });
});

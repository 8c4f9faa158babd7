import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { isReplayed, replayedId, type PathReplay } from '../../src/core/replay.ts';
import {
  identicalSentence,
  layOutReplay,
  replayFrom,
  type ReplayOutcome,
} from '../../src/extension/replayText.ts';

const same: PathReplay = { path: 0, again: 0, shared: 11, compared: 7, largestDifference: 0 };
const apart: PathReplay = {
  path: 1,
  again: 2,
  shared: 6,
  compared: 3,
  largestDifference: 0,
  cause: { kind: 'sampler', stored: { logProb: -1 }, again: { logProb: -2 } },
  parting: { token: 6, segment: 3, turn: 1, tokenOfSegment: 0, before: 'a', stored: 'b', again: 'c' },
};
const added: PathReplay = {
  again: 1,
  shared: 0,
  compared: 0,
  largestDifference: 0,
  cause: { kind: 'group', stored: 2, again: 3 },
};
const outcome = (paths: PathReplay[]): ReplayOutcome => ({
  step: 3,
  weights: { checkpoint: 'step-000002' },
  tools: 'stored',
  answers: { stored: 4, live: 1 },
  changed: [],
  seconds: 1,
  trees: [{ tree: '3.0', paths, decisions: { stored: 2, same: 2 } }],
  grown: [{}],
});

describe('what a replay found', () => {
  it('is one sentence where all came out the same', () => {
    assert.equal(
      identicalSentence(outcome([same])),
      'Tree 3.0 drawn again with step-000002: identical. 1 trajectory of the same tokens, decisions and rewards; log p equal to the bit.',
    );
    assert.match(
      identicalSentence(outcome([same, { ...same, largestDifference: 2e-6 }])),
      /2 trajectories .* log p within 2\.0e-6\.$/,
    );
  });

  it('is a text whose trajectories lead to both sides, and to one side where the other lacks it', () => {
    const drawn = ['3.0 replay 1'];
    const { text, links } = layOutReplay(
      { runFolder: '/r', run: 'run-1', drawn },
      outcome([same, apart, added]),
    );
    const lines = text.split('\n');
    assert.equal(lines[0], '# run-1, step 3, drawn again with step-000002: 0 of 1 tree identical');
    assert.equal(
      lines[1],
      '# 4 calls answered as they were answered, 1 that the stored tree does not have by the tools',
    );
    const linked = links.map(({ line, start, end }) => lines[line]!.slice(start, end));
    assert.deepEqual(linked, ['tree 3.0', 'trajectory 1', 'trajectory 1 of the replay']);
    assert.deepEqual(links[1]!.argument, {
      runFolder: '/r',
      tree: '3.0',
      path: 1,
      other: { tree: '3.0 replay 1', path: 2 },
    });
    assert.deepEqual(
      [links[2]!.command, links[2]!.argument],
      ['openTrajectory', { runFolder: '/r', tree: '3.0 replay 1', path: 1 }],
    );
    assert.equal(lines[links[1]!.line + 1], '      after  …"a"');
  });

  it('keeps its links on their words where a reason or a failure has lines of its own', () => {
    const reward = { total: 0, correct: false, parts: {}, reason: 'wrong\nexpected 4\r\ngot 5' };
    const judged: PathReplay = {
      ...same,
      cause: { kind: 'reward', stored: { ...reward, total: 1 }, again: reward },
    };
    const { text, links } = layOutReplay(
      { runFolder: '/r', run: 'run-1', drawn: ['3.0 replay 1'] },
      { ...outcome([judged, apart]), changed: ['tasks.jsonl cannot be read:\nit is gone'] },
    );
    const lines = text.split('\n');
    assert.deepEqual(
      links.map(({ line, start, end }) => lines[line]!.slice(start, end)),
      ['tree 3.0', 'trajectory 0', 'trajectory 1'],
    );
    assert.ok(lines.includes('# tasks.jsonl cannot be read: it is gone'));
    assert.ok(lines.includes('      replay: 0 (wrong expected 4 got 5)'));
  });

  it('is told from a stored tree by its id, and refused where it cannot be read', () => {
    assert.ok(isReplayed(replayedId('3.0', 12)));
    assert.equal(isReplayed('3.0~1'), false);
    assert.throws(() => replayFrom('{"trees": [], "grown": [1]}'), /cannot be read/);
  });
});

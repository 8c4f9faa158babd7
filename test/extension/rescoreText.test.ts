import assert from 'node:assert/strict';
import { parse, type ParseError } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import { summed, type RescoredGroup } from '../../src/core/rescore.ts';
import { layOutRescored, rewardTemplate } from '../../src/extension/rescoreText.ts';

const group = (tree: string, shift: number): RescoredGroup => ({
  tree,
  step: 1,
  question: 'How\nmany?',
  meanBefore: 1,
  meanAfter: 0.5,
  flips: shift > 0 ? 1 : 0,
  variance: shift > 0 ? 'gained' : 'unchanged',
  signChanges: shift > 0 ? 1 : 0,
  shift,
  paths: [
    {
      path: 0,
      before: { reward: 1, correct: true, advantage: 0 },
      after: { reward: 1, correct: true, advantage: 0, reason: 'Right.' },
    },
    {
      path: 1,
      before: { reward: 1, correct: true, advantage: shift / 2 },
      after: { reward: 1 - shift, correct: false, advantage: -shift / 2, reason: 'Wrong.' },
    },
  ],
});

describe('the text of rewards that might have been', () => {
  it('lists what changed, the greatest change first, with links that stand on their words', () => {
    const { text, links } = layOutRescored(
      'run-1',
      summed([group('1.0', 0), group('1.1', 0.4), group('1.2', 1)]),
    );
    const lines = text.split('\n');
    assert.deepEqual(
      links.map(({ line, start, end }) => lines[line]!.slice(start, end)),
      ['1.2', 'trajectory 1', '1.1', 'trajectory 1'],
    );
    assert.match(lines[links[1]!.line]!, /R \+1\.00 → \+\.00 {3}A \+\.50 → −\.50 \(other sign\) {3}Wrong\./);
    assert.match(
      text,
      /2 pairs of trajectories in another order · 2 advantages of another sign\n# 2 groups with new variance/,
    );
    assert.match(text, /1 group with no change that shows\./);
    assert.match(
      layOutRescored('run-1', summed([group('1.0', 0)])).text,
      /No advantage would have been another\./,
    );
  });

  it('begins with the run’s own settings, every key explained', () => {
    const { reward } = defaults('arpo');
    const text = rewardTemplate('run-1', reward);
    const errors: ParseError[] = [];
    const { custom, ...keys } = parse(text, errors) as Record<string, unknown>;
    const { custom: _, ...own } = reward;
    assert.deepEqual(errors, []);
    assert.deepEqual([keys, custom], [own, {}]);
    assert.match(
      text,
      /\/\/ How an answer is compared with the references\. auto \| f1 \| exact \| number\./,
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { advantages } from '../../src/core/advantage.ts';
import { rescoreStep, summed } from '../../src/core/rescore.ts';
import type { Reward, Tree } from '../../src/core/types.ts';

const reward = (total: number): Reward => ({ total, parts: {}, correct: total >= 1, reason: 'Said.' });

/** A tree of trajectories with these rewards, one turn each. */
const group = (id: string, totals: readonly number[]): Tree => ({
  id,
  step: Number(id.split('.')[0]),
  task: { id, question: `${id}?`, references: ['1'], ability: '' },
  rule: 'paper',
  initial: totals.length,
  total: totals.length,
  segments: [
    { parent: -1, kind: 'prompt', start: 0, count: 1, text: 'p', turn: 0 },
    ...totals.map((_, i) => ({
      ...{ parent: 0, kind: 'model' as const, start: 1 + i, count: 1, text: 't', turn: 0 },
      stop: 'answer' as const,
    })),
  ],
  paths: totals.map((total, i) => ({
    ...{ leaf: 1 + i, origin: 'initial' as const, calls: 0, stop: 'answer' as const },
    reward: reward(total),
  })),
  decisions: [],
});

const credit = { credit: 'soft', scale: 'group-std', trainForced: false } as const;

describe('rewards that might have been', () => {
  it('tell flips, variance and changed signs, group by group', () => {
    const trees = [group('1.0', [1, 0, 0.5]), group('1.1', [1, 1, 1]), group('1.2', [1, 0, 0])];
    const after = [
      [0, 1, 0.5],
      [1, 1, 0],
      [0, 0, 0],
    ].map(totals => totals.map(reward));
    const [turned, gained, lost] = rescoreStep(trees, after, { credit, dropsFlat: false });
    assert.equal(turned!.flips, 3);
    assert.equal(turned!.variance, 'unchanged');
    assert.equal(turned!.signChanges, 2);
    assert.ok(Math.abs(turned!.shift - 2 * advantages([1, 0, 0.5], 'group-std')[0]!) < 1e-12);
    assert.equal(turned!.meanBefore, 0.5);
    assert.deepEqual([gained!.variance, gained!.flips, gained!.signChanges], ['gained', 0, 0]);
    assert.deepEqual([lost!.variance, lost!.meanAfter], ['lost', 0]);
    assert.deepEqual(
      gained!.paths.map(({ after: { advantage } }) => advantage),
      advantages([1, 1, 0], 'group-std'),
    );
  });

  it('compare with the whole step where the baseline does', () => {
    const trees = [group('1.0', [1, 1]), group('1.1', [0, 0])];
    const after = [
      [1, 1],
      [4, 4],
    ].map(totals => totals.map(reward));
    const settings = {
      credit: { ...credit, baseline: 'batch-mean', scale: 'none' } as const,
      dropsFlat: false,
    };
    const [first] = rescoreStep(trees, after, settings);
    // 1 − 0.5 before, 1 − 2.5 after, although no reward of the group is another.
    assert.deepEqual(first!.paths[0], {
      path: 0,
      before: { reward: 1, correct: true, advantage: 0.5 },
      after: { reward: 1, correct: true, advantage: -1.5, reason: 'Said.' },
    });
    assert.equal(first!.signChanges, 2);
  });

  it('leave out groups that the filter would drop', () => {
    const trees = [group('1.0', [1, 0]), group('1.1', [1, 1])];
    const after = [
      [1, 1],
      [1, 0],
    ].map(totals => totals.map(reward));
    const [lost, gained] = rescoreStep(trees, after, { credit, dropsFlat: true });
    assert.equal(lost!.paths[0]!.after.advantage, undefined);
    assert.equal(gained!.paths[0]!.before.advantage, undefined);
    assert.equal(lost!.shift, advantages([1, 0], 'group-std')[0]);
  });

  it('are summed with the greatest change first', () => {
    const settings = { credit, dropsFlat: false };
    const small = rescoreStep([group('1.0', [1, 0, 0])], [[1, 0, 0.2].map(reward)], settings);
    const great = rescoreStep([group('2.0', [1, 0])], [[0, 1].map(reward)], settings);
    const all = summed([...small, ...great]);
    assert.deepEqual(
      all.groups.map(({ tree }) => tree),
      ['2.0', '1.0'],
    );
    assert.deepEqual([all.steps, all.trees, all.trajectories, all.flips], [2, 2, 5, 1]);
    assert.ok(Math.abs(all.meanAfter - 2.2 / 5) < 1e-12);
  });
});

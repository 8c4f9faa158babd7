import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { branchValue, rewardsThrough, siblingCredit } from '../../src/core/branchValue.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

// Paths: [1 tool 3] 1.1, [4] 0, [1 tool 5] −1 (a branch of the first after the tool), [6] 1.
const { tree } = attributionTree();
const rounded = (values: readonly (number | null | undefined)[]): (number | null)[] =>
  values.map(value => (value === null || value === undefined ? null : Number(value.toFixed(4))));

describe('the value of a branch', () => {
  it('is its mean reward less that of the trajectory that it left, with what it cost and what it shared', () => {
    assert.deepEqual(branchValue(tree, { path: 0, segment: 2 }), {
      branches: [2],
      mean: -1,
      left: 1.1,
      value: -2.1,
      extraCalls: 0,
      sharedCalls: 1,
      sharedTokens: 5,
    });
  });

  it('is the mean of all that left at the same place', () => {
    const second = { ...tree.paths[2]!, leaf: 5, reward: { ...tree.paths[2]!.reward!, total: 0.6 } };
    const two = { ...tree, paths: [...tree.paths, second] };
    const found = branchValue(two, { path: 0, segment: 2 })!;
    assert.deepEqual(
      [found.branches, found.mean.toFixed(2), found.value.toFixed(2)],
      [[2, 4], '-0.20', '-1.30'],
    );
  });

  it('is not known where nothing left, or before it is judged', () => {
    assert.equal(branchValue(tree, { path: 1, segment: 0 }), undefined);
    const { reward: _, ...unjudged } = tree.paths[2]!;
    const growing = { ...tree, paths: tree.paths.map((path, i) => (i === 2 ? unjudged : path)) };
    assert.equal(branchValue(growing, { path: 0, segment: 2 }), undefined);
  });

  it('as sibling-relative credit compares the sides of the last fork, with opposite signs for two', () => {
    assert.deepEqual(rounded(siblingCredit(tree)), [null, -0.45, null, 2.1, -0.3667, -2.1, 0.9667]);
  });

  it('has no sibling-relative credit where a side has no reward yet', () => {
    const { reward: _, ...unjudged } = tree.paths[2]!;
    const growing = { ...tree, paths: tree.paths.map((path, i) => (i === 2 ? unjudged : path)) };
    assert.deepEqual(rounded(siblingCredit(growing)).slice(3), [null, -1.05, null, 0.45]);
  });

  it('stands beside the mean reward of what passes through a segment', () => {
    assert.deepEqual(rounded(rewardsThrough(tree)), [0.275, 0.05, 0.05, 1.1, 0, -1, 1]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { creditAll } from '../../src/core/advantage.ts';
import { quantile, summarize } from '../../src/core/summary.ts';
import { responseTokens } from '../../src/core/tree.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { randomTree } from '../fakes/randomTree.ts';

const SECONDS = { total: 3, rollout: 2, learn: 1 };
const LEARNED = { skippedUpdates: 0, trainedTokens: 20, loss: -0.1 };

describe('summary', () => {
  it('calls a group flat where it has no advantage, which equal rewards still have under Reinforce++', () => {
    const grown = [attributionTree(), attributionTree([1, 1, 1, 1])];
    const trees = grown.map(({ tree }) => tree);
    const flatUnder = (baseline: 'group-mean' | 'batch-mean', scale: 'group-std' | 'batch-std'): unknown => {
      const credits = creditAll(trees, { credit: 'soft', baseline, scale, trainForced: false });
      trees.forEach((tree, i) => (tree.credit = credits[i]!));
      return summarize(grown, LEARNED, SECONDS).groups.flat;
    };
    assert.equal(flatUnder('group-mean', 'group-std'), 1);
    assert.equal(flatUnder('batch-mean', 'batch-std'), 0);
  });

  it('counts a step by hand', () => {
    const one = attributionTree();
    const { tree, columns } = one;
    tree.segments[1]!.entropy = 0.5;
    tree.segments[4]!.entropy = 0.7;
    tree.segments[3]!.entropy = 1;
    const call = { tool: 'search', argument: 'q', outcome: 'error', latencyMs: 30, shared: false } as const;
    tree.segments[2]!.call = call;
    columns.entropies.set([1, 2, 3], 2);
    columns.samplerLogProbs.set([-1, -1, -1], 2);
    columns.trainerLogProbs.set([-1, -1.5, -0.75], 2);
    const flat = attributionTree([1, 1, 1, 1]);
    const summary = summarize([one, flat], LEARNED, SECONDS);
    assert.equal(summary.tasks, 2);
    assert.equal(summary.trajectories, 8);
    assert.ok(Math.abs(summary.reward.mean - 5.1 / 8) < 1e-12);
    assert.equal(summary.accuracy, 6 / 8);
    assert.deepEqual(summary.entropy, { all: 2, initial: 0.6, afterTool: 1, byTurn: [2] });
    assert.deepEqual(summary.toolCalls, {
      total: 1,
      byTool: { search: 1 },
      errors: 1,
      latencyP50Ms: 30,
      latencyP95Ms: 30,
      latencyP95MsByTool: { search: 30 },
      byOutcome: { error: 1 },
    });
    assert.deepEqual(summary.groups, { allRight: 1, mixed: 1, allWrong: 0, flat: 1 });
    // Once each: 2 + 3 + 2 + 4 + 5 + 2 + 6; written out: (2+3+2+4) + (2+5) + (2+3+2+2) + (2+6).
    assert.deepEqual(summary.tokens, { sampled: 40, unique: 48, expanded: 70, trained: 20 });
    assert.deepEqual(summary.responseTokens, { mean: 6.75, max: 9, p10: 5, p90: 9 });
    assert.deepEqual(summary.turns, { mean: 1.5, max: 2 });
    assert.deepEqual(summary.stops, { answer: 8 });
    assert.deepEqual(summary.mismatch, { mean: 0.25, max: 0.5, p99: 0.25 + 0.98 * 0.25 });
    assert.deepEqual([summary.loss, summary.gradientNorm, summary.skippedUpdates], [-0.1, undefined, 0]);
  });

  it('counts what probes cost, and says what the filter did', () => {
    const one = attributionTree();
    const call = { tool: 'search', outcome: 'ok', latencyMs: 10, shared: false } as const;
    const measured = { form: 'upstream', rootEntropy: 1, turnEntropy: 1, share: 2 } as const;
    one.tree.probe = {
      ...measured,
      tokens: 30,
      calls: [call, { ...call, tool: 'python', outcome: 'error' }],
    };
    const filter = { rounds: 1, kept: 1, dropped: 1 };
    const summary = summarize([one, attributionTree()], { ...LEARNED, filter }, SECONDS);
    assert.deepEqual(summary.probes, { made: 1, calls: 2, tokens: 30 });
    assert.deepEqual(summary.toolCalls, {
      total: 2,
      byTool: { search: 1, python: 1 },
      errors: 1,
      latencyP50Ms: 10,
      latencyP95Ms: 10,
      latencyP95MsByTool: { search: 10, python: 10 },
      byOutcome: { ok: 1, error: 1 },
    });
    assert.equal(summary.tokens.sampled, 40 + 30);
    assert.equal(summary.tokens.unique, 48);
    assert.deepEqual(summary.filter, filter);
  });

  it('tells entropies by turn, and how sampler and trainer go together', () => {
    const one = attributionTree();
    const { columns } = one;
    columns.entropies.set([1, 2, 3], 2);
    columns.entropies.set([5, 7], 7);
    columns.samplerLogProbs.set([-1, -2, -3], 2);
    columns.trainerLogProbs.set([-1, -3, -2], 2);
    const { entropy, mismatch } = summarize([one], LEARNED, SECONDS);
    assert.deepEqual(entropy.byTurn, [2, 6]);
    assert.equal(mismatch?.correlation, 0.5);
  });

  it('says nothing of what was not measured', () => {
    const summary = summarize([attributionTree()], { skippedUpdates: 1, trainedTokens: 0 }, SECONDS);
    for (const key of ['mismatch', 'loss', 'kl', 'gradientNorm', 'clipFraction', 'filter', 'probes'])
      assert.equal(key in summary, false);
    assert.deepEqual(Object.keys(summary.toolCalls), ['total', 'byTool', 'errors']);
  });

  it('adds up on random trees', async () => {
    const grown = await Promise.all(Array.from({ length: 40 }, (_, i) => randomTree(i + 1)));
    const {
      branches,
      stops,
      reward,
      toolCalls,
      groups,
      responseTokens: lengths,
    } = summarize(grown, LEARNED, SECONDS);
    const paths = grown.flatMap(({ tree }) => tree.paths);
    assert.equal(branches.asked, branches.taken + branches.refused + branches.noBudget);
    assert.equal(branches.taken, paths.filter(({ origin }) => origin === 'branch').length);
    assert.equal(
      Object.values(stops).reduce((a, b) => a + b),
      paths.length,
    );
    assert.equal(
      toolCalls.total,
      Object.values(toolCalls.byTool).reduce((a, b) => a + b),
    );
    assert.equal(groups.allRight + groups.mixed + groups.allWrong, 40);
    const parts = Object.values(reward.parts).reduce((a, b) => a + b);
    assert.ok(Math.abs(parts - reward.mean) < 1e-9, 'the parts add to the mean reward');
    const longest = grown.flatMap(({ tree }) => tree.paths.map((_, path) => responseTokens(tree, path)));
    assert.equal(lengths.max, Math.max(...longest));
  });

  it('interpolates quantiles', () => {
    assert.equal(quantile([3, 1, 2], 0.5), 2);
    assert.equal(quantile([0, 10], 0.1), 1);
  });

  it('refuses a step without trees, or with a path that was not judged', () => {
    assert.throws(() => summarize([], LEARNED, SECONDS), /without trees/);
    const one = attributionTree();
    delete one.tree.paths[0]!.reward;
    assert.throws(() => summarize([one], LEARNED, SECONDS), /no reward/);
  });
});

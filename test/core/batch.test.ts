import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit } from '../../src/core/advantage.ts';
import { collate, pack, packedOrder, putScores, type CollateSettings } from '../../src/core/batch.ts';
import { clippedLoss, evaluate, mergeReports, type ObjectiveSettings } from '../../src/core/objective.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import { isTrained, segmentsOf, type Grown } from '../../src/core/tree.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { randomTree } from '../fakes/randomTree.ts';

const SETTINGS: CollateSettings = {
  credit: 'soft',
  aggregation: 'token-mean',
  temperature: 1,
  maxResponseTokens: 16,
  trainForced: false,
  skipZeroAdvantage: true,
};
const OBJECTIVE: ObjectiveSettings = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klWeight: 0,
  entropyWeight: 0,
};
const AGGREGATIONS = [
  'token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-mean',
  'seq-mean-token-sum-norm',
] as const;

function credited(one = attributionTree(), trainForced = false): Grown {
  one.tree.credit = credit(one.tree, { credit: 'soft', scale: 'group-std', trainForced });
  return one;
}

/** Tokens of a path, as indices in the tree's columns, with whether they are trained. */
const pathTokens = (
  { tree }: Grown,
  path: number,
  trainForced: boolean,
): { token: number; segment: number; trained: boolean }[] =>
  segmentsOf(tree, path).flatMap(segment => {
    const { start, count, kind } = tree.segments[segment]!;
    return Array.from({ length: count }, (_, i) => ({
      token: start + i,
      segment,
      trained: isTrained(kind, trainForced),
    }));
  });

/** Loss at ratio 1 under the given settings. */
function lossOf(settings: CollateSettings): number {
  const { trees } = collate([credited()], settings);
  const sums = trees.map(tree => {
    const zeros = new Float32Array(tree.ids.length);
    return evaluate(tree, zeros, zeros, OBJECTIVE).sums;
  });
  return mergeReports(sums).loss;
}

describe('batch', () => {
  it('gives the losses of V5.4 at ratio 1', () => {
    const near = (actual: number, expected: number): void =>
      assert.ok(Math.abs(actual - expected) < 1e-6, `${actual}, expected ${expected}`);
    near(lossOf(SETTINGS), -0.10489);
    near(lossOf({ ...SETTINGS, credit: 'hard' }), -0.10489);
    near(lossOf({ ...SETTINGS, aggregation: 'seq-mean-token-mean' }), 0);
    near(lossOf({ ...SETTINGS, aggregation: 'seq-mean-token-mean', credit: 'hard' }), -0.04571);
  });

  it('has one term per trajectory through a token, or one per token under hard credit', () => {
    const [soft] = collate([credited()], SETTINGS).trees;
    assert.equal(soft!.termAdvantage.length, 23, 'masked tokens of the four trajectories written out');
    assert.ok(Math.abs(soft!.termWeight.reduce((a, b) => a + b) - 1) < 1e-6);
    const [hard] = collate([credited()], { ...SETTINGS, credit: 'hard' }).trees;
    assert.equal(hard!.termAdvantage.length, 20);
    assert.ok(Math.abs(hard!.termWeight[0]! - 2 / 23) < 1e-7, 'a shared token weighs as much as its copies');
    assert.ok(hard!.termPath.every(path => path === -1));
  });

  it('lets a token see exactly its own path, at its own depth', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const grown = await randomTree(seed);
      const packed = pack(grown);
      const order = packedOrder(grown.tree);
      const place = new Map(Array.from(order, (token, index) => [token, index]));
      grown.tree.paths.forEach((_, path) => {
        const walk = pathTokens(grown, path, false).map(({ token }) => place.get(token)!);
        walk.forEach((query, depth) => {
          const seen = Array.from(order.keys()).filter(
            key => key <= query && query < packed.subtreeEnd[key]!,
          );
          assert.deepEqual(seen, walk.slice(0, depth + 1), `seed ${seed}, path ${path}, depth ${depth}`);
          assert.equal(packed.positions[query], depth, `seed ${seed}`);
          assert.equal(packed.previous[query], depth === 0 ? -1 : walk[depth - 1], `seed ${seed}`);
          assert.equal(packed.ids[query], grown.columns.ids[order[query]!], `seed ${seed}`);
        });
      });
    }
  });

  it('has the derivatives of separate rows, for every aggregation', async () => {
    for (let seed = 1; seed <= 24; seed++) {
      const trainForced = seed % 2 === 0;
      const grown = [await randomTree(seed), await randomTree(seed + 1000)];
      grown.forEach(one => credited(one, trainForced));
      const key = streamKey(seed, 'scores');
      const draw = (i: number, token: number): number => uniform(key, 2 * token + i) * 1.2;
      grown.forEach(({ columns }) =>
        columns.trainerLogProbs.forEach((_, i) => (columns.trainerLogProbs[i] = -draw(0, i))),
      );
      for (const aggregation of AGGREGATIONS) {
        const settings = {
          ...SETTINGS,
          aggregation,
          trainForced,
          skipZeroAdvantage: false,
          regularised: true,
        };
        const expected = separateRows(grown, settings, token => -draw(1, token));
        const batch = collate(grown, settings);
        batch.trees.forEach((packed, tree) => {
          const order = packedOrder(grown[tree]!.tree);
          const logProbs = Float32Array.from(order, token => -draw(1, token));
          const { dLogProb } = evaluate(packed, logProbs, new Float32Array(logProbs.length), OBJECTIVE);
          order.forEach((token, index) => {
            const wanted = expected[tree]![token]!;
            const isNear = Math.abs(dLogProb[index]! - wanted) < 1e-5 * Math.max(1, Math.abs(wanted));
            assert.ok(
              isNear,
              `seed ${seed}, ${aggregation}, token ${token}: ${dLogProb[index]}, expected ${wanted}`,
            );
          });
        });
      }
    }
  });

  it('leaves groups without variance out where asked, at unchanged weights of the others', () => {
    const flat = credited(attributionTree([1, 1, 1, 1]));
    const skipped = collate([flat, credited()], SETTINGS);
    assert.deepEqual(skipped.members, [1]);
    const kept = collate([flat, credited()], { ...SETTINGS, skipZeroAdvantage: false });
    assert.deepEqual(kept.members, [0, 1]);
    assert.equal(kept.trees[0]!.termAdvantage.length, 0);
    assert.deepEqual(skipped.trees[0], kept.trees[1]);
    assert.ok(Math.abs(skipped.trees[0]!.termWeight[0]! - 1 / 46) < 1e-7);
    const regularised = collate([flat], { ...SETTINGS, regularised: true });
    assert.equal(regularised.trees[0]!.termAdvantage.length, 23, 'a KL weight pulls on them too');
  });

  it('carries old log-probabilities once the trainer has scored, and puts scores back by token', () => {
    const one = credited();
    assert.equal(collate([one], SETTINGS).trees[0]!.oldLogProbs, undefined);
    const order = packedOrder(one.tree);
    putScores(
      one,
      Float32Array.from(order, token => -token),
    );
    assert.deepEqual(
      Array.from(one.columns.trainerLogProbs),
      Array.from(one.columns.ids, id => -id),
    );
    assert.deepEqual(
      collate([one], SETTINGS).trees[0]!.oldLogProbs,
      Float32Array.from(order, token => -token),
    );
    assert.throws(() => putScores(one, new Float32Array(3)), /24 tokens, but 3 scores/);
  });

  it('refuses a tree without credit', () => {
    assert.throws(() => collate([attributionTree()], SETTINGS), /no credit/);
  });
});

/** [tree][token] derivative of the loss of all trajectories written out as rows of their own, token by token. */
function separateRows(
  grown: readonly Grown[],
  settings: CollateSettings,
  logProb: (token: number) => number,
): number[][] {
  const rows = grown.flatMap((one, tree) =>
    one.tree.paths.map((_, path) => ({
      tree,
      advantage: one.tree.credit!.soft[path]!,
      tokens: pathTokens(one, path, settings.trainForced).filter(({ trained }) => trained),
    })),
  );
  const all = rows.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const scale = {
    'token-mean': () => 1 / all,
    'seq-mean-token-sum': () => 1 / rows.length,
    'seq-mean-token-mean': (length: number) => 1 / rows.length / length,
    'seq-mean-token-sum-norm': () => 1 / rows.length / settings.maxResponseTokens,
  }[settings.aggregation];
  const derivatives = grown.map(({ columns }) => new Array<number>(columns.ids.length).fill(0));
  for (const { tree, advantage, tokens } of rows)
    for (const { token } of tokens) {
      const ratio = Math.exp(logProb(token) - grown[tree]!.columns.trainerLogProbs[token]!);
      derivatives[tree]![token]! +=
        scale(tokens.length) * clippedLoss(advantage, ratio, OBJECTIVE).derivative;
    }
  return derivatives;
}

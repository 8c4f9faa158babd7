/** Packed trees against separate rows, kept against recomputed activations, and what a step does and refuses. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PackedTree } from '../../../../src/core/batch.ts';
import { LIKELIHOOD } from '../../../../src/core/objective.ts';
import type { ObjectiveSettings } from '../../../../src/core/objective.ts';
import { FailureError } from '../../../../src/core/types.ts';
import { estimate } from '../../../../src/core/modelMemory.ts';
import { packs } from '../../../../src/worker/policy/embedded/plan.ts';
import { createTrainer } from '../../../../src/worker/policy/embedded/trainer.ts';
import type { Trainer, TrainerOptions, Work } from '../../../../src/worker/policy/embedded/trainer.ts';
import { packPieces, randomNumbers, randomWeights, shapes, TINY, worstDifference } from './fixtures.ts';
import type { Piece } from './fixtures.ts';

const POLICY: ObjectiveSettings = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klWeight: 0,
  entropyWeight: 0.1,
};
const STEP = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.1,
  maxGradientNorm: 1,
};

async function withTrainer(
  shape: typeof TINY,
  ask: (trainer: Trainer, weights: Map<string, Float32Array>) => Promise<void>,
  options: Partial<TrainerOptions> = {},
): Promise<void> {
  const weights = randomWeights(shape, 1);
  const trainer = createTrainer(shape, weights, {
    threads: 1,
    memoryLimitBytes: 1e9,
    trainable: true,
    ...options,
  });
  try {
    await ask(trainer, weights);
  } finally {
    await trainer.release();
  }
}

/** A rollout: prompt, a model turn, then two branches of which the first branches again; 178 tokens, so three blocks. */
function someTree(seed: number): { pieces: Piece[]; leaves: number[]; advantages: number[] } {
  const next = randomNumbers(seed);
  const ids = (count: number): number[] =>
    Array.from({ length: count }, () => Math.floor(next() * TINY.vocabulary));
  const lengths: [parent: number, count: number][] = [
    [-1, 13],
    [0, 40],
    [1, 31],
    [2, 17],
    [2, 29],
    [1, 48],
  ];
  return {
    pieces: lengths.map(([parent, count]) => ({ parent, ids: ids(count) })),
    leaves: [3, 4, 5],
    advantages: [1.2, -0.7, 0.4],
  };
}

const chain = (pieces: readonly Piece[], leaf: number): number[] =>
  leaf < 0 ? [] : [...chain(pieces, pieces[leaf]!.parent), leaf];

/** The same rollout as one packed tree whose tokens carry the terms of all paths through them, and as one row per path. */
function bothWays(seed: number): { tree: PackedTree; rows: PackedTree[]; paths: number[][] } {
  const { pieces, leaves, advantages } = someTree(seed);
  const weight = 1 / 300;
  const paths = leaves.map(leaf => chain(pieces, leaf));
  const termsOf = (piece: number, only?: number) => {
    const through = leaves
      .map((_, p) => p)
      .filter(p => (only === undefined || p === only) && paths[p]!.includes(piece));
    return pieces[piece]!.ids.map(() =>
      piece === 0 ? [] : through.map(p => ({ advantage: advantages[p]!, weight })),
    );
  };
  const tree = packPieces(pieces.map((piece, i) => ({ ...piece, terms: termsOf(i) })));
  const rows = paths.map((path, p) =>
    packPieces(
      path.map((piece, i) => ({ parent: i - 1, ids: pieces[piece]!.ids, terms: termsOf(piece, p) })),
    ),
  );
  return { tree, rows, paths };
}

describe('A packed tree', () => {
  for (const [name, shape] of Object.entries(shapes))
    it(`has the gradient of its separate rows: ${name}`, async () => {
      const { tree, rows } = bothWays(2);
      await withTrainer(shape, async trainer => {
        const packed = await trainer.accumulate({ trees: [tree], temperature: 0.9 }, POLICY);
        const ofTree = new Map([...trainer.gradients()].map(([tensor, values]) => [tensor, values.slice()]));
        trainer.step({ ...STEP, learningRate: 0 });
        const separate = await trainer.accumulate({ trees: rows, temperature: 0.9 }, POLICY);
        assert.ok(Math.abs(packed.report.loss - separate.report.loss) < 1e-5);
        assert.equal(ofTree.size, trainer.gradients().size);
        for (const [tensor, values] of trainer.gradients()) {
          const worst = worstDifference(ofTree.get(tensor), values);
          assert.ok(worst <= 1e-5, `${tensor}: ${worst.toExponential(1)}`);
        }
      });
    });

  it('has the log-probabilities and entropies of its separate rows, also beside trees of other lengths', async () => {
    const [first, second] = [bothWays(2), bothWays(3)];
    const short = packPieces([{ parent: -1, ids: [4, 5, 6] }]);
    await withTrainer(TINY, async trainer => {
      const [alone] = await trainer.score([first.tree], 1);
      const [, beside] = await trainer.score([short, first.tree, second.tree], 1);
      const [row] = await trainer.score([first.rows[0]!], 1);
      assert.ok(worstDifference(beside!.logProbs.slice(1), alone!.logProbs.slice(1)) < 1e-5);
      // The first path is the tree's first stretches in depth-first order.
      const length = first.rows[0]!.ids.length;
      assert.ok(worstDifference(alone!.logProbs.slice(1, length), row!.logProbs.slice(1)) < 1e-5);
      assert.ok(worstDifference(alone!.entropies.slice(1, length), row!.entropies.slice(1)) < 1e-5);
    });
  });

  it('is scored alike by score and by accumulate, which leaves untrained tokens out', async () => {
    const { tree } = bothWays(2);
    await withTrainer(TINY, async trainer => {
      const [scored] = await trainer.score([tree], 0.8);
      const { scores, report } = await trainer.accumulate({ trees: [tree], temperature: 0.8 }, POLICY);
      const isTrained = (i: number): boolean => tree.termStart[i]! < tree.termStart[i + 1]!;
      assert.equal(report.trainedTokens, tree.ids.filter((_, i) => isTrained(i)).length);
      tree.ids.forEach((_, i) => {
        const found = scores[0]!.logProbs[i]!;
        assert.ok(
          isTrained(i) ? Math.abs(found - scored!.logProbs[i]!) < 1e-6 : Number.isNaN(found),
          `token ${i}`,
        );
      });
    });
  });
});

describe('Training', () => {
  it('has the same gradient with kept and with recomputed activations, which take less memory', async () => {
    const { tree } = bothWays(2);
    const [size, deep] = [
      { rows: 178, keysPerRow: 113 },
      { ...TINY, layers: 30 },
    ];
    assert.ok(estimate(deep, size, true) > estimate(deep, size, false));
    const gradients: Map<string, Float32Array>[] = [];
    for (const memoryLimitBytes of [1e9, 0])
      await withTrainer(
        { ...TINY, headNorm: true, attentionBias: true },
        async trainer => {
          await trainer.accumulate({ trees: [tree], temperature: 1 }, POLICY);
          gradients.push(new Map(trainer.gradients()));
        },
        { memoryLimitBytes },
      );
    for (const [name, values] of gradients[0]!)
      assert.ok(worstDifference(gradients[1]!.get(name), values) < 1e-5, name);
  });

  it('adds gradients up over several batches, however they are packed', async () => {
    const { rows } = bothWays(2);
    const found: Map<string, Float32Array>[] = [];
    for (const [parts, packTokens] of [
      [[rows], 10_000],
      [rows.map(row => [row]), 10_000],
      [[rows], 1],
    ] as const)
      await withTrainer(
        TINY,
        async trainer => {
          for (const trees of parts) await trainer.accumulate({ trees, temperature: 1 }, LIKELIHOOD);
          found.push(new Map(trainer.gradients()));
        },
        { packTokens },
      );
    for (const [name, values] of found[0]!)
      for (const other of found) assert.ok(worstDifference(other.get(name), values) < 2e-5, name);
  });

  it('learns a row by heart, in the arrays that the caller holds', async () => {
    const { rows } = bothWays(2);
    await withTrainer(TINY, async (trainer, weights) => {
      const before = weights.get('model.embed_tokens.weight')!.slice();
      const losses: number[] = [];
      for (let i = 0; i < 60; i++) {
        const { report } = await trainer.accumulate({ trees: [rows[0]!], temperature: 1 }, LIKELIHOOD);
        losses.push(report.loss);
        assert.ok(trainer.step({ ...STEP, weightDecay: 0, learningRate: 0.03, maxGradientNorm: 0 }).applied);
      }
      assert.ok(losses.at(-1)! < 0.3 * losses[0]!, `loss ${losses[0]} → ${losses.at(-1)}`);
      assert.notDeepEqual(weights.get('model.embed_tokens.weight'), before);
      assert.equal(trainer.optimizer().steps, 60);
    });
  });

  it('refuses a gradient that is not finite, says so, and goes on without it', async () => {
    const { rows } = bothWays(2);
    const broken = {
      ...rows[0]!,
      termWeight: rows[0]!.termWeight.map((weight, i) => (i === 3 ? NaN : weight)),
    };
    await withTrainer(TINY, async (trainer, weights) => {
      const before = new Map([...weights].map(([name, values]) => [name, values.slice()]));
      await trainer.accumulate({ trees: [broken], temperature: 1 }, LIKELIHOOD);
      const report = trainer.step(STEP);
      assert.equal(report.applied, false);
      assert.ok(!Number.isFinite(report.gradientNorm));
      assert.deepEqual(weights, before);
      assert.equal(trainer.optimizer().steps, 0);
      await trainer.accumulate({ trees: [rows[0]!], temperature: 1 }, LIKELIHOOD);
      assert.equal(trainer.step(STEP).applied, true);
    });
  });

  it('does nothing for trees without trained or any tokens', () =>
    withTrainer(TINY, async trainer => {
      const trees = [packPieces([{ parent: -1, ids: [1, 2, 3] }]), packPieces([])];
      const { scores, report } = await trainer.accumulate({ trees, temperature: 1 }, LIKELIHOOD);
      assert.equal(report.terms, 0);
      assert.deepEqual(
        scores.map(({ logProbs }) => logProbs.length),
        [3, 0],
      );
      assert.equal(trainer.gradients().size, 0);
      assert.equal((await trainer.score(trees, 1)).length, 2);
    }));

  it('has no gradient where no trajectory has an advantage, beside trees that have', async () => {
    const { tree } = bothWays(2);
    const flat = { ...bothWays(3).tree };
    flat.termAdvantage = flat.termAdvantage.map(() => 0);
    const objective = { ...POLICY, entropyWeight: 0 };
    await withTrainer(TINY, async trainer => {
      const nothing = await trainer.accumulate({ trees: [flat], temperature: 1 }, objective);
      assert.equal(trainer.gradients().size, 0);
      assert.ok(nothing.report.entropy > 0 && nothing.scores[0]!.logProbs.some(value => value < 0));
      await trainer.accumulate({ trees: [flat, tree], temperature: 1 }, objective);
      const beside = new Map([...trainer.gradients()].map(([name, values]) => [name, values.slice()]));
      trainer.step({ ...STEP, learningRate: 0 });
      await trainer.accumulate({ trees: [tree], temperature: 1 }, objective);
      for (const [name, values] of trainer.gradients()) assert.deepEqual(beside.get(name), values);
    });
  });

  it('refuses ids outside the vocabulary, a temperature of 0, and learning where it only scores', () =>
    withTrainer(
      TINY,
      async trainer => {
        const tree = packPieces([{ parent: -1, ids: [1, TINY.vocabulary] }]);
        await assert.rejects(trainer.score([tree], 1), /Token id 23 is outside/);
        await assert.rejects(trainer.score([packPieces([{ parent: -1, ids: [1, 2] }])], 0), /temperature/);
        await assert.rejects(trainer.accumulate({ trees: [], temperature: 1 }, LIKELIHOOD), FailureError);
        assert.throws(() => trainer.step(STEP), FailureError);
      },
      { trainable: false },
    ));

  it('computes every token of a tree once and asks the head only about tokens that are trained', async () => {
    const { tree, rows } = bothWays(2);
    await withTrainer(TINY, async trainer => {
      const did = async (task: () => Promise<unknown>): Promise<Partial<Work>> => {
        const { pairs: _, ...before } = { ...trainer.work() };
        await task();
        const after = trainer.work();
        return Object.fromEntries(
          Object.entries(before).map(([key, value]) => [key, after[key as keyof Work] - value]),
        );
      };
      const learn = (trees: PackedTree[]) => trainer.accumulate({ trees, temperature: 1 }, POLICY);
      // Stretches of 13, 40, 31, 17, 29 and 48 tokens, of which the first is a prompt.
      const once = { tokens: 178, backwardTokens: 178, headRows: 165, backwardHeadRows: 165 };
      assert.deepEqual(await did(() => learn([tree])), once);
      const copied = { tokens: 315, backwardTokens: 315, headRows: 276, backwardHeadRows: 276 };
      assert.deepEqual(await did(() => learn(rows)), copied);
      const scored = { tokens: 178, backwardTokens: 0, headRows: 177, backwardHeadRows: 0 };
      assert.deepEqual(await did(() => trainer.score([tree], 1)), scored);
    });
  });

  it('asks the head nothing on the way back where ratios are clipped, and no layer where all are', async () => {
    const { rows } = bothWays(2);
    const far = (row: PackedTree): PackedTree => ({
      ...row,
      // All tokens of the first half have become twice as likely, those of the second half half as likely.
      oldLogProbs: Float32Array.from(row.ids, (_, i) => (i < row.ids.length / 2 ? -30 : 30)),
    });
    await withTrainer(TINY, async trainer => {
      const objective = { ...POLICY, entropyWeight: 0 };
      await trainer.accumulate({ trees: [far(rows[0]!)], temperature: 1 }, objective);
      const { headRows, backwardHeadRows } = trainer.work();
      // The advantage is positive: only tokens that have become less likely pull.
      assert.deepEqual([headRows, backwardHeadRows], [88, rows[0]!.ids.length - 51]);
      const unlikely = { ...rows[0]!, oldLogProbs: new Float32Array(rows[0]!.ids.length).fill(-30) };
      const { backwardTokens } = trainer.work();
      await trainer.accumulate({ trees: [unlikely], temperature: 1 }, objective);
      assert.equal(trainer.work().backwardTokens, backwardTokens);
    });
  });

  it('runs no tree of which nothing is trained', async () => {
    const { rows } = bothWays(2);
    const untrained = { ...rows[1]!, termStart: new Int32Array(rows[1]!.ids.length + 1) };
    await withTrainer(TINY, async trainer => {
      const { scores } = await trainer.accumulate({ trees: [rows[0]!, untrained], temperature: 1 }, POLICY);
      assert.equal(trainer.work().tokens, rows[0]!.ids.length);
      assert.ok(scores[1]!.logProbs.every(Number.isNaN));
    });
  });

  it('compares blocks of queries only with keys that one of them sees', () => {
    const ids = (count: number): number[] => Array.from({ length: count }, () => 1);
    const tree = packPieces([
      { parent: -1, ids: ids(300) },
      { parent: 0, ids: ids(200) },
      { parent: 0, ids: ids(200) },
    ]);
    const visible = tree.ids.reduce(
      (sum, _, i) => sum + tree.subtreeEnd.filter((end, j) => j <= i && i < end).length,
      0,
    );
    const pairsOf = (trees: PackedTree[]): number =>
      [...packs(TINY, trees, 1000)].reduce((sum, { pairs }) => sum + pairs, 0);
    assert.equal(visible, 205_350);
    // Blocks of 117 rows: four that are above their keys or among them, one across both branches, one on the second branch,
    // which has none of the first branch's keys. The six are multiplied in four groups, padded to each one's longest.
    assert.equal(pairsOf([tree]), 117 * (585 + 2 * 500 + 351 + 2 * 234));
    // Rows of 101, 113 and 101 are a block each.
    assert.equal(pairsOf(bothWays(2).rows), 113 * 113 + 2 * 101 * 101);
  });
});

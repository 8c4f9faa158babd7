import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PackedTree } from '../../src/core/batch.ts';
import { collate, packRows } from '../../src/core/batch.ts';
import {
  clippedLoss,
  evaluate,
  k3,
  LIKELIHOOD,
  mergeReports,
  type ObjectiveSettings,
} from '../../src/core/objective.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import type { Grown } from '../../src/core/tree.ts';
import { randomTree } from '../fakes/randomTree.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  advantage?: number;
  ratio?: number;
  loss?: number;
  factor?: number;
  /** Factor of AEPO's balanced clipping. */
  preserved?: number;
  logProb?: number;
  reference?: number;
  kl?: number;
}

const SETTINGS: ObjectiveSettings = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klWeight: 0,
  entropyWeight: 0,
};

const near = (actual: number, expected: number, tolerance = 1e-6): void =>
  assert.ok(Math.abs(actual - expected) < tolerance, `${actual}, expected ${expected}`);

/** One trained token with the given terms [advantage, weight]; token 0 is what comes before it. */
function oneToken(terms: readonly [number, number][], more: Partial<PackedTree> = {}): PackedTree {
  return {
    ids: Int32Array.of(0, 1),
    positions: Int32Array.of(0, 1),
    subtreeEnd: Int32Array.of(2, 2),
    previous: Int32Array.of(-1, 0),
    termStart: Int32Array.of(0, 0, terms.length),
    termAdvantage: Float32Array.from(terms, ([advantage]) => advantage),
    termWeight: Float32Array.from(terms, ([, weight]) => weight),
    termPath: Int32Array.from(terms, (_, path) => path),
    ...more,
  };
}
const at = (value: number): Float32Array => Float32Array.of(NaN, value);
const sumsOf = (tree: PackedTree, logProb: number, settings = SETTINGS) =>
  evaluate(tree, at(logProb), at(1.5), settings);

/** A random tree's soft batch, with log-probabilities that moved away from the old ones. */
async function shiftedTree(
  seed: number,
): Promise<{ grown: Grown; tree?: PackedTree; logProbs: Float32Array }> {
  const grown = await randomTree(seed);
  const settings = { credit: 'soft', aggregation: 'seq-mean-token-mean', temperature: 1 } as const;
  const [tree] = collate([grown], {
    ...settings,
    maxResponseTokens: 400,
    trainForced: false,
    skipZeroAdvantage: true,
  }).trees;
  const draw = (n: number) => uniform(streamKey(seed, 'ratio'), n);
  const old = Float32Array.from(tree?.ids ?? [], (_, i) => -3 * draw(2 * i));
  const logProbs = old.map((value, i) => value + 0.8 * (draw(2 * i + 1) - 0.5));
  if (tree) tree.oldLogProbs = old;
  return { grown, ...(tree && { tree }), logProbs };
}

/** The same loss from separate rows: one per trajectory, every token of it with the row's own ratio. */
function sequenceLossByRows(
  { tree }: Grown,
  packed: PackedTree,
  logProbs: Float32Array,
  settings: ObjectiveSettings,
): { loss: number; derivatives: number[]; clips: string[] } {
  const derivatives = new Array<number>(packed.ids.length).fill(0);
  const clips: string[] = [];
  let loss = 0;
  tree.paths.forEach((_, path) => {
    const tokens = Array.from(packed.ids.keys()).filter(token =>
      packed.termPath.subarray(packed.termStart[token], packed.termStart[token + 1]).includes(path),
    );
    if (tokens.length === 0) return;
    const ratio = Math.exp(
      tokens.reduce((sum, token) => sum + logProbs[token]! - packed.oldLogProbs![token]!, 0) / tokens.length,
    );
    const found = clippedLoss(tree.credit!.soft[path]!, ratio, settings);
    clips.push(found.clip);
    loss += found.loss / tree.paths.length;
    for (const token of tokens) derivatives[token]! += found.derivative / tree.paths.length / tokens.length;
  });
  return { loss, derivatives, clips };
}

describe('objective', () => {
  for (const row of goldenRows<Row>('objective'))
    if (row.kl !== undefined)
      it(`has a KL of ${row.kl} at log π ${row.logProb} and reference ${row.reference}`, () => {
        near(k3(row.logProb!, row.reference!).value, row.kl!);
      });
    else
      it(`has a loss of ${row.loss} at A ${row.advantage} and ratio ${row.ratio}`, () => {
        const { loss, derivative } = clippedLoss(row.advantage!, row.ratio!, SETTINGS);
        near(loss, row.loss!);
        if (row.factor === undefined || row.preserved === undefined) return;
        near(derivative, -row.advantage! * row.factor);
        const balanced = clippedLoss(row.advantage!, row.ratio!, {
          ...SETTINGS,
          clip: 'gradient-preserving-upper',
        });
        near(balanced.loss, row.loss!);
        near(balanced.derivative, -row.advantage! * row.preserved);
      });

  it('clips high and low by their own bounds (clip-higher)', () => {
    const settings = { ...SETTINGS, clipHigh: 0.28 };
    assert.deepEqual(clippedLoss(1, 1.25, settings), { loss: -1.25, derivative: -1.25, clip: 'none' });
    assert.deepEqual(clippedLoss(1, 1.3, settings), { loss: -1.28, derivative: 0, clip: 'high' });
    assert.equal(clippedLoss(-1, 0.75, settings).clip, 'low');
    assert.equal(clippedLoss(-1, 100, { ...settings, dualClip: Infinity }).clip, 'none');
  });

  it('keeps a gradient below the lower bound too under GPPO, and none beyond the dual clip', () => {
    const settings = { ...SETTINGS, clip: 'gradient-preserving' } as const;
    assert.deepEqual(clippedLoss(-1, 0.5, settings), { loss: 0.8, derivative: 0.8, clip: 'low' });
    assert.deepEqual(clippedLoss(2, 1.5, settings), { loss: -2.4, derivative: -2.4, clip: 'high' });
    assert.deepEqual(clippedLoss(-1, 4, settings), { loss: 3, derivative: 0, clip: 'dual' });
    assert.deepEqual(clippedLoss(-1, 0.9, settings), { loss: 0.9, derivative: 0.9, clip: 'none' });
  });

  it('weights the likelihood by the bounded ratio under CISPO, whatever the advantage’s sign', () => {
    const settings = { ...SETTINGS, clip: 'cispo', clipLow: 1, clipHigh: 0.28 } as const;
    for (const [ratio, factor, clip] of [
      [1, 1, 'none'],
      [0.05, 0.05, 'none'],
      [1.28, 1.28, 'none'],
      [9, 1.28, 'high'],
    ] as const)
      for (const advantage of [1.5, -0.5]) {
        const found = clippedLoss(advantage, ratio, settings, -2);
        assert.deepEqual(found, { loss: 2 * advantage * factor, derivative: -advantage * factor, clip });
      }
    assert.equal(clippedLoss(1, 0.1, { ...settings, clipLow: 0.2 }).derivative, -0.8);
    // The derivative is that of the loss by log p with the weight held.
    const loss = (logProb: number) => clippedLoss(0.7, 2, settings, logProb).loss;
    near(clippedLoss(0.7, 2, settings, -1).derivative, (loss(-0.9) - loss(-1.1)) / 0.2);
  });

  it('compares each trajectory’s mean log-ratio with the bounds at sequence level (GSPO)', async () => {
    const settings = { ...SETTINGS, ratio: 'sequence', clipLow: 0.01, clipHigh: 0.012 } as const;
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 40; seed++) {
      const { grown, tree, logProbs } = await shiftedTree(seed);
      if (!tree) continue;
      const { dLogProb, sums } = evaluate(tree, logProbs, logProbs, settings);
      const expected = sequenceLossByRows(grown, tree, logProbs, settings);
      near(sums.policyLoss, expected.loss, 1e-6);
      dLogProb.forEach((value, token) => near(value, expected.derivatives[token]!, 1e-6));
      expected.clips.forEach(clip => kinds.add(clip));
    }
    assert.deepEqual([...kinds].sort(), ['high', 'low', 'none']);
  });

  it('has the derivative of its loss at sequence level too', () => {
    const settings = { ...SETTINGS, ratio: 'sequence', clipHigh: 5 } as const;
    const tree = { ...oneToken([[0.8, 0.5]]), oldLogProbs: Float32Array.of(NaN, -1, -2) };
    Object.assign(tree, {
      ids: Int32Array.of(0, 1, 2),
      termStart: Int32Array.of(0, 0, 1, 2),
      termAdvantage: Float32Array.of(0.8, 0.8),
      termWeight: Float32Array.of(0.5, 0.5),
      termPath: Int32Array.of(0, 0),
    });
    const at = (first: number) => evaluate(tree, Float32Array.of(NaN, first, -2.25), at0, settings);
    const at0 = new Float32Array(3);
    // s = exp((0.5 − 0.25) / 2).
    near(at(-0.5).sums.policyLoss, -0.8 * Math.exp(0.125));
    const step = 2 ** -8;
    const slope = (at(-0.5 + step).sums.policyLoss - at(-0.5 - step).sums.policyLoss) / (2 * step);
    near(at(-0.5).dLogProb[1]!, slope, 1e-4);
    near(at(-0.5).dLogProb[1]!, -0.8 * 0.5 * Math.exp(0.125), 1e-6);
  });

  it('adds the copies of a shared token up, each clipped by its own sign (V5.5)', () => {
    const old = Float32Array.of(NaN, -1);
    const soft = sumsOf(
      oneToken(
        [
          [0.83802, 1],
          [-1.295121, 1],
        ],
        { oldLogProbs: old },
      ),
      -1 + Math.log(1.3),
    );
    near(soft.sums.policyLoss, 0.678034, 2e-6);
    const hard = sumsOf(oneToken([[-0.2285505, 2]], { oldLogProbs: old }), -1 + Math.log(1.3));
    near(hard.sums.policyLoss, 0.594232, 2e-6);
    const { clipFractionHigh, clipFractionLow } = mergeReports([soft.sums]);
    assert.deepEqual([clipFractionHigh, clipFractionLow], [0.5, 0]);
  });

  it('takes the current log-probabilities for the old ones where there are none', () => {
    const { dLogProb, sums } = sumsOf(oneToken([[0.5, 0.25]]), -3);
    near(dLogProb[1]!, -0.125);
    near(mergeReports([sums]).approximateKl, 0);
    assert.equal(dLogProb[0], 0);
  });

  it('tells how much ran into which bound, and how far the policy moved', () => {
    const moved = (ratio: number, terms: readonly [number, number][]) =>
      sumsOf(oneToken(terms, { oldLogProbs: Float32Array.of(NaN, -2) }), -2 + Math.log(ratio)).sums;
    const report = mergeReports([
      moved(1.5, [
        [1, 0.5],
        [-1, 0.125],
      ]),
      moved(4, [[-1, 0.25]]),
      moved(0.5, [[-1, 0.125]]),
    ]);
    const { clipFractionHigh, clipFractionLow, dualClipFraction } = report;
    assert.deepEqual([clipFractionHigh, clipFractionLow, dualClipFraction], [0.5, 0.125, 0.25]);
    near(report.approximateKl, -(0.625 * Math.log(1.5) + 0.25 * Math.log(4) + 0.125 * Math.log(0.5)));
    // A ratio far from 1 counts as it is: only what no number can hold is bounded.
    const free = { ...SETTINGS, dualClip: Infinity };
    const far = oneToken([[-1, 1]], { oldLogProbs: Float32Array.of(NaN, -6) });
    near(sumsOf(far, -1, free).sums.policyLoss, Math.exp(5), 1e-3);
  });

  it('counts a KL of at most 10, and pulls no further beyond it', () => {
    assert.deepEqual(k3(-9, -1), { value: 10, derivative: 0 });
    const { value, derivative } = k3(-3, -1);
    near(value, Math.exp(2) - 3);
    near(derivative, 1 - Math.exp(2));
  });

  it('agrees with finite differences, KL and entropy bonus included', () => {
    const settings = { ...SETTINGS, klWeight: 0.3, entropyWeight: 0.01 };
    for (const [old, reference, advantage] of [
      [-1, -1.4, 0.8],
      [-1.1, -0.7, -0.6],
      [-0.9, -1, 2],
    ] as const) {
      const tree = oneToken(
        [
          [advantage, 0.5],
          [-0.3, 0.25],
        ],
        {
          oldLogProbs: Float32Array.of(NaN, old),
          referenceLogProbs: Float32Array.of(NaN, reference),
        },
      );
      const loss = (logProb: number, entropy = 1.5) =>
        mergeReports([evaluate(tree, at(logProb), at(entropy), settings).sums]).loss;
      const { dLogProb, dEntropy } = sumsOf(tree, -1, settings);
      const step = 2 ** -8;
      near(dLogProb[1]!, (loss(-1 + step) - loss(-1 - step)) / (2 * step), 1e-4);
      near(dEntropy[1]!, (loss(-1, 1.75) - loss(-1, 1.25)) / 0.5);
    }
  });

  it('stays finite at absurd ratios', () => {
    const tree = oneToken(
      [
        [1, 1],
        [-1, 1],
      ],
      { oldLogProbs: Float32Array.of(NaN, -500) },
    );
    assert.ok(Number.isFinite(sumsOf(tree, 0).sums.policyLoss));
  });

  it('refuses a KL weight without reference log-probabilities', () => {
    assert.throws(() => sumsOf(oneToken([[1, 1]]), -1, { ...SETTINGS, klWeight: 0.1 }), /reference/);
  });

  it('is the mean negative log-likelihood of the trained tokens for rows', () => {
    const batch = packRows([
      { ids: [5, 6, 7], weights: [0, 1, 1] },
      { ids: [5, 8], weights: Uint8Array.of(0, 1) },
    ]);
    const logProbs = [Float32Array.of(NaN, -1, -2), Float32Array.of(NaN, -3)];
    const found = batch.trees.map((tree, i) => evaluate(tree, logProbs[i]!, new Float32Array(3), LIKELIHOOD));
    near(mergeReports(found.map(({ sums }) => sums)).loss, 2);
    assert.deepEqual(
      Array.from(found[0]!.dLogProb, value => Math.round(value * 1e6)),
      [0, -333333, -333333],
    );
    assert.equal(mergeReports(found.map(({ sums }) => sums)).trainedTokens, 3);
    assert.throws(() => packRows([{ ids: [1, 2], weights: [1, 1] }]), /first token/);
    assert.throws(() => packRows([{ ids: [1, 2], weights: [0, 0] }]), /No token/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PackedTree } from '../../src/core/batch.ts';
import { packRows } from '../../src/core/batch.ts';
import {
  clippedLoss,
  evaluate,
  k3,
  LIKELIHOOD,
  mergeReports,
  type ObjectiveSettings,
} from '../../src/core/objective.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  advantage?: number;
  ratio?: number;
  loss?: number;
  factor?: number;
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
        if (row.factor !== undefined) near(derivative, -row.advantage! * row.factor);
      });

  it('clips high and low by their own bounds (clip-higher)', () => {
    const settings = { ...SETTINGS, clipHigh: 0.28 };
    assert.deepEqual(clippedLoss(1, 1.25, settings), { loss: -1.25, derivative: -1.25, clip: 'none' });
    assert.deepEqual(clippedLoss(1, 1.3, settings), { loss: -1.28, derivative: 0, clip: 'high' });
    assert.equal(clippedLoss(-1, 0.75, settings).clip, 'low');
    assert.equal(clippedLoss(-1, 100, { ...settings, dualClip: Infinity }).clip, 'none');
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

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  branchProbability,
  decide,
  penaltyOf,
  type BranchSettings,
  type Question,
} from '../../src/core/branching.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import type { Rule } from '../../src/core/types.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  alpha: number;
  beta: number;
  delta: number;
  probability?: number;
  draw?: number;
  branches?: boolean;
  form?: Rule;
  consecutive?: number;
}

const settings = (alpha = 0.5, beta = 0.2, penalty: Rule | 'none' = 'none'): BranchSettings => ({
  rule: 'paper',
  gate: 'bernoulli',
  branchProbability: alpha,
  entropyWeight: beta,
  threshold: 0.5,
  penalty,
});
const question = (delta: number, made = 1): Question => ({
  segment: 2,
  path: 0,
  round: 1,
  initialEntropy: 0,
  entropy: delta,
  windowTokens: 10,
  made,
  total: 4,
});
const never = (): number => assert.fail('no number should have been drawn');

describe('branching', () => {
  for (const row of goldenRows<Row>('branching')) {
    const { alpha, beta, delta, form, consecutive = 0 } = row;
    const given = settings(alpha, beta, form);
    const what = form ? `, ${form} penalty after ${consecutive}` : '';
    if (row.probability !== undefined)
      it(`gives P = ${row.probability} at ΔH = ${delta} (α ${alpha}, β ${beta}${what})`, () => {
        const found = branchProbability(given, delta, penaltyOf(given, consecutive));
        assert.ok(Math.abs(found - row.probability!) < 1e-6, `${found}`);
      });
    else
      it(`${row.branches ? 'branches' : 'refuses'} at ΔH = ${delta} and U = ${row.draw}${what}`, () => {
        const { outcome } = decide(question(delta), given, () => row.draw!, consecutive);
        assert.equal(outcome, row.branches ? 'branch' : 'refuse');
      });
  }

  it('branches as often as P says', () => {
    const key = streamKey(7, 'gate');
    const draws = 20000;
    for (const penalty of ['none', 'paper', 'upstream'] as const)
      for (const delta of [-1, 0, 1]) {
        const given = settings(0.5, 0.2, penalty);
        let branched = 0;
        for (let i = 0; i < draws; i++)
          if (decide(question(delta), given, () => uniform(key, i), 3).outcome === 'branch') branched++;
        // Five standard deviations: a false alarm in fewer than one of a million changes of the stream.
        const expected = branchProbability(given, delta, penaltyOf(given, 3));
        const spread = 5 * Math.sqrt((expected * (1 - expected)) / draws);
        assert.ok(
          Math.abs(branched / draws - expected) <= spread,
          `${penalty}, ΔH ${delta}: ${branched / draws}`,
        );
      }
  });

  it('always branches at α = 1, whatever ΔH', () => {
    assert.equal(decide(question(-50), settings(1), () => 0.999).outcome, 'branch');
    assert.equal(branchProbability(settings(1), -50), 1);
  });

  it('needs P above τ at the threshold gate, and draws nothing', () => {
    const gate: BranchSettings = { ...settings(), gate: 'threshold', threshold: 0.55 };
    assert.equal(decide(question(0.25), gate, never).outcome, 'refuse');
    const decision = decide(question(0.26), gate, never);
    assert.equal(decision.outcome, 'branch');
    assert.equal(decision.threshold, 0.55);
    assert.equal('draw' in decision, false);
  });

  it('has a spent budget answer the threshold gate too', () => {
    const gate: BranchSettings = { ...settings(), gate: 'threshold', threshold: 0.55 };
    const { outcome, threshold, probability } = decide(question(1, 4), gate, never);
    assert.deepEqual([outcome, threshold, probability], ['budget', 0.55, 0.7]);
  });

  it('never branches where the paper’s penalty has left no probability', () => {
    const { outcome, probability } = decide(question(3), settings(0.5, 0.2, 'paper'), () => 0, 20);
    assert.deepEqual([outcome, probability], ['refuse', 0]);
  });

  it('records how far repeated branching was damped', () => {
    const { penalty, probability } = decide(question(0.5), settings(0.5, 0.2, 'upstream'), () => 0, 5);
    assert.deepEqual(penalty, { form: 'upstream', consecutive: 5, factor: 0.75 });
    assert.ok(Math.abs(probability - (1 - 0.5 / 0.75 + 0.1)) < 1e-12);
    assert.equal('penalty' in decide(question(0.5), settings(), () => 0, 5), false);
    assert.equal(penaltyOf({ ...settings(0.5, 0.2, 'paper'), penaltyRate: 0.3 }, 4)!.factor, 0);
  });

  it('records all numbers also where the budget is spent, and draws nothing', () => {
    const { probability, ...decision } = decide(question(0.5, 4), settings(), never);
    assert.ok(Math.abs(probability - 0.6) < 1e-12);
    assert.deepEqual(decision, {
      ...question(0.5, 4),
      rule: 'paper',
      gate: 'bernoulli',
      entropyDelta: 0.5,
      branchProbability: 0.5,
      entropyWeight: 0.2,
      outcome: 'budget',
    });
  });
});

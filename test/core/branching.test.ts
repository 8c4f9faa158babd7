import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { branchProbability, decide, type BranchSettings, type Question } from '../../src/core/branching.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  alpha: number;
  beta: number;
  delta: number;
  probability?: number;
  draw?: number;
  branches?: boolean;
}

const settings = (alpha = 0.5, beta = 0.2): BranchSettings => ({
  rule: 'paper',
  gate: 'bernoulli',
  branchProbability: alpha,
  entropyWeight: beta,
  threshold: 0.5,
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
  for (const { alpha, beta, delta, probability, draw, branches } of goldenRows<Row>('branching'))
    if (probability !== undefined)
      it(`gives P = ${probability} at ΔH = ${delta} (α ${alpha}, β ${beta})`, () => {
        assert.ok(Math.abs(branchProbability(settings(alpha, beta), delta) - probability) < 1e-6);
      });
    else
      it(`${branches ? 'branches' : 'refuses'} at ΔH = ${delta} and U = ${draw}`, () => {
        const { outcome } = decide(question(delta), settings(alpha, beta), () => draw!);
        assert.equal(outcome, branches ? 'branch' : 'refuse');
      });

  it('branches as often as P says', () => {
    const key = streamKey(7, 'gate');
    const draws = 20000;
    for (const delta of [-1, 0, 1]) {
      let branched = 0;
      for (let i = 0; i < draws; i++)
        if (decide(question(delta), settings(), () => uniform(key, i)).outcome === 'branch') branched++;
      // Five standard deviations: a false alarm in fewer than one of a million changes of the stream.
      const expected = branchProbability(settings(), delta);
      const spread = 5 * Math.sqrt((expected * (1 - expected)) / draws);
      assert.ok(Math.abs(branched / draws - expected) < spread, `ΔH ${delta}: ${branched / draws}`);
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

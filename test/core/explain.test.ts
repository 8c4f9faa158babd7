import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { decisionLines, formula, verdict } from '../../src/core/explain.ts';
import type { Decision } from '../../src/core/types.ts';
import { refused } from '../fakes/decision.ts';

const asked: Decision = { ...refused, segment: 3 };

describe('the explanation of a branch', () => {
  it('says a refusal by the threshold in one line', () => {
    assert.equal(verdict(asked), 'P .46 ≤ τ .50 → refused');
  });

  it('says a draw against its probability in one line', () => {
    const { threshold: _, ...rest } = asked;
    assert.equal(
      verdict({ ...rest, gate: 'bernoulli', draw: 0.4, outcome: 'branch' }),
      'P .46 ≥ draw .40 → branched',
    );
  });

  it('fills the numbers into the formula', () => {
    assert.equal(formula(asked), 'P = clamp(α + β·ΔH) = clamp(.30 + .50 · .320) = .460');
  });

  it('fills in how far repeated branching was damped, by the trajectory or by the tree', () => {
    const penalty = { form: 'paper', consecutive: 2, factor: 0.9 } as const;
    const damped = { ...asked, penalty, probability: 0.414 };
    assert.equal(formula(damped), 'P = clamp((α + β·ΔH)·f) = clamp((.30 + .50 · .320) · .900) = .414');
    const { threshold: _, ...rest } = asked;
    const upstream: Decision = {
      ...rest,
      rule: 'upstream',
      gate: 'bernoulli',
      branchProbability: 0.5,
      penalty: { form: 'upstream', consecutive: 1, factor: 0.95 },
      probability: 0.634,
      draw: 0.4,
      outcome: 'branch',
    };
    assert.equal(formula(upstream), 'P = clamp(1 − α/f + β·ΔH) = clamp(1 − .50/.950 + .50 · .320) = .634');
    assert.equal(verdict(upstream), '1 − P .37 ≤ draw .40 → branched');
    assert.equal(verdict({ ...upstream, draw: 0.3, outcome: 'refuse' }), '1 − P .37 > draw .30 → refused');
    const lines = decisionLines(upstream).map(({ term, value }) => `${term} ${value}`);
    assert.deepEqual(lines.slice(7, 10), ['l 1', 'f .950', 'P .634']);
    assert.ok(lines.includes('over top 10, tail not logged'));
  });

  it('tells every number of the decision, and the seed where it is known', () => {
    const lines = decisionLines(asked, { seed: 7 }).map(({ term, value }) => `${term}: ${value}`);
    assert.deepEqual(lines, [
      'H₀: .210',
      'Hₜ: .530',
      'ΔH: +.320',
      'window: 10 tokens',
      'over: whole vocabulary',
      'α: .300',
      'β: .500',
      'P: .460',
      'τ: .500',
      'Z: 0',
      'budget: 4 of 8 made',
      'rule: paper, threshold, round 1',
      'asked by: trajectory 0',
      'seed: 7',
    ]);
    const made = decisionLines({ ...asked, outcome: 'branch', child: 5 }).map(({ value }) => value);
    assert.deepEqual([made[9], made.at(-1)], ['1', 'trajectory 0, made 5']);
  });
});

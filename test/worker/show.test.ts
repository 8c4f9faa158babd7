import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Decision } from '../../src/core/types.ts';
import { decisionLabel, showTree } from '../../src/worker/show.ts';
import { attributionTree } from '../fakes/attributionTree.ts';

describe('showing a tree in a terminal', () => {
  it('says what a probe measured, what came of it, and that the filter dropped the group', () => {
    const { tree } = attributionTree();
    assert.equal(showTree(tree).filter(line => /probe|dropped/u.test(line)).length, 0);
    const calls = [{ tool: 'search', outcome: 'ok', latencyMs: 1, shared: false } as const];
    const measured = {
      form: 'upstream',
      rootEntropy: 0.8,
      turnEntropy: 0.4,
      share: 2.199,
      tokens: 9,
    } as const;
    const lines = showTree({ ...tree, probe: { ...measured, calls }, isDropped: true });
    assert.equal(
      lines[3],
      'probe upstream: H of the prompt .800, of turns .400 → 2.20 of 4, so 3   (1 call)',
    );
    assert.match(lines[4]!, /dropped by the filter/);
  });

  it('says how far a branching probability was damped', () => {
    const plain: Decision = {
      segment: 2,
      path: 0,
      round: 1,
      rule: 'paper',
      gate: 'bernoulli',
      initialEntropy: 0.5,
      entropy: 1,
      entropyDelta: 0.5,
      windowTokens: 20,
      branchProbability: 0.5,
      entropyWeight: 0.2,
      probability: 0.54,
      draw: 0.7,
      made: 2,
      total: 4,
      outcome: 'refuse',
    };
    const decision: Decision = { ...plain, penalty: { form: 'paper', consecutive: 2, factor: 0.9 } };
    assert.match(
      decisionLabel(decision),
      /P 0?\.540? damped by 0?\.900? after 2 in a row, drew 0?\.700? → refused/,
    );
    assert.doesNotMatch(decisionLabel(plain), /damped/);
  });
});

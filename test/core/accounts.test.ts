import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { branchAccount, stepAccount } from '../../src/core/accounts.ts';
import { emptyState } from '../../src/core/fold.ts';
import type { Tree } from '../../src/core/types.ts';
import { refused } from '../fakes/decision.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

const tree = {
  id: '3.1',
  rule: 'paper',
  initial: 1,
  total: 8,
  task: { question: 'How many?', references: ['7'] },
  segments: [
    { kind: 'prompt', text: '' },
    { kind: 'model', text: '' },
    {
      kind: 'tool',
      text: '<result>x'.padEnd(700, 'x'),
      call: { tool: 'search', outcome: 'ok', argument: 'seven' },
    },
    { kind: 'model', text: '' },
  ],
  paths: [{ leaf: 3, reward: { total: 1.1, parts: {}, correct: true, reason: 'Right.' } }],
  decisions: [refused],
  credit: { soft: [-0.25], hard: [], used: 'soft' },
} as unknown as Tree;

describe('an account', () => {
  it('of a step has its numbers in one row, a dash where none was logged, and its trees', () => {
    const state = emptyState();
    state.steps = 9;
    state.summaries.push({ step: 3, at: '', summary: stepSummary({ accuracy: 0.625 }) });
    const rest = { task: 't', paths: 2, branches: 1, refused: 2 };
    state.trees.push(
      { ...rest, id: '3.1', step: 3, rewards: [1.1, 0], span: { offset: 0, length: 9 } },
      { ...rest, id: '2.1', step: 2, rewards: [0] },
    );
    const account = stepAccount(state, 3)!;
    const [heads, , row] = account.split('\n').filter(line => line.startsWith('|'));
    assert.equal(row!.split('|').length, heads!.split('|').length);
    assert.match(row!, /^\| 3 \| .* \| 62\.5 % \|/);
    assert.ok(account.includes('- 3.1: task t, rewards 1.100 0, 1 branched, 2 refused'));
    assert.ok(!account.includes('2.1'));
    assert.equal(stepAccount(state, 4), undefined);
  });

  it('of an imported run says nothing of branches and of steps to come', () => {
    const state = emptyState();
    state.summaries.push({ step: 3, at: '', summary: stepSummary() });
    state.trees.push({ id: '3.1', step: 3, task: 't', paths: 1, rewards: [1] });
    const account = stepAccount(state, 3)!;
    assert.ok(account.startsWith('# Step 3\n'));
    assert.ok(account.endsWith('- 3.1: task t, rewards 1, not kept'), account);
  });

  it('of a branch has the verdict, the filled formula, the tool’s words and what came of it', () => {
    const account = branchAccount(tree);
    for (const part of [
      'After segment 2, on trajectory 0: P .46 ≤ τ .50 → refused',
      'P = clamp(α + β·ΔH) = clamp(.30 + .50 · .320) = .460',
      '- H₀ = .210',
      'search, ok, asked "seven"',
      'trajectory 0: reward 1.100, advantage −.250, Right.',
    ])
      assert.ok(account.includes(part), `${part} in\n${account}`);
    assert.ok(account.length < 2500, 'a long answer is cut');
  });

  it('of the branches after one segment leaves out the others, and says where none was asked for', () => {
    assert.match(branchAccount(tree, 2), /refused/);
    assert.match(branchAccount(tree, 3), /No branch was asked for after segment 3\./);
  });
});

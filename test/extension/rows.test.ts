import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  accuracyOf,
  checkLabel,
  CONTEXTS,
  gitText,
  liveStepDescription,
  runDescription,
  runFacts,
  runLabel,
  runRowDescription,
  runTitle,
  short,
  statusOf,
  statusText,
} from '../../src/extension/rows.ts';
import type { RunSummary } from '../../src/run/runs.ts';

const live: RunSummary = {
  folder: '/runs/sample-1',
  name: 'sample-1',
  tags: [],
  config: 'sample',
  status: 'live',
  isPaused: false,
  created: '',
  step: 12,
  steps: 40,
  reward: 0.62,
};

describe('rows', () => {
  it('show a live run’s step and reward, and say the same to screen readers', () => {
    assert.equal(runDescription(live), 'step 12/40 · R .62');
    assert.equal(runLabel(live), 'Run sample-1, running, step 12 of 40, mean reward 0.62');
    assert.equal(statusText(live), '$(sync~spin) sample-1 step 12/40 · R .62');
  });

  it('name every state that is not plain, and offer only what it allows', () => {
    const failed: RunSummary = { ...live, status: 'failed', problem: 'The disk is full.' };
    assert.equal(runDescription(failed), 'failed · step 12/40 · R .62');
    assert.equal(
      runLabel(failed),
      'Run sample-1, failed, step 12 of 40, mean reward 0.62. The disk is full.',
    );
    const states = [
      live,
      { ...live, isPaused: true },
      { ...live, step: 0 },
      failed,
      { ...live, status: 'interrupted' as const },
      { ...live, status: 'finished' as const },
    ];
    assert.deepEqual(
      states.map(run => [statusOf(run), CONTEXTS[statusOf(run)]]),
      [
        ['running', 'run.running'],
        ['paused', 'run.paused'],
        ['starting', 'run.running'],
        ['failed', 'run.resumable'],
        ['interrupted', 'run.resumable'],
        ['finished', 'run.finished'],
      ],
    );
  });

  it('call a run as its user does, with its folder’s name and tags behind', () => {
    const named: RunSummary = { ...live, label: 'Baseline', tags: ['paper', 'seed 1'], source: 'verl' };
    assert.equal(runTitle(named), 'Baseline');
    assert.equal(runTitle(live), 'sample-1');
    assert.equal(runRowDescription(named), 'sample-1 · verl · step 12/40 · R .62 · #paper · #seed 1');
    assert.equal(
      runLabel(named),
      'Run Baseline (sample-1), imported from verl, running, step 12 of 40, mean reward 0.62, tagged paper, seed 1',
    );
  });

  it('tell on hovering what is known, and “not logged” where a number is missing', () => {
    const { reward: _, ...unrewarded } = live;
    const facts = Object.fromEntries(runFacts(unrewarded));
    assert.equal(facts['Mean reward'], 'not logged');
    assert.equal(facts.Status, 'running, step 12 of 40');
    assert.ok(!('Preset' in facts));
  });

  it('say which commit a run began from', () => {
    const commit = '3f2a1c4d5e6f';
    assert.deepEqual(
      [gitText(undefined), gitText({ commit, isDirty: false }), gitText({ commit, isDirty: true })],
      ['not recorded', '3f2a1c4', '3f2a1c4 + changes'],
    );
  });

  it('read a check’s result with its sign in words', () => {
    const result = {
      id: 'template',
      status: 'warning',
      message: 'Two tokens vanish.',
      fix: 'Keep them.',
    } as const;
    assert.equal(checkLabel(result), 'Check template, to look at: Two tokens vanish. Keep them.');
    assert.equal(checkLabel({ ...result, status: 'ok' }), 'Check template, ok: Two tokens vanish.');
  });

  it('write numbers without the zero that says nothing', () => {
    assert.deepEqual([0.62, -0.05, 1, -1.5, 0].map(short), ['.62', '−.05', '1.00', '−1.50', '.00']);
    assert.equal(
      accuracyOf({ accuracy: 0.58, interval: [0.53, 0.62], greedyAccuracy: 0.84 }),
      '.58 [.53, .62] · greedy .84',
    );
  });

  it('count what is grown of the step that is under way', () => {
    const tree = { id: '3.0', segments: [], calls: {}, decisions: [] };
    const step = { step: 3, at: '', tasks: [], trees: [tree, { ...tree, id: '3.1' }] };
    assert.equal(liveStepDescription(step), 'growing 2 trees, 0 segments');
    assert.equal(
      liveStepDescription({ ...step, trees: [{ ...tree, rewards: [1] }, tree] }),
      '1 of 2 trees done',
    );
  });
});

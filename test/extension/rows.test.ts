import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  accuracyOf,
  callsUnderWay,
  checkLabel,
  checksDescription,
  CONTEXTS,
  gitText,
  liveLine,
  liveStepDescription,
  runDescription,
  runFacts,
  runLabel,
  runRowDescription,
  runTitle,
  short,
  sparkline,
  statusOf,
  statusText,
  stepDescription,
  stepLabel,
} from '../../src/extension/rows.ts';
import type { StepSummary } from '../../src/core/events.ts';
import { plain } from '../../src/core/figures.ts';
import { emptyState, type FinishedStep, type LiveSegment } from '../../src/core/fold.ts';
import { stepSummary } from '../fakes/stepSummary.ts';
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
    assert.equal(runRowDescription(failed), 'failed · step 12/40 · R .62 · The disk is full.');
    assert.match(runRowDescription({ ...failed, problem: 'no '.repeat(99) }), /^.{29}( no){19,20} ?…$/);
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
    assert.equal(
      runRowDescription(named),
      'sample-1 · imported (verl) · step 12/40 · R .62 · #paper · #seed 1',
    );
    assert.equal(
      runLabel(named),
      'Run Baseline (sample-1), imported from verl, running, step 12 of 40, mean reward 0.62, tagged paper, seed 1',
    );
  });

  it('draw the rewards of a live run’s last steps, and say its entropy', () => {
    const moving: RunSummary = { ...live, recent: [0.1, 0.2, 0.5, 0.8], entropy: 0.48 };
    assert.equal(runRowDescription(moving), 'step 12/40 · R .62 · ▁▂▅█ · H .48');
    assert.match(runLabel(moving), /, mean reward 0\.62, entropy 0\.48 nats$/);
    assert.equal(runRowDescription({ ...moving, status: 'finished' }), 'step 12/40 · R .62');
    assert.equal(sparkline([0.5, 0.5]), '▄▄');
    assert.match(runRowDescription({ ...moving, waiting: 2 }), / · H \.48 · 2 waiting$/);
    assert.match(runLabel({ ...moving, waiting: 2 }), /entropy 0\.48 nats, 2 tool calls under way$/);
    assert.equal(runRowDescription({ ...moving, waiting: 0 }), runRowDescription(moving));
    const rising: RunSummary = { ...moving, recent: [0.1, 0.1, 0.2, 0.5, 0.6, 0.6] };
    assert.match(runRowDescription(rising), /· R \.62 ▲ ·/);
    assert.match(runLabel(rising), /, mean reward 0\.62 and rising, entropy/);
    assert.match(runRowDescription({ ...rising, recent: rising.recent!.toReversed() }), /· R \.62 ▼ ·/);
  });

  it('tell on hovering what is known, and “not logged” where a number is missing', () => {
    const { reward: _, ...unrewarded } = live;
    const facts = Object.fromEntries(runFacts(unrewarded));
    assert.equal(facts['Mean reward'], 'not logged');
    assert.equal(facts.Status, 'running, step 12 of 40');
    assert.ok(!('Preset' in facts));
  });

  it('show of a step its reward, entropy, branches and calls, and of its groups those that teach nothing', () => {
    const groups = { allRight: 1, mixed: 2, allWrong: 1 };
    const of = (change: Pick<StepSummary, 'groups'> | object): FinishedStep => ({
      ...{ step: 3, at: '' },
      summary: stepSummary({ tasks: 4, groups: { ...groups, flat: 2 }, ...change }),
    });
    const { reward, entropy, branches, toolCalls } = of({}).summary;
    const numbers = `R ${plain(reward.mean, 2)} · H ${plain(entropy.all, 2)} · ${branches!.taken} of ${branches!.asked} branched`;
    const shown = `${numbers} · ${toolCalls.total} calls`;
    assert.equal(stepDescription(of({})), `${shown} · 2 of 4 without variance`);
    assert.equal(stepDescription(of({ groups: { ...groups, flat: 0 } })), shown);
    assert.match(stepLabel(of({})), / tool calls, 2 of 4 groups without variance$/);
    assert.match(stepLabel(of({ groups })), /, groups without variance not logged$/);
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
    const ok = { ...result, status: 'ok' } as const;
    assert.equal(checksDescription([ok, result, ok]), '1 to look at · 2 ok');
    assert.equal(checkLabel({ ...result, status: 'ok' }), 'Check template, ok: Two tokens vanish.');
  });

  it('write numbers without the zero that says nothing', () => {
    assert.deepEqual([0.62, -0.05, 1, -1.5, 0].map(short), ['.62', '−.05', '1.00', '−1.50', '.00']);
    assert.equal(
      accuracyOf({ accuracy: 0.58, interval: [0.53, 0.62], greedyAccuracy: 0.84 }),
      '.58 [.53, .62] · greedy .84',
    );
  });

  it('count what is done of the step that is under way, and the calls that it waits for', () => {
    const tree = { id: '3.0', segments: [], calls: {}, decisions: [] };
    const grown = (segment: number, rest: Partial<LiveSegment>): LiveSegment => ({
      ...{ segment, parent: segment - 1, kind: 'model', tokens: 3, turn: 0, path: 0, origin: 'initial' },
      ...rest,
    });
    const asks = grown(1, { stop: 'call' });
    const waits = { ...tree, segments: [asks, grown(2, { kind: 'tool' }), grown(3, { stop: 'call' })] };
    const step = { step: 3, at: '', tasks: ['a', 'b'], trees: [waits, { ...tree, segments: [asks] }] };
    assert.equal(liveStepDescription(step), '0 of 2 trees done, 2 calls under way');
    assert.equal(callsUnderWay(step.trees), 2);
    const judged = { ...tree, rewards: [1] };
    assert.equal(liveStepDescription({ ...step, trees: [judged, tree] }), '1 of 2 trees done');
    assert.equal(liveStepDescription({ ...step, trees: [judged, judged] }), 'learning');
    assert.equal(
      statusText(live, { ...step, trees: [judged, waits] }),
      '$(sync~spin) sample-1 step 12/40 · R .62 · 1 of 2 trees done, 1 call under way',
    );
  });

  it('say what a run that has just begun runs on, and for how long at the pace of another until it has its own', () => {
    const state = emptyState();
    state.steps = 40;
    const step = (total: number): FinishedStep => ({
      step: 1,
      at: '',
      summary: stepSummary({ seconds: { total, rollout: 0, learn: 0 } }),
    });
    assert.equal(liveLine(state, []), 'Training on a device that is not told yet');
    state.run = { device: 'cpu', tools: { python: 'pyodide with Python 3.13' } } as never;
    assert.equal(
      liveLine(state, [step(3)]),
      'Training on cpu · python: pyodide with Python 3.13 · about 2 min',
    );
    state.summaries.push(step(600));
    assert.equal(
      liveLine(state, [step(3)]),
      'Training on cpu · python: pyodide with Python 3.13 · about 7 h',
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Event, Fact } from '../../src/core/events.ts';
import { emptyState, fold, foldInto } from '../../src/core/fold.ts';
import type { Decision } from '../../src/core/types.ts';
import { refused } from '../fakes/decision.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

const decision = (outcome: Decision['outcome']): Decision => ({ ...refused, outcome });

const started: Fact = {
  type: 'run-started',
  format: { major: 1, minor: 0 },
  run: 'sample-1',
  steps: 40,
  tasks: 8,
  tools: { python: 'pyodide' },
  device: 'cpu',
  parameters: 1_000_000,
  seed: 7,
};

/** Facts of one step: a tree that grows, answers, branches once, refuses once, and is judged. */
function stepFacts(step: number, reward: number): [number, Fact][] {
  const tree = `${step}.0`;
  const grown = (segment: number, kind: 'prompt' | 'model' | 'tool'): Fact => ({
    type: 'segment-grown',
    tree,
    segment,
    parent: segment - 1,
    kind,
    tokens: 4,
    turn: 0,
    path: 0,
    origin: 'initial',
    ...(kind === 'model' && { entropy: 0.2, stop: 'call' as const }),
  });
  const facts: Fact[] = [
    { type: 'step-started', tasks: ['world-1'] },
    grown(0, 'prompt'),
    grown(1, 'model'),
    {
      type: 'tool-answered',
      tree,
      segment: 2,
      call: { tool: 'search', outcome: 'ok', latencyMs: 12, shared: false },
    },
    grown(2, 'tool'),
    { type: 'branch-decided', tree, decision: decision('branch') },
    { type: 'branch-decided', tree, decision: decision('refuse') },
    {
      type: 'tree-finished',
      tree,
      task: 'world-1',
      paths: 2,
      rewards: [reward, 0],
      span: { offset: 0, length: 9 },
      tokens: { offset: 0, count: 12 },
    },
    {
      type: 'step-finished',
      summary: stepSummary({ reward: { mean: reward, std: 0, p10: reward, p90: reward, parts: {} } }),
    },
    { type: 'checkpoint-saved', folder: `checkpoints/step-${step}`, hash: 'x', seconds: 0.1 },
  ];
  return facts.map(fact => [step, fact]);
}

const stamped = (facts: [number, Fact][]): Event[] =>
  facts.map(([step, fact], seq) => ({ seq, at: new Date(1_000_000 + seq).toISOString(), step, ...fact }));

describe('fold', () => {
  it('keeps one summary, one checkpoint and one tree per finished step, with branches taken and refused', () => {
    const state = fold(stamped([[0, started], ...stepFacts(1, 1), ...stepFacts(2, 0.5)]));
    assert.equal(state.status, 'running');
    assert.deepEqual([state.step, state.steps, state.run?.device], [2, 40, 'cpu']);
    assert.deepEqual(
      state.summaries.map(({ step, summary }) => [step, summary.reward.mean]),
      [
        [1, 1],
        [2, 0.5],
      ],
    );
    assert.deepEqual(
      state.trees.map(tree => [tree.id, tree.branches, tree.refused, tree.rewards]),
      [
        ['1.0', 1, 1, [1, 0]],
        ['2.0', 1, 1, [0.5, 0]],
      ],
    );
    assert.equal(state.checkpoints.length, 2);
    assert.equal(state.live, undefined);
  });

  it('shows a tree while it grows, whichever of a tool’s answer and its segment is told first', () => {
    const state = fold(stamped([[0, started], ...stepFacts(1, 1).slice(0, 6)]));
    const [tree] = state.live!.trees;
    assert.equal(state.live!.step, 1);
    assert.deepEqual(
      tree!.segments.map(({ kind, entropy }) => [kind, entropy]),
      [
        ['prompt', undefined],
        ['model', 0.2],
        ['tool', undefined],
      ],
    );
    assert.equal(tree!.calls[2]!.latencyMs, 12);
    assert.equal(tree!.decisions[0]!.probability, refused.probability);
    assert.equal(tree!.rewards, undefined);
  });

  it('gives the same state in one batch, event by event, and where batches overlap', () => {
    const events = stamped([
      [0, started],
      ...stepFacts(1, 1),
      ...stepFacts(2, 0.5),
      [2, { type: 'paused', reason: 'asked' }],
    ]);
    const whole = fold(events);
    const single = emptyState();
    for (const event of events) foldInto(single, [event]);
    const overlapping = foldInto(foldInto(emptyState(), events.slice(0, 9)), events.slice(4));
    assert.deepEqual(single, whole);
    assert.deepEqual(overlapping, whole);
    assert.equal(whole.status, 'paused');
    assert.equal(whole.last?.seq, events.length - 1);
  });

  it('forgets what was told of steps that a resumed run does again', () => {
    const before = [...stepFacts(1, 1), ...stepFacts(2, 0.5), ...stepFacts(3, 0.1).slice(0, 5)];
    const again = [...stepFacts(2, 0.75), ...stepFacts(3, 0.25)];
    const crashed: [number, Fact] = [
      3,
      { type: 'run-ended', outcome: 'failed', failure: { where: 'policy', message: 'The engine died.' } },
    ];
    const half = fold(stamped([[0, started], ...before, crashed]));
    assert.deepEqual(
      [half.status, half.failure?.message, half.live],
      ['failed', 'The engine died.', undefined],
    );

    const state = fold(
      stamped([
        [0, started],
        ...before,
        crashed,
        [1, { type: 'resumed', from: 'checkpoints/step-1' }],
        ...again,
      ]),
    );
    const straight = fold(stamped([[0, started], ...stepFacts(1, 1), ...again]));
    assert.deepEqual(
      state.summaries.map(({ step, summary }) => [step, summary.reward.mean]),
      [
        [1, 1],
        [2, 0.75],
        [3, 0.25],
      ],
    );
    assert.deepEqual(state.trees, straight.trees);
    assert.deepEqual(
      state.checkpoints.map(({ step }) => step),
      [1, 2, 3],
    );
    assert.deepEqual([state.status, state.failure, state.step], ['running', undefined, 3]);
  });

  it('forgets an earlier resumption that went further, and nothing where a pause ended', () => {
    const resumed = (step: number): [number, Fact] => [
      step,
      { type: 'resumed', from: `checkpoints/step-${step}` },
    ];
    const steps = [1, 2, 3].flatMap(step => stepFacts(step, 1));
    const stepsOf = (...facts: [number, Fact][]): number[] =>
      fold(stamped([[0, started], ...steps, ...facts])).summaries.map(({ step }) => step);
    assert.deepEqual(stepsOf(resumed(3), ...stepFacts(4, 1), resumed(2)), [1, 2]);
    assert.deepEqual(stepsOf([3, { type: 'paused', reason: 'asked' }], resumed(3)), [1, 2, 3]);
  });

  it('skips facts that it does not know', () => {
    const future = { seq: 1, at: 'now', step: 0, type: 'moon-landed' } as unknown as Event;
    assert.equal(fold([...stamped([[0, started]]), future]).last?.seq, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Event, Fact } from '../../../src/core/events.ts';
import { emptyState, fold, foldInto, type RunState } from '../../../src/core/fold.ts';
import { packSteps, unpackSteps } from '../../../src/core/stepColumns.ts';
import { compact, emptyAxis, growAxis, nameOf, xOf } from '../../../webview/dashboard/axis.ts';
import { GROUPS } from '../../../webview/dashboard/charts.ts';
import { growSeams, marksOf, type Seam } from '../../../webview/dashboard/marks.ts';
import type { ChartPlan } from '../../../webview/dashboard/plan.ts';
import { headlines } from '../../../src/extension/pump.ts';
import { listKey } from '../../../webview/dashboard/steps.ts';
import { evaluationPlot, growTo, rescale, stepPlot } from '../../../webview/dashboard/plots.ts';
import { stepSummary } from '../../fakes/stepSummary.ts';
import { variedJournal } from '../../fakes/variedJournal.ts';

const PLANS = GROUPS.flatMap(({ charts }) => charts).filter(
  (plan): plan is ChartPlan => plan.title !== 'Held-out accuracy',
);
const planOf = (title: string): ChartPlan => PLANS.find(plan => plan.title === title)!;

const finished = (step: number, change = {}) => ({ step, at: '', summary: stepSummary(change) });

const evaluated = (step: number, accuracy: number): RunState['evaluations'][number] => ({
  step,
  at: '',
  summary: {
    id: `step-${step}`,
    dataset: 'held-out',
    tasks: 10,
    samples: 2,
    accuracy,
    interval: [accuracy - 0.1, accuracy + 0.1],
    reward: accuracy,
    toolCallsPerTrajectory: 1,
    byAbility: {},
    seconds: 1,
  },
});

const events = (facts: readonly [step: number, fact: Fact][]): Event[] =>
  facts.map(([step, fact], seq) => ({ seq, at: '2026-01-01T00:00:00.000Z', step, ...fact }));

describe('the x axis', () => {
  const axis = emptyAxis();
  for (const step of [1, 2, 4])
    growAxis(axis, finished(step, { seconds: { total: 30, rollout: 20, learn: 10 } }));

  it('adds up tokens, calls and time behind each step', () => {
    assert.deepEqual(axis, {
      steps: [1, 2, 4],
      tokens: [900, 1800, 2700],
      calls: [9, 18, 27],
      time: [30, 60, 90],
    });
  });

  it('puts what happened between two steps at the one before, and what came first at 0', () => {
    assert.deepEqual(
      [0, 1, 3, 9].map(step => xOf(axis, 'tokens', step)),
      [0, 900, 1800, 2700],
    );
    assert.equal(xOf(axis, 'step', 3), 3);
  });

  it('names places in few characters', () => {
    assert.deepEqual([7, 1500, 23_400, 4_200_000].map(compact), ['7', '1.5 k', '23 k', '4.2 M']);
    assert.equal(nameOf('time', 200), '3 min 20 s');
    assert.equal(nameOf('step', 2.5), '');
  });
});

describe('charts', () => {
  it('show every number of a step once, under its raw key', () => {
    const keys = PLANS.flatMap(plan => [
      ...plan.lines,
      ...(plan.named?.in(stepSummary()) ?? []).map((name, i) => plan.named!.line(name, i)),
    ]).map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length);
    for (const key of [
      'reward.mean',
      'reward.parts.format',
      'entropy.byTurn[1]',
      'clipFractions.dual',
      'groups.flat',
    ])
      assert.ok(keys.includes(key), key);
  });

  it('leave a gap, never a 0, where an old journal has no number', () => {
    const { clipFractions: _, turns: __, memory: ___, mismatch: ____, ...old } = stepSummary();
    for (const [title, key] of [
      ['Clipped share', 'clipFractions.high'],
      ['Turns', 'turns.mean'],
      ['Memory (MiB)', 'memory.engine'],
      ['Mismatch |Δ log p|', 'mismatch.p99'],
    ] as const) {
      const made = stepPlot(planOf(title));
      growTo(made, [{ step: 1, at: '', summary: old }, finished(2)], [1, 2]);
      const column = made.plot.values[made.plot.series.findIndex(series => series.key === key)]!;
      assert.ok(Number.isNaN(column[0]), title);
      assert.ok(column[1]! > 0, title);
    }
  });

  it('take in a tool that is seen late: it had no calls before, but no latency', () => {
    const late = {
      total: 9,
      errors: 0,
      byTool: { search: 6, browse: 3 },
      latencyP95MsByTool: { browse: 80 },
    };
    const column = (title: string, key: string): number[] => {
      const made = stepPlot(planOf(title));
      growTo(made, [finished(1)], [1]);
      growTo(made, [finished(1), finished(2, { toolCalls: late })], [1, 2]);
      return made.plot.values[made.plot.series.findIndex(series => series.key === key)]!;
    };
    assert.deepEqual(column('Tool calls', 'toolCalls.byTool.browse'), [0, 3]);
    assert.deepEqual(column('Tool latency (ms)', 'toolCalls.latencyP95MsByTool.browse'), [NaN, 80]);
    assert.deepEqual(column('Tool calls', 'toolCalls.byTool.python'), [3, 0]);
  });

  it('count the reward for a tool call, and say nothing where there was none', () => {
    const made = stepPlot(planOf('Reward for a tool call'));
    const none = finished(2, { toolCalls: { total: 0, errors: 0, byTool: {} } });
    growTo(made, [finished(1), none], [1, 2]);
    assert.deepEqual(made.plot.values[0], [(0.5 * 16) / 9, NaN]);
  });

  it('show the same numbers of steps that came in columns, by their raw keys', () => {
    const facts = variedJournal(60);
    const packed = packSteps(facts);
    assert.ok(packed.steps);
    const columns = (plan: ChartPlan, { summaries }: RunState) => {
      const made = stepPlot(plan);
      growTo(
        made,
        summaries,
        summaries.map(({ step }) => step),
      );
      return new Map(made.plot.series.map(({ key }, i) => [key, made.plot.values[i]!]));
    };
    let numbers = 0;
    for (const plan of PLANS) {
      const expected = columns(plan, fold(facts));
      assert.deepEqual(columns(plan, fold(unpackSteps(packed.events, packed.steps))), expected, plan.title);
      for (const column of expected.values()) numbers += column.filter(value => !Number.isNaN(value)).length;
    }
    assert.ok(numbers > 1500, `${numbers} numbers were compared`);
  });

  it('lie along another scale without being measured again', () => {
    const axis = emptyAxis();
    const made = stepPlot(planOf('Reward'));
    const steps = [1, 2, 3].map(step => finished(step));
    for (const step of steps) growAxis(axis, step);
    growTo(made, steps, axis.steps);
    rescale(made.plot, axis, 'calls');
    assert.deepEqual(made.plot.xs, [9, 18, 27]);
    assert.deepEqual(made.plot.steps, [1, 2, 3]);
  });

  it('show of each step its last evaluation, in the order of the steps', () => {
    const axis = emptyAxis();
    growAxis(axis, finished(1));
    const plot = evaluationPlot([evaluated(4, 0.5), evaluated(0, 0.2), evaluated(4, 0.6)], axis, 'tokens');
    assert.deepEqual(plot.steps, [0, 4]);
    assert.deepEqual(plot.xs, [0, 900]);
    assert.deepEqual(plot.values[2], [0.2, 0.6]);
    assert.ok(Number.isNaN(plot.values[3]![0]), 'no greedy accuracy was told');
  });
});

describe('marks', () => {
  const start = {
    format: { major: 1, minor: 0 },
    run: 'r',
    tasks: 1,
    tools: {},
    device: 'cpu',
    parameters: 1,
    seed: 1,
  };
  const facts = events([
    [0, { type: 'run-started', steps: 4, ...start }],
    [2, { type: 'checkpoint-saved', folder: 'step-000002', hash: '', seconds: 1 }],
    [2, { type: 'resumed', from: 'step-000002' }],
    [2, { type: 'run-started', steps: 8, ...start, tools: { search: '12 passages' } }],
  ]);

  it('tell where the run was resumed and its configuration changed', () => {
    const seams: Seam[] = [];
    const state = emptyState();
    for (const event of facts) {
      growSeams(seams, state, [event]);
      foldInto(state, [event]);
    }
    assert.deepEqual(seams, [
      { kind: 'resume', step: 2, text: 'Resumed from step-000002' },
      { kind: 'config', step: 2, text: 'Configuration changed: steps 4 → 8, tool search none → 12 passages' },
    ]);
  });

  it('stand with checkpoints and evaluations in the order of the steps', () => {
    const state = { ...fold(facts), evaluations: [evaluated(0, 0.25)] };
    const marks = marksOf(state, [{ kind: 'resume', step: 2, text: 'Resumed' }], {
      axis: emptyAxis(),
      scale: 'step',
    });
    assert.deepEqual(
      marks.map(({ kind, x }) => [kind, x]),
      [
        ['evaluation', 0],
        ['resume', 2],
        ['checkpoint', 2],
      ],
    );
    assert.match(marks[0]!.text, /held-out: 25\s% right/);
  });
});

describe('the list of a step’s trees', () => {
  const judged = (tree: string, seq: number): Event => ({
    type: 'tree-finished',
    seq,
    at: '',
    step: 5,
    tree,
    task: '',
    paths: 1,
    rewards: [1],
  });
  const done = (seq: number, at: string): Event =>
    ({ type: 'step-finished', seq, at, step: 5, summary: stepSummary() }) as unknown as Event;

  it('is asked for again when the step is done, though nobody told of its last trees', () => {
    // A batch that holds the end of a step comes without what was told of its trees.
    const state = fold([judged('5.0', 0), judged('5.1', 1)]);
    const before = listKey(state, 5);
    assert.notEqual(listKey(foldInto(state, headlines([judged('5.2', 2), done(3, 'noon')])), 5), before);
  });

  it('is asked for again when the step was done again, or the journal was replaced', () => {
    const facts = [judged('5.0', 0), done(1, 'noon')];
    const again = fold([judged('5.0', 0), done(1, 'one')]);
    assert.notEqual(listKey(again, 5), listKey(fold(facts), 5));
    assert.equal(listKey(fold(facts), 5), listKey(fold(facts), 5));
  });
});

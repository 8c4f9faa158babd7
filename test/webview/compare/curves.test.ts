import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { emptyState, fold, type RunState } from '../../../src/core/fold.ts';
import { outcomesOf, type RunFacts } from '../../../src/core/runComparison.ts';
import { packSteps, unpackSteps } from '../../../src/core/stepColumns.ts';
import {
  axisOf,
  colourOf,
  comparedPlot,
  isDashed,
  metricsOf,
  placeName,
  type Compared,
} from '../../../webview/compare/curves.ts';
import { lookedOf } from '../../../webview/compare/looked.ts';
import { stepSummary } from '../../fakes/stepSummary.ts';
import { variedJournal } from '../../fakes/variedJournal.ts';

/** A run with these rewards and so many calls a step. */
const stateOf = (rewards: readonly number[], calls: number): RunState => ({
  ...emptyState(),
  summaries: rewards.map((mean, i) => ({
    step: i + 1,
    at: '',
    summary: stepSummary({
      reward: { mean, std: 0, p10: 0, p90: 0, parts: {} },
      toolCalls: { total: calls, errors: 0, byTool: { browse: 1 } },
    }),
  })),
});
const factsOf = (name: string): RunFacts => ({
  ...{ folder: `/${name}`, name, config: {}, hashes: {}, versions: {}, isLive: false },
});

const states = [stateOf([0, 1], 10), stateOf([1, 1, 0], 20), stateOf([0.5], 10)];
const compared: Compared = {
  runs: ['a', 'b', 'c'].map(factsOf),
  groups: [
    { name: 'ab', runs: [0, 1], seeds: [1, 2] },
    { name: 'c', runs: [2], seeds: [1] },
  ],
  states,
  axes: states.map(axisOf),
};
const reward = metricsOf(states).find(({ key }) => key === 'reward.mean')!;

describe('the metrics of a comparison', () => {
  it('are the lines of the dashboard, each once, those of names that only the runs know included', () => {
    const keys = metricsOf(states).map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length);
    for (const key of ['evaluated.accuracy', 'toolCalls.byTool.browse', 'entropy.byTurn[0]'])
      assert.ok(keys.includes(key), key);
    assert.ok(!keys.includes('reward.p10'), 'edges of bands are no metrics');
  });
});

describe('runs whose steps came in columns', () => {
  it('have the curves and come to the same as those whose steps came one by one', () => {
    const journals = [variedJournal(60), variedJournal(40)];
    const plain = journals.map(events => fold(events));
    const packed = journals.map(events => {
      const { events: rest, steps } = packSteps(events);
      return fold(unpackSteps(rest, steps));
    });
    const [runs, groups] = [compared.runs.slice(0, 2), compared.groups.slice(0, 1)];
    const seen = (of: readonly RunState[]) => ({
      plots: metricsOf(of).map(metric =>
        comparedPlot(
          metric,
          { runs, groups, states: of, axes: of.map(axisOf) },
          { scale: 'calls', smoothing: 0 },
        ),
      ),
      outcomes: outcomesOf(groups, of, 0.5),
    });
    assert.deepEqual(seen(packed), seen(plain));
  });
});

describe('curves over each other', () => {
  it('are told apart beside their colour: neighbours by their dashes, and twelve by both', () => {
    const groups = Array.from({ length: 12 }, (_, group) => group);
    assert.equal(new Set(groups.map(group => `${colourOf(group)} ${isDashed(group)}`)).size, 12);
    for (const group of [0, 1, 2, 3, 4]) assert.notEqual(isDashed(group), isDashed(group + 1));
  });

  it('stand by step: the mean where all seeds have values, its span, and every run', () => {
    const plot = comparedPlot(reward, compared, { scale: 'step', smoothing: 0 });
    assert.deepEqual(plot.xs, [1, 2, 3]);
    assert.deepEqual(
      plot.series.map(({ label, kind = 'line', isAside = false }) => [label, kind, isAside]),
      [
        ['low', 'band-low', false],
        ['ab span', 'band-high', false],
        ['ab (mean of 2)', 'line', false],
        ['a', 'line', true],
        ['b', 'line', true],
        ['c', 'line', false],
      ],
    );
    assert.deepEqual(plot.values, [
      [0, 1, NaN],
      [1, 1, NaN],
      [0.5, 1, NaN],
      [0, 1, NaN],
      [1, 1, 0],
      [0.5, NaN, NaN],
    ]);
    assert.equal(new Set(plot.series.map(({ key }) => key)).size, 6);
  });

  it('stand by tool calls: a point of one run is where the others’ lines are then', () => {
    const plot = comparedPlot(reward, compared, { scale: 'calls', smoothing: 0 });
    assert.deepEqual(plot.xs, [10, 20, 40, 60]);
    assert.deepEqual(plot.values[3], [0, 1, NaN, NaN]);
    assert.deepEqual(plot.values[4], [NaN, 1, 1, 0]);
    assert.deepEqual(plot.values[2], [NaN, 1, NaN, NaN]);
  });

  it('are smoothed along their own steps, not along the points of all', () => {
    const plot = comparedPlot(reward, compared, { scale: 'calls', smoothing: 0.5 });
    // Of 1, 1, 0 at weight ½: the last is 0 + ½·(…) = (0 + 0.5 + 0.25) ÷ 1.75.
    assert.deepEqual(plot.smoothed![4], [NaN, 1, 1, 0.75 / 1.75]);
  });

  it('name their places', () => {
    assert.deepEqual(
      [placeName('step', 3), placeName('calls', 1500), placeName('time', 65)],
      ['step 3', '1.5 k tool calls', '1 min 5 s'],
    );
  });
});

describe('how a comparison is looked at', () => {
  it('is kept as far as it makes sense', () => {
    const kept = { scale: 'tokens', smoothing: 0.5, metrics: ['a', 'b', 'c', 'd'], target: 0.4 };
    assert.deepEqual(lookedOf({ looked: kept }), kept);
    const plain = lookedOf(undefined);
    assert.equal(plain.metrics.length, 4);
    assert.deepEqual(lookedOf({ looked: { scale: 'x', smoothing: 1, metrics: ['a'], target: 'b' } }), plain);
  });
});

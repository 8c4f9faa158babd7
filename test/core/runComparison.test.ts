import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import { emptyState, type RunState } from '../../src/core/fold.ts';
import { differencesOf, groupsOf, outcomesOf, type RunFacts } from '../../src/core/runComparison.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

function factsOf(name: string, change: (config: Config) => void = () => undefined, hash = 'a'): RunFacts {
  const config = structuredClone(defaults('arpo'));
  Object.assign(config, { name, seed: 1 });
  change(config);
  return {
    folder: `/runs/${name}`,
    name,
    config,
    hashes: { train: hash },
    versions: { branchpoint: '0.1.0' },
    isLive: false,
  };
}
const seeded =
  (seed: number) =>
  (config: Config): void => {
    config.seed = seed;
    config.threads = seed;
  };

/** A run of so many steps with these rewards, 10 tool calls each. */
const stateOf = (rewards: readonly number[], accuracy?: number): RunState => ({
  ...emptyState(),
  summaries: rewards.map((mean, i) => ({
    step: i + 1,
    at: '',
    summary: stepSummary({
      reward: { mean, std: 0, p10: 0, p90: 0, parts: {} },
      toolCalls: { total: 10, errors: 0, byTool: {} },
    }),
  })),
  evaluations:
    accuracy === undefined
      ? []
      : [
          {
            step: rewards.length,
            at: '',
            summary: {
              ...{ id: 'step-1', dataset: 'd', tasks: 1, samples: 1, reward: 0, seconds: 0 },
              ...{ accuracy, interval: [0, 1] as [number, number], toolCallsPerTrajectory: 0, byAbility: {} },
            },
          },
        ],
});

describe('runs side by side', () => {
  it('are one group where only their seeds differ, and never where anything else does', () => {
    const runs = [
      factsOf('arpo-seed-1', seeded(1)),
      factsOf('flat', config => void (config.rollout.initialRollouts = config.rollout.groupSize)),
      factsOf('arpo-seed-2', seeded(2)),
      factsOf('arpo-seed-3', seeded(3), 'other tasks'),
    ];
    assert.deepEqual(groupsOf(runs), [
      { name: 'arpo', runs: [0, 2], seeds: [1, 2] },
      { name: 'flat', runs: [1], seeds: [1] },
      { name: 'arpo-seed-3', runs: [3], seeds: [3] },
    ]);
  });

  it('have names of their own where groups would share one', () => {
    const rate = (config: Config): void => void (config.optimizer.learningRate = 0.5);
    const runs = [
      factsOf('a-1', seeded(1)),
      factsOf('a-2', seeded(2)),
      factsOf('a-3', rate),
      factsOf('a-4', rate),
    ];
    assert.deepEqual(
      groupsOf(runs).map(({ name }) => name),
      ['a', 'a (2)'],
    );
  });

  it('differ by the keys that are not the same, files by their hash', () => {
    const runs = [
      factsOf('a', seeded(1)),
      factsOf('b', config => void (config.optimizer.learningRate = 0.5), 'b'),
    ];
    assert.deepEqual(
      differencesOf(runs).filter(({ key }) => key !== 'threads'),
      [
        { key: 'optimizer.learningRate', values: [String(defaults('arpo').optimizer.learningRate), '0.5'] },
        { key: 'hash.train', values: ['a', 'b'] },
      ],
    );
    assert.deepEqual(differencesOf([runs[0]!, { ...runs[0]!, name: 'c' }]), []);
  });

  it('come to a final, a best and a mean reward, and to a reward after so many calls', () => {
    const runs = [
      factsOf('a-1', seeded(1)),
      factsOf('a-2', seeded(2)),
      factsOf('b', config => void (config.steps = 9)),
    ];
    const states = [
      stateOf([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 0.5),
      stateOf([0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0.25),
      stateOf([1, 0, 1]),
    ];
    const [a, b] = outcomesOf(groupsOf(runs), states, 0.5);
    assert.deepEqual(a!.steps, [10, 10]);
    assert.equal(a!.final!.mean, 0.5);
    // Two runs that end at 1 and 0: 0.5 ± 12.7 · 0.5, for so little do two say.
    assert.ok(Math.abs(a!.final!.interval[1] - 0.5 - 6.353) < 1e-3, `${a!.final!.interval.join()}`);
    assert.deepEqual(a!.heldOut!.interval, [0, 1]);
    assert.equal(a!.best!.mean, 0.5);
    // Up to step 3, the last that all runs have, the rewards are 0.
    assert.equal(a!.area!.mean, 0);
    assert.equal(b!.area!.mean, 0.5);
    const begun = outcomesOf(groupsOf(runs), [...states.slice(0, 2), emptyState()], 0.5);
    assert.deepEqual(
      begun.map(({ area }) => area),
      [undefined, undefined],
    );
    // The mean of five steps is 0.4 after 70 calls and 0.6 after 80.
    assert.deepEqual(
      a!.callsToTarget.map(calls => calls && Math.round(calls)),
      [75, null],
    );
    assert.equal(Math.round(a!.meanCallsToTarget!.mean), 75);
    assert.equal(a!.toolCalls!.mean, 100);
    assert.equal(a!.heldOut!.mean, 0.375);
    assert.equal(b!.heldOut, undefined);
    assert.deepEqual(b!.final!.interval, [2 / 3, 2 / 3]);
    // Its first reward is 1, but a mean is known only after its last step.
    assert.deepEqual(b!.callsToTarget, [30]);
  });

  it('go about it in so many calls, by these tools, in the last five steps', () => {
    const run = (seed: number, search: number, afterTool?: number): RunState => ({
      ...emptyState(),
      summaries: Array.from({ length: 8 }, (_, i) => ({
        step: i + 1,
        at: '',
        summary: {
          ...stepSummary({
            trajectories: 4,
            // What was before the last five steps does not count.
            toolCalls: { total: i < 3 ? 99 : 4, errors: 0, byTool: { search, python: 4 - search } },
            turns: { mean: seed, max: 9 },
          }),
          entropy: { all: 0.5, ...(afterTool !== undefined && i % 2 === 0 && { afterTool }) },
        },
      })),
    });
    const runs = [factsOf('a-1', seeded(1)), factsOf('a-2', seeded(2))];
    const [both] = outcomesOf(groupsOf(runs), [run(1, 4, 0.8), run(2, 2, 0.6)], 0.5);
    assert.equal(both!.callsEach!.mean, 1);
    assert.equal(both!.turns!.mean, 1.5);
    assert.equal(both!.responseTokens!.mean, 100);
    assert.ok(Math.abs(both!.afterTool!.mean - 0.7) < 1e-12);
    assert.deepEqual(both!.tools, [
      ['search', 0.75],
      ['python', 0.25],
    ]);
    const [bare] = outcomesOf(groupsOf(runs.slice(0, 1)), [run(1, 0)], 0.5);
    assert.equal(bare!.afterTool, undefined, 'not logged is not 0');
    assert.deepEqual(bare!.tools, [['python', 1]]);
  });

  it('have no numbers before the first step', () => {
    const [only] = outcomesOf(groupsOf([factsOf('a')]), [emptyState()], 0.5);
    assert.equal(only!.final, undefined);
    assert.deepEqual(only!.callsToTarget, [null]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import { evaluate, type Evaluation } from '../../src/worker/evaluate.ts';
import { scriptedPolicy } from '../fakes/scriptedPolicy.ts';
import { sums, sumsPolicy, sumsTools, tinyTokenizer } from '../fakes/tinyWorld.ts';

const config = (): Config => {
  const made = defaults('arpo');
  Object.assign(made.rollout, { maxResponseTokens: 400 });
  return made;
};

const evaluation = (change: Partial<Evaluation> = {}): Evaluation => ({
  policies: [sumsPolicy(5)],
  tokenizer: tinyTokenizer,
  tools: sumsTools(),
  tasks: sums(20),
  samples: 3,
  greedy: true,
  config: config(),
  id: 'step-5',
  step: 5,
  dataset: 'sums',
  ...change,
});

/** An evaluation's summary without what a clock says. */
const timeless = async (given: Evaluation): Promise<unknown> => {
  const { summary, outcomes } = await evaluate(given);
  return [{ ...summary, seconds: 0 }, outcomes];
};

describe('evaluate', () => {
  it('counts what was right, by sample, greedily and by ability', async () => {
    const { summary, outcomes } = await evaluate(evaluation());
    const sampled = outcomes.flatMap(({ trajectories }) => trajectories.filter(({ greedy }) => !greedy));
    const greedy = outcomes.flatMap(({ trajectories }) => trajectories.filter(each => each.greedy));
    assert.deepEqual([sampled.length, greedy.length], [60, 20]);
    assert.ok(Math.abs(summary.accuracy - sampled.filter(({ correct }) => correct).length / 60) < 1e-12);
    assert.equal(summary.greedyAccuracy, greedy.filter(({ correct }) => correct).length / 20);
    const halves = (summary.byAbility['even']! + summary.byAbility['odd']!) / 2;
    assert.ok(Math.abs(halves - summary.accuracy) < 1e-12);
    const [low, high] = summary.interval;
    assert.ok(0 < low && low < summary.accuracy && summary.accuracy < high && high < 1);
    assert.ok(summary.toolCallsPerTrajectory > 0.5);
  });

  it('gives the same numbers however many engines share the work and however long tools take', async () => {
    const alone = await timeless(evaluation());
    const shared = evaluation({ policies: [sumsPolicy(5), sumsPolicy(5)], tools: sumsTools(3) });
    assert.deepEqual(await timeless(shared), alone);
  });

  it('lets greedy trajectories stand alone where nothing is sampled', async () => {
    const { summary, outcomes } = await evaluate(evaluation({ samples: 0 }));
    assert.equal(summary.accuracy, summary.greedyAccuracy);
    assert.ok(outcomes.every(({ trajectories }) => trajectories.length === 1));
  });

  it('keeps a bounded number of tasks in flight', async () => {
    let [now, most] = [0, 0];
    const policy = sumsPolicy(5);
    const { sample } = policy;
    policy.sample = async request => {
      most = Math.max(most, ++now);
      await new Promise(resolve => setImmediate(resolve));
      now--;
      return sample(request);
    };
    await evaluate(evaluation({ policies: [policy], tasks: sums(150), samples: 1, greedy: false }));
    assert.equal(most, 64);
  });

  it('never branches', async () => {
    const keys = new Set<string>();
    const policy = sumsPolicy(5);
    const { sample } = policy;
    policy.sample = request => {
      keys.add(request.key.replace(/\/turn.*/, ''));
      return sample(request);
    };
    await evaluate(evaluation({ policies: [policy], tasks: sums(5) }));
    assert.equal(keys.size, 5 * (3 + 1));
  });

  it('begins no further task once one has failed', async () => {
    const begun = new Set<string>();
    const policy = sumsPolicy(5);
    const { sample } = policy;
    policy.sample = async request => {
      const [task = ''] = /^evaluation\.sampled\.\d+/.exec(request.key) ?? [];
      begun.add(task);
      await new Promise(resolve => setImmediate(resolve));
      if (task.endsWith('.0')) throw new Error('gone');
      return sample(request);
    };
    const failing = evaluation({ policies: [policy], tasks: sums(150), samples: 1, greedy: false });
    await assert.rejects(evaluate(failing), /gone/);
    for (let turns = 0; turns < 200; turns++) await new Promise(resolve => setImmediate(resolve));
    assert.equal(begun.size, 64);
  });

  it('rejects where the engine fails, and where it is called off', async () => {
    const broken = scriptedPolicy(() => Promise.reject(new Error('gone')));
    await assert.rejects(evaluate(evaluation({ policies: [broken] })), /gone/);
    await assert.rejects(evaluate(evaluation({ signal: AbortSignal.abort() })), /called off/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Config } from '../../src/core/config.ts';
import type { Event } from '../../src/core/events.ts';
import { fold } from '../../src/core/fold.ts';
import { objectiveSettings, stepSettings } from '../../src/worker/learn.ts';
import { train } from '../../src/worker/train.ts';
import { loop, smallConfig } from '../fakes/loop.ts';
import { scriptedPolicy, type Script, type Turn } from '../fakes/scriptedPolicy.ts';
import { sumsScript } from '../fakes/tinyWorld.ts';

const config = (change?: (config: Config) => void): Config => smallConfig('arpo', change);
const typesOf = (events: readonly Event[]): string[] =>
  events
    .map(({ type }) => type)
    .filter(type => !['segment-grown', 'tool-answered', 'branch-decided'].includes(type));

describe('train', () => {
  it('tells each step’s facts in the order of the algorithm', async () => {
    const { run, events, saved } = loop(config());
    assert.equal(await train(run, 0), 'finished');
    const step = ['step-started', ...Array<string>(4).fill('tree-finished'), 'step-finished'];
    assert.deepEqual(typesOf(events), [...step, ...step, ...step]);
    assert.deepEqual(saved, [3]);
    assert.equal(fold(events).summaries.length, 3);
  });

  it('grows the same trees whatever the timing of the tools', async () => {
    const runs = await Promise.all(
      [0, 3, 3].map(async delay => {
        const made = loop(config(), undefined, delay);
        await train(made.run, 0);
        return made;
      }),
    );
    const [first, ...others] = runs.map(({ written }) => written);
    for (const other of others) assert.deepEqual(other, first);
    assert.ok(first!.some(({ tree }) => tree.decisions.some(({ outcome }) => outcome === 'branch')));
  });

  it('grows the other trees to their ends while one waits for its tool', async () => {
    const policy = scriptedPolicy(sumsScript);
    const { run, events } = loop(
      config(settings => void (settings.steps = 1)),
      policy,
    );
    const { forget } = policy;
    let [ended, isFirst] = [0, true];
    let release = (): void => undefined;
    const others = new Promise<void>(done => (release = done));
    // A tree that has ended is forgotten; the first call of all is answered when three of the four have.
    policy.forget = prefix => {
      if (++ended === 3) release();
      return forget(prefix);
    };
    const call: typeof run.tools.call = async (tag, argument) => {
      const waits = isFirst;
      isFirst = false;
      if (waits) await others;
      return run.tools.call(tag, argument);
    };
    assert.equal(await train({ ...run, tools: { ...run.tools, call } }, 0), 'finished');
    assert.equal(fold(events).summaries[0]!.summary.tasks, 4);
    assert.equal(isFirst, false, 'a tool was called');
  });

  it('leaves a tree that fails out of the batch and tells why', async () => {
    const breaking = scriptedPolicy((said, request) => {
      if (request.key.startsWith('2.1/')) throw new Error('The sampler ran dry.');
      return sumsScript(said, request);
    });
    const { run, events, written } = loop(config(), breaking);
    assert.equal(await train(run, 0), 'finished');
    assert.deepEqual(
      events.flatMap(event => (event.type === 'tree-failed' ? [[event.tree, event.failure.message]] : [])),
      [['2.1', 'The sampler ran dry.']],
    );
    assert.deepEqual(
      written.filter(({ tree }) => tree.step === 2).map(({ tree }) => tree.id),
      ['2.0', '2.2', '2.3'],
    );
    assert.deepEqual(
      fold(events).summaries.map(({ summary }) => summary.tasks),
      [4, 3, 4],
    );
  });

  it('ends where every tree of a step fails, with the first failure', async () => {
    const broken = scriptedPolicy(() => Promise.reject(new Error('The engine is gone.')));
    const { run } = loop(config(), broken);
    await assert.rejects(train(run, 0), /Every tree of step 1 failed; the first: The engine is gone/);
  });

  it('pauses between steps with a checkpoint, goes on, and stops with a checkpoint', async () => {
    const { run, control, events, saved } = loop(config());
    const { tell } = run;
    run.tell = (fact, step) => {
      tell(fact, step);
      if (fact.type === 'step-started' && step === 1) control.verbs.pause();
      if (fact.type === 'paused') setTimeout(() => control.verbs.resume());
      if (fact.type === 'step-started' && step === 2) control.verbs.stop();
    };
    assert.equal(await train(run, 0), 'stopped');
    assert.deepEqual(saved, [1, 2]);
    assert.deepEqual(
      typesOf(events).filter(type => type !== 'tree-finished'),
      ['step-started', 'step-finished', 'paused', 'resumed', 'step-started', 'step-finished'],
    );
    assert.equal(control.status.state, 'stopping');
  });

  it('scores before the first update only where a step has several', async () => {
    const once = scriptedPolicy(sumsScript);
    await train(
      loop(
        config(settings => void (settings.steps = 1)),
        once,
      ).run,
      0,
    );
    assert.deepEqual(once.asked.filter(isLearning), ['accumulate', 'step']);
    const twice = scriptedPolicy(sumsScript);
    const settings = config(settings => void (settings.steps = 1));
    settings.algorithm.updatesPerStep = 2;
    await train(loop(settings, twice).run, 0);
    assert.deepEqual(twice.asked.filter(isLearning), ['score', 'accumulate', 'step', 'accumulate', 'step']);
  });

  it('asks the reference for its log-probabilities of every batch where a KL weight is set', async () => {
    const [policy, reference] = [scriptedPolicy(sumsScript), scriptedPolicy(sumsScript)];
    const { run } = loop(
      config(settings => Object.assign(settings.algorithm, { klWeight: 0.1, updatesPerStep: 2 })),
      policy,
    );
    const handed: (Float32Array | undefined)[] = [];
    const { accumulate } = policy;
    policy.accumulate = (batch, objective) => {
      handed.push(...batch.trees.map(tree => tree.referenceLogProbs));
      return accumulate(batch, objective);
    };
    await train({ ...run, reference }, 0);
    assert.deepEqual(reference.asked.filter(isLearning), Array<string>(3 * 2).fill('score'));
    assert.ok(handed.length > 0 && handed.every(column => column !== undefined));
  });

  it('raises the learning rate over the warm-up', () => {
    const settings = config(({ optimizer }) =>
      Object.assign(optimizer, { learningRate: 0.1, warmupSteps: 4 }),
    );
    assert.deepEqual(
      [1, 2, 4, 9].map(step => stepSettings(settings, step).learningRate),
      [0.025, 0.05, 0.1, 0.1],
    );
  });

  it('warns of what a step’s trees break of what every tree should keep', async () => {
    const impossible = scriptedPolicy((said, request) => ({ ...sumsTurnOf(said, request), logProbs: 0.5 }));
    const { run, events } = loop(
      config(settings => void (settings.steps = 1)),
      impossible,
    );
    await train(run, 0);
    const [warning, ...others] = fold(events).warnings;
    assert.match(
      warning!.failure.message,
      /^Tree 1\.0: Token \d+ has the sampler log-probability 0\.5\. So it is in \d+ more places\. \(Numbers are numbers\.\)$/,
    );
    assert.deepEqual(others, []);
  });

  it('takes a dual clip of 0 for none', () => {
    const dualClip = (value: number): number =>
      objectiveSettings(config(({ algorithm }) => void (algorithm.dualClip = value))).dualClip;
    assert.deepEqual([dualClip(0), dualClip(3)], [Infinity, 3]);
  });

  it('skips an update whose gradient is not finite and warns', async () => {
    const policy = scriptedPolicy(sumsScript);
    policy.step = () => Promise.resolve({ gradientNorm: Infinity, applied: false });
    const { run, events } = loop(
      config(settings => void (settings.steps = 1)),
      policy,
    );
    await train(run, 0);
    const state = fold(events);
    assert.equal(state.summaries[0]!.summary.skippedUpdates, 1);
    assert.match(state.warnings[0]!.failure.message, /gradient was not finite/);
  });

  it('starts the evaluations that fall due, and the last one at the end', async () => {
    const settings = config(({ evaluation }) => Object.assign(evaluation, { every: 1, after: true }));
    const { run, evaluated, saved } = loop(settings);
    await train(run, 0);
    assert.deepEqual(evaluated, [1, 2, 3]);
    assert.deepEqual(saved, [1, 2, 3]);
  });

  it('writes the trainer’s log-probabilities of every tree that taught something', async () => {
    const { run, written } = loop(config());
    await train(run, 0);
    for (const { tree, columns } of written) {
      const isFlat = tree.credit!.soft.every(advantage => advantage === 0);
      const scored = columns.trainerLogProbs.filter(value => !Number.isNaN(value)).length;
      assert.equal(scored, isFlat ? 0 : columns.ids.length - 1, tree.id);
    }
  });
});

const sumsTurnOf = sumsScript as (...given: Parameters<Script>) => Turn;
const isLearning = (asked: string): boolean => ['score', 'accumulate', 'step'].includes(asked);

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { alarms, silence, type Alarm } from '../../src/core/alarms.ts';
import type { MeasuredSummary } from '../../src/core/events.ts';
import { emptyState, type FinishedStep, type RunState } from '../../src/core/fold.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

/** A run of `count` steps, of which `change` says what differs. */
const run = (
  count: number,
  change: (step: number) => Partial<MeasuredSummary> = () => ({}),
): FinishedStep[] =>
  Array.from({ length: count }, (_, i) => ({ step: i + 1, at: '', summary: stepSummary(change(i + 1)) }));

const heard = (summaries: FinishedStep[], evaluations: RunState['evaluations'] = []): Alarm[] =>
  alarms({ summaries, evaluations });

const only = (summaries: FinishedStep[]): Alarm => {
  const all = heard(summaries);
  assert.equal(all.length, 1, JSON.stringify(all));
  return all[0]!;
};

const entropy = (all: number): Pick<MeasuredSummary, 'entropy'> => ({ entropy: { all } });

const evaluation = (step: number, accuracy: number): RunState['evaluations'][number] => ({
  step,
  at: '',
  summary: {
    id: String(step),
    dataset: 'held-out',
    tasks: 100,
    samples: 1,
    accuracy,
    interval: [accuracy - 0.05, accuracy + 0.05],
    reward: accuracy,
    toolCallsPerTrajectory: 1,
    byAbility: {},
    seconds: 1,
  },
});

describe('alarms', () => {
  it('are silent over a healthy run, an empty one and a young one', () => {
    assert.deepEqual(heard(run(200)), []);
    assert.deepEqual(heard([]), []);
    assert.deepEqual(heard(run(8, step => entropy(step < 4 ? 0.5 : 0.01))), []);
  });

  it('tell of an entropy collapse since the step where it began', () => {
    const alarm = only(run(60, step => entropy(step < 33 ? 0.5 : 0.1)));
    assert.deepEqual([alarm.kind, alarm.step], ['entropy-collapse', 33]);
    assert.match(alarm.sentence, /from 0\.50 to 0\.10 nats \(since step 33\)/);
  });

  it('do not speak of a collapse that is over', () => {
    assert.deepEqual(heard(run(60, step => entropy(step > 20 && step < 40 ? 0.1 : 0.5))), []);
  });

  it('tell of an entropy explosion, but not of a rise from next to nothing', () => {
    assert.equal(only(run(40, step => entropy(step < 30 ? 0.5 : 1.6))).kind, 'entropy-explosion');
    assert.deepEqual(heard(run(40, step => entropy(step < 30 ? 0.01 : 0.2))), []);
  });

  it('tell of a gradient that exploded', () => {
    const alarm = only(run(40, step => ({ gradientNorm: step < 35 ? 1 : 40 })));
    assert.deepEqual([alarm.kind, alarm.step], ['gradient-explosion', 35]);
    assert.match(alarm.sentence, /40 times/);
  });

  it('tell of a mismatch that grows, where it is more than rounding', () => {
    const mismatch = (mean: number): Partial<MeasuredSummary> => ({ mismatch: { mean, max: 1 } });
    const alarm = only(run(50, step => mismatch(step < 33 ? 0.01 : 0.032)));
    assert.deepEqual([alarm.kind, alarm.step], ['mismatch', 33]);
    assert.match(alarm.sentence, /3\.2 times/);
    assert.deepEqual(heard(run(50, step => mismatch(step < 33 ? 1e-5 : 1e-3))), []);
  });

  it('tell of updates that were skipped, for as long as they are recent', () => {
    const skipped = (step: number): Partial<MeasuredSummary> => ({
      skippedUpdates: step === 30 || step === 32 ? 1 : 0,
    });
    const alarm = only(run(40, skipped));
    assert.deepEqual([alarm.kind, alarm.step], ['not-finite', 32]);
    assert.match(alarm.sentence, /In 2 of the last 20 steps/);
    assert.deepEqual(heard(run(60, skipped)), []);
  });

  it('tell of a tool that became slow, by its name', () => {
    const { toolCalls } = stepSummary();
    const slow = (search: number): Partial<MeasuredSummary> => ({
      toolCalls: { ...toolCalls, latencyP95MsByTool: { search, python: 60 } },
    });
    const alarm = only(run(40, step => slow(step < 38 ? 400 : 30_000)));
    assert.deepEqual([alarm.kind, alarm.step], ['slow-tool', 38]);
    assert.match(alarm.sentence, /search now take 30 s .* before 0\.4 s/);
    assert.deepEqual(
      heard(run(40, step => slow(step < 38 ? 1 : 20))),
      [],
      'a fast tool that is a little less fast',
    );
  });

  it('tell of calls that time out, but not of the policy’s own mistakes', () => {
    const { toolCalls } = stepSummary();
    const calls = (byOutcome: MeasuredSummary['toolCalls']['byOutcome']): Partial<MeasuredSummary> => ({
      toolCalls: { ...toolCalls, total: 10, ...(byOutcome && { byOutcome }) },
    });
    assert.equal(only(run(6, () => calls({ ok: 6, 'timed-out': 3, failed: 1 }))).kind, 'failing-tool');
    assert.deepEqual(heard(run(6, () => calls({ ok: 2, error: 8 }))), []);
    assert.deepEqual(
      heard(run(6, () => ({ toolCalls: { total: 10, byTool: {}, errors: 9 } }))),
      [],
      'old journals',
    );
  });

  it('tell of groups that teach nothing, and which way', () => {
    const groups = (allRight: number, mixed: number, allWrong: number): Partial<MeasuredSummary> => ({
      groups: { allRight, mixed, allWrong },
    });
    assert.match(only(run(20, () => groups(7, 2, 1))).sentence, /80 % .* all right: harder/);
    assert.match(only(run(20, () => groups(1, 2, 7))).sentence, /all wrong: easier/);
    assert.deepEqual(heard(run(20, () => ({ groups: { allRight: 8, mixed: 2, allWrong: 0, flat: 1 } }))), []);
  });

  it('tell of trajectories that are cut', () => {
    const cut = (stops: MeasuredSummary['stops']): string => only(run(6, () => ({ stops }))).sentence;
    assert.match(cut({ answer: 4, length: 12 }), /75 % .*since step 1\): raise rollout\.maxResponseTokens/);
    assert.match(cut({ answer: 4, length: 2, 'turn-length': 10 }), /75 % .*: raise rollout\.maxTurnTokens/);
  });

  it('tell of held-out accuracy that falls while the reward rises', () => {
    const rising = run(40, step => ({ reward: { ...stepSummary().reward, mean: step / 40 } }));
    const fallen = [evaluation(10, 0.5), evaluation(20, 0.6), evaluation(40, 0.4)];
    const [alarm] = heard(rising, fallen);
    assert.deepEqual([alarm?.kind, alarm?.step], ['divergence', 40]);
    assert.match(alarm!.sentence, /60 % at step 20 to 40 % at step 40/);
    assert.deepEqual(heard(rising, [evaluation(20, 0.6), evaluation(40, 0.57)]), [], 'within its interval');
    assert.deepEqual(heard(run(40), fallen), [], 'where the reward did not rise');
    const elsewhere = evaluation(20, 0.9);
    elsewhere.summary.dataset = 'another';
    assert.deepEqual(heard(rising, [elsewhere, evaluation(40, 0.4)]), [], 'on other tasks');
  });

  // 200 coins of 100 policies that stay as they are, evaluated 20 times. By the best value alone about 40 of them would be told of.
  it('tell of next to no policy that stays as it is, though the best of 20 evaluations is better than the last', () => {
    const rising = run(40, step => ({ reward: { ...stepSummary().reward, mean: step / 40 } }));
    const told = Array.from({ length: 100 }, (_, policy) => {
      const evaluations = Array.from({ length: 20 }, (_, i) => {
        const draws = Array.from({ length: 200 }, (_, n) => uniform(streamKey('flat', policy, i), n));
        const right = draws.filter(draw => draw < 0.5).length / 200;
        const { summary, ...rest } = evaluation(2 * (i + 1), right);
        return {
          ...rest,
          summary: { ...summary, interval: [right - 0.069, right + 0.069] as [number, number] },
        };
      });
      return heard(rising, evaluations).length;
    }).reduce((sum, count) => sum + count, 0);
    assert.ok(told <= 8, `${told} of 100`);
  });

  it('tell of a step that takes much longer than others, only while the run is live', () => {
    const state: RunState = {
      ...emptyState(),
      status: 'running',
      summaries: run(10),
      live: { step: 11, at: '', tasks: [], trees: [] },
    };
    assert.equal(silence(state, 59), undefined);
    assert.match(silence(state, 180)!.sentence, /step 11 for 3 min; a step takes 6\.0 s/);
    assert.equal(silence({ ...state, status: 'paused' }, 1e4), undefined);
    assert.equal(silence({ ...state, summaries: [] }, 1e4), undefined);
  });
});

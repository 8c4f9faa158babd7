import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { dryRunOf, DryRuns, measuredText, readDryRun } from '../../src/extension/dryRuns.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

describe('a dry run', () => {
  it('is read from what the program answered, and told in a sentence', () => {
    const summary = { ...stepSummary(), seconds: { total: 12.4, rollout: 9.8, learn: 2.6 } };
    const measured = readDryRun(JSON.stringify({ dryRun: summary }));
    assert.equal(measured.seconds.total, 12.4);
    assert.match(
      measuredText(measured),
      /^one step took 12\.4 s \(9\.8 s rollouts, 2\.6 s learning\): \d+ trajectories/,
    );
    assert.throws(() => readDryRun('{"dryRun":{}}'), /trajectories should be a number/);
  });

  it('is remembered with the text that it was of', async () => {
    const kept = new Map<string, unknown>();
    const runs = new DryRuns({
      get: <T>(key: string, fallback: T) => (kept.get(key) as T | undefined) ?? fallback,
      update: (key, value) => Promise.resolve(void kept.set(key, value)),
    });
    let heard = 0;
    runs.onDidChange(() => heard++);
    const measured = { ...stepSummary(), seconds: { total: 2, rollout: 1, learn: 1 } };
    const of = dryRunOf({ ...measured, memory: { worker: 1e8, engine: 3e8 } }, '{}', new Date(0));
    assert.deepEqual([of.seconds, of.bytes], [2, 4e8]);
    await runs.remember('/a', of);
    assert.equal(heard, 1);
    assert.equal(runs.of('/a', '{}')?.isOfThisText, true);
    assert.equal(runs.of('/a', '{ }')?.isOfThisText, false);
    assert.equal(runs.of('/b', '{}'), undefined);
  });
});

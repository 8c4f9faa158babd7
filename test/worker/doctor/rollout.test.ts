/** What the doctor finds when it tries a policy whose sampler, trainer or trees are not as they should be. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { CheckResult } from '../../../src/core/checkup.ts';
import { checkRollout } from '../../../src/worker/doctor/rollout.ts';
import type { RunTokenizer } from '../../../src/worker/equipment.ts';
import type { StepSettings } from '../../../src/worker/policy/policy.ts';
import { smallConfig } from '../../fakes/loop.ts';
import { scriptedPolicy, type ScriptedPolicy, type Turn } from '../../fakes/scriptedPolicy.ts';
import { sums, sumsScript, sumsTools, tinyTokenizer } from '../../fakes/tinyWorld.ts';

/** What was drawn has a log-probability of so much; the trainer of the scripted policy says −1 of every token. */
const drawing = (logProb: number, change: Partial<Turn> = {}): ScriptedPolicy =>
  scriptedPolicy(async (said, request) => ({
    ...(await sumsScript(said, request)),
    logProbs: logProb,
    ...change,
  }));

async function tried(policy: ScriptedPolicy, maxResponseTokens = 400): Promise<CheckResult[]> {
  const config = smallConfig('arpo', ({ rollout }) => Object.assign(rollout, { maxResponseTokens }));
  const tokenizer = { ...tinyTokenizer, files: [] } as RunTokenizer;
  return checkRollout({ config, tokenizer, tools: sumsTools(), policy, tasks: sums(2) });
}
const ofId = (results: readonly CheckResult[], id: string): CheckResult[] =>
  results.filter(result => result.id === id);
/** The one result of that kind. */
async function found(id: string, ...given: Parameters<typeof tried>): Promise<CheckResult> {
  const [result, ...others] = ofId(await tried(...given), id);
  assert.ok(result && others.length === 0, id);
  return result;
}

describe('the doctor, of a rollout', () => {
  it('finds sampler and trainer in agreement where they say the same of every token', async () => {
    const parity = await found('parity', drawing(-1));
    assert.equal(parity.status, 'ok');
    assert.match(
      parity.message,
      /^Sampler and trainer differ by 0\.0e\+0 at most .* over the log-probabilities of [1-9]\d+ tokens/,
    );
  });

  it('doubts a difference that rounding hardly makes, and refuses one that it cannot make', async () => {
    const doubtful = await found('parity', drawing(-1.01));
    assert.equal(doubtful.status, 'warning');
    assert.match(doubtful.message, /differ by 1\.0e-2 at most and 1\.0e-2 in the mean/);
    assert.equal((await found('parity', drawing(-1.5))).status, 'error');
    assert.match(doubtful.fix!, /report it/);
  });

  it('updates at learning rate 0, and finds an update that moves something all the same', async () => {
    const policy = drawing(-1);
    const rates: number[] = [];
    const { step, score } = policy;
    policy.step = (settings: StepSettings) => (rates.push(settings.learningRate), step(settings));
    assert.equal((await found('update', policy)).status, 'ok');
    assert.deepEqual(rates, [0]);
    let scored = 0;
    policy.score = async (...given) => {
      const scores = await score(...given);
      return scored++ === 0
        ? scores
        : scores.map(one => ({ ...one, logProbs: one.logProbs.map(x => x - 0.25) }));
    };
    const moved = await found('update', policy);
    assert.equal(moved.status, 'error');
    assert.match(moved.message, /moved log-probabilities by 2\.5e-1; its gradient has the norm 1\.$/);
    policy.step = () => Promise.resolve({ gradientNorm: NaN, applied: false });
    policy.score = score;
    assert.equal((await found('update', policy)).status, 'error');
  });

  it('names the claims that the trees break, and does not say that they keep them', async () => {
    const results = await tried(drawing(0.5));
    assert.deepEqual(ofId(results, 'rollout.trees'), []);
    const broken = ofId(results, 'rollout.finite');
    assert.ok(broken.length > 1 && broken.every(({ status }) => status === 'error'));
    assert.match(broken[0]!.message, /^Token \d+ has the sampler log-probability 0\.5\.$/);
  });

  it('foresees that trajectories will be cut, and names the key', async () => {
    const cut = await found('truncation', drawing(-1), 20);
    assert.deepEqual([cut.status, cut.key], ['warning', 'rollout.maxResponseTokens']);
    assert.match(cut.message, /^[1-8] of 8 trajectories ran out of tokens; .* 20 at most, of 20\.$/);
    assert.equal((await found('truncation', drawing(-1), 2000)).status, 'ok');
  });
});

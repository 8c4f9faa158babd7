/** Examples of trajectories that want to call a tool more often than they may. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import { judge } from '../../src/core/reward.ts';
import { summarize } from '../../src/core/summary.ts';
import { limitText } from '../../src/core/tags.ts';
import type { Grown } from '../../src/core/tree.ts';
import type { Task } from '../../src/core/types.ts';
import { grow } from '../../src/worker/rollout.ts';
import type { ToolPool } from '../../src/worker/tools/tool.ts';
import { characters, END } from '../fakes/characters.ts';
import { scriptedPolicy, type Script } from '../fakes/scriptedPolicy.ts';

const TASK: Task = {
  id: 't',
  messages: [{ role: 'user', content: 'How many?' }],
  references: ['7'],
  ability: 'qa',
  source: '',
};

/** Searches three times, computes once, answers; whatever it is told. It is unsure after every result. */
const eager: Script = said => {
  const turns = ['a', 'b', 'c'].map(query => `<think>?</think><search>${query}</search>`);
  turns.push('<think>?</think><python>3 + 4</python>');
  const done = said.split('</result>').length - 1;
  return {
    text: turns[done] ?? `<think>!</think><answer>\\boxed{7}</answer>${END}`,
    entropies: done,
    logProbs: -0.5,
  };
};

/** Grows one trajectory, or two by a certain branch; every call that is executed is noted. */
async function grown(
  limits: Record<string, number>,
  limitAction: Config['rollout']['limitAction'],
  change: Partial<Config['rollout']> = {},
  callLimit = 9,
): Promise<{ one: Grown; executed: string[] }> {
  const base = defaults();
  const executed: string[] = [];
  const tools: ToolPool = {
    tags: ['search', 'python'],
    describe: () => ({}),
    call: (tag, argument) => {
      executed.push(`${tag} ${argument}`);
      return Promise.resolve({ outcome: 'ok', text: 'seven', latencyMs: 5, shared: false });
    },
    close: () => Promise.resolve(),
  };
  const rollout = {
    ...base.rollout,
    groupSize: 1,
    initialRollouts: 1,
    maxResponseTokens: 2000,
    limitAction,
    ...change,
  };
  const config = { ...base, rollout, tools: { ...base.tools, callLimit, limits } };
  const policy = scriptedPolicy(eager);
  const context = { policy, tools, tokenizer: characters, config, step: 1, index: 0, tell: () => undefined };
  return { one: await grow(TASK, context), executed };
}

const outcomes = ({ tree }: Grown) =>
  tree.segments.flatMap(({ call }) => (call ? [`${call.tool} ${call.outcome}`] : []));

describe('limits of calls', () => {
  it('of one tool end a trajectory that asks for more', async () => {
    const { one, executed } = await grown({ search: 2 }, 'append-end-masked');
    assert.deepEqual(executed, ['search a', 'search b']);
    const [path] = one.tree.paths;
    assert.deepEqual([path?.stop, path?.calls], ['call-limit', 2]);
    assert.equal(one.tree.segments.at(-1)?.kind, 'forced');
    assert.match(judge(one.tree, 0, defaults().reward).reason, /beyond the limit/);
  });

  it('may instead be told to a trajectory, which goes on', async () => {
    const { one, executed } = await grown({ search: 2 }, 'inject-limit-message');
    assert.deepEqual(executed, ['search a', 'search b', 'python 3 + 4']);
    assert.deepEqual(outcomes(one), ['search ok', 'search ok', 'search refused', 'python ok']);
    const [path] = one.tree.paths;
    assert.deepEqual([path?.stop, path?.calls], ['answer', 3]);
    const message = one.tree.segments.find(({ call }) => call?.outcome === 'refused');
    assert.equal(message?.text, ` <result>\n${limitText('search', 2)}\n</result>`);
    assert.match(message?.text ?? '', /You may not call search again: all 2 calls that you had are made\./);
    assert.equal(message?.call?.argument, 'c');
    assert.equal(judge(one.tree, 0, defaults().reward).total, 1.1);
  });

  it('leave the other tools and the limit of all calls as they are', async () => {
    const all = await grown({ search: 9 }, 'inject-limit-message', {}, 2);
    assert.deepEqual(all.executed, ['search a', 'search b']);
    assert.deepEqual(outcomes(all.one), ['search ok', 'search ok', 'search refused', 'python refused']);
    assert.match(all.one.tree.segments.at(-2)?.text ?? '', /may not call python again: all 2 calls/);
    assert.equal(all.one.tree.paths[0]?.calls, 2);
    const none = await grown({ python: 0 }, 'inject-limit-message');
    assert.deepEqual(outcomes(none.one), ['search ok', 'search ok', 'search ok', 'python refused']);
    assert.match(none.one.tree.segments.at(-2)?.text ?? '', /You may not call python\. Go on without it/);
    assert.match(limitText('python', 1), /again: the one call that you had is made\./);
  });

  it('count the calls that a branch was born with', async () => {
    const branching = { groupSize: 2, branchProbability: 1, entropyWeight: 0, rule: 'paper' } as const;
    const { one, executed } = await grown({ search: 2 }, 'inject-limit-message', branching);
    assert.deepEqual(one.tree.paths.map(({ origin, calls, stop }) => [origin, calls, stop]), [
      ['initial', 3, 'answer'],
      ['branch', 3, 'answer'],
    ]); // prettier-ignore
    assert.deepEqual(executed.filter(call => call.startsWith('search')), ['search a', 'search b', 'search b']); // prettier-ignore
  });

  it('ask no branching question at a message, and count no call for it', async () => {
    for (const rule of ['paper', 'upstream'] as const) {
      const branching = { rule, groupSize: 16, branchProbability: 0, entropyWeight: 0 } as const;
      const { one } = await grown({ search: 2 }, 'inject-limit-message', branching);
      const asked = one.tree.decisions
        .filter(({ path }) => path === 0)
        .map(({ segment }) => one.tree.segments[segment]?.call?.argument);
      assert.deepEqual(asked, ['a', 'b', '3 + 4'], rule);
      for (const path of one.tree.paths) path.reward = { total: 1, parts: {}, correct: true, reason: '' };
      const { toolCalls } = summarize(
        [one],
        { skippedUpdates: 0, trainedTokens: 1 },
        { total: 1, rollout: 1, learn: 0 },
      );
      assert.deepEqual(toolCalls.byTool, { search: 32, python: 16 });
      assert.deepEqual([toolCalls.total, toolCalls.errors], [48, 0]);
      assert.deepEqual(toolCalls.byOutcome, { ok: 48, refused: 16 });
    }
  });
});

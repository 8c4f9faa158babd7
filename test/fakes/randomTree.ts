/** Grows small random trees, judged and credited, from a policy and tools that derive everything from a seed. */
import { credit } from '../../src/core/advantage.ts';
import { defaults, type Config } from '../../src/core/config.ts';
import type { Fact } from '../../src/core/events.ts';
import { below, streamKey, uniform } from '../../src/core/random.ts';
import { judge } from '../../src/core/reward.ts';
import type { Grown } from '../../src/core/tree.ts';
import type { Task } from '../../src/core/types.ts';
import { grow } from '../../src/worker/rollout.ts';
import type { ToolPool } from '../../src/worker/tools/tool.ts';
import { characters, END } from './characters.ts';
import { scriptedPolicy, type ScriptedPolicy } from './scriptedPolicy.ts';

/** Says turns that depend on the path and on the stream only: calls, answers, rambling, calls without argument. */
export const randomPolicy = (): ScriptedPolicy =>
  scriptedPolicy((said, { stream }) => {
    const u = (counter: number): number => uniform(stream, said.length * 100 + counter);
    const thought = `<think>${'hm '.repeat(1 + Math.floor(u(0) * 8))}</think>`;
    const kinds = [
      `<search> ${Math.floor(u(1) * 5)}</search>`,
      `<python> ${Math.floor(u(1) * 5)}</python>`,
      `<search> ${Math.floor(u(1) * 9)}</search>`,
      `<answer>\\boxed{ ${Math.floor(u(1) * 2)} }</answer>${END}`,
      `<answer>\\boxed{ 1 }</answer>${END}`,
      `<answer>${END}`,
      u(2) < 0.3 ? '<search> </search>' : `${END}`,
    ];
    const text = thought + kinds[Math.floor(u(3) * kinds.length)]!;
    const numbers = Array.from({ length: text.length }, (_, i) => 2 * u(10 + i));
    const tops = numbers.map(number => [-number, -number - 1, -number - 2]);
    return { text, entropies: numbers, logProbs: numbers.map(number => -number), topLogProbs: tops };
  });

/** Answers after `delay(n)` turns of the event loop, the n-th call's. */
export function echoTools(delay: (call: number) => number = () => 0): ToolPool {
  let calls = 0;
  return {
    tags: ['search', 'python'],
    describe: () => ({ search: 'echo', python: 'echo' }),
    async call(tag, argument) {
      for (let left = delay(calls++); left > 0; left--) await new Promise(resolve => setImmediate(resolve));
      return { outcome: 'ok', text: `${tag} of ${argument}`, latencyMs: delay(calls), shared: false };
    },
    close: () => Promise.resolve(),
  };
}

/** A rollout's settings drawn from a seed: both rules, both gates, all kinds of budgets. */
export function randomConfig(seed: number): Config {
  const base = defaults();
  const key = streamKey(seed, 'config');
  const groupSize = 1 + below(key, 0, 9);
  const rollout: Config['rollout'] = {
    ...base.rollout,
    rule: below(key, 1, 2) === 0 ? 'paper' : 'upstream',
    groupSize,
    initialRollouts: 1 + below(key, 2, groupSize),
    beamSize: 2 + below(key, 3, 3),
    branchProbability: uniform(key, 4),
    entropyWeight: uniform(key, 5),
    entropyTokens: 1 + below(key, 6, 12),
    gate: below(key, 7, 3) === 0 ? 'threshold' : 'bernoulli',
    maxPromptTokens: 64,
    maxResponseTokens: 20 + below(key, 8, 400),
    maxTurnTokens: below(key, 9, 3) === 0 ? 30 : 0,
  };
  return {
    ...base,
    seed,
    rollout,
    tools: { ...base.tools, callLimit: below(key, 10, 4) },
    record: { ...base.record, alternatives: below(key, 11, 4) },
  };
}

export const TASK: Task = {
  id: 'task',
  messages: [{ role: 'user', content: 'How many?' }],
  references: ['1'],
  ability: 'qa',
  source: 'test',
};

/** A tree with its rewards and credit, and the facts that were told while it grew. */
export async function randomTree(
  seed: number,
  tools: ToolPool = echoTools(),
): Promise<Grown & { facts: Fact[]; config: Config; policy: ScriptedPolicy }> {
  const config = randomConfig(seed);
  const facts: Fact[] = [];
  const policy = randomPolicy();
  const tell = (fact: Fact): number => facts.push(fact);
  const grown = await grow(TASK, {
    policy,
    tools,
    tokenizer: characters,
    config,
    step: 1,
    index: seed,
    tell,
  });
  grown.tree.paths.forEach((path, index) => (path.reward = judge(grown.tree, index, config.reward)));
  grown.tree.credit = credit(grown.tree, { credit: 'soft', scale: 'group-std', trainForced: seed % 2 === 0 });
  return { ...grown, facts, config, policy };
}

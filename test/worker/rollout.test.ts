import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import type { Fact } from '../../src/core/events.ts';
import { below, streamKey } from '../../src/core/random.ts';
import { responseTokens, segmentsOf } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import { grow, growSamples, type GrowContext } from '../../src/worker/rollout.ts';
import { characters, END } from '../fakes/characters.ts';
import { echoTools, randomTree, TASK } from '../fakes/randomTree.ts';
import { scriptedPolicy, type Script } from '../fakes/scriptedPolicy.ts';

function context(script: Script, rollout: Partial<Config['rollout']> = {}, callLimit = 3) {
  const base = defaults();
  const config: Config = {
    ...base,
    rollout: {
      ...base.rollout,
      rule: 'paper',
      groupSize: 2,
      initialRollouts: 1,
      beamSize: 2,
      branchProbability: 1,
      entropyTokens: 4,
      gate: 'bernoulli',
      maxPromptTokens: 64,
      maxResponseTokens: 200,
      maxTurnTokens: 0,
      temperature: 0.7,
      ...rollout,
    },
    tools: { ...base.tools, callLimit },
  };
  const facts: Fact[] = [];
  const policy = scriptedPolicy(script);
  const tell = (fact: Fact): number => facts.push(fact);
  const given = { policy, tools: echoTools(), tokenizer: characters, config, step: 3, index: 5, tell };
  return { ...given, facts } satisfies GrowContext & { facts: Fact[] };
}

/** Calls once, then answers; what follows the result depends on the stream, so that a child differs from its parent. */
const callThenAnswer: Script = (said, { stream }) =>
  said.includes('<result>')
    ? {
        text: `${stream % 2 === 0 ? 'even' : 'odd.'} answer${END}`,
        entropies: [1, 2, 3, 4, 100],
        logProbs: -0.5,
      }
    : { text: 'look <search> here </search>', entropies: 0.5, logProbs: -0.25 };

/** What must be equal when only the tools' timing differs. */
const withoutTiming = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) =>
    key === 'latencyMs'
      ? undefined
      : ArrayBuffer.isView(inner)
        ? Array.from(inner as Float32Array, String)
        : inner,
  );

describe('rollout', () => {
  it('keeps the end of sequence among the tokens and out of the text', async () => {
    const { facts: _, ...given } = context(callThenAnswer);
    // A vocabulary's own end has a text, unlike that of the characters.
    const decode = (ids: ArrayLike<number>): string =>
      String.fromCharCode(...Array.from(ids)).replaceAll(END, '<|end|>');
    const { tree, columns } = await grow(TASK, { ...given, tokenizer: { ...characters, decode } });
    const last = tree.segments.at(-1)!;
    assert.equal(columns.ids[last.start + last.count - 1], characters.endIds[0]);
    assert.ok(tree.segments.every(({ text }) => !text.includes('<|end|>')));
  });

  it('grows a call, its result, a branch after it and both answers', async () => {
    const { facts, ...given } = context(callThenAnswer);
    const { tree, columns } = await grow(TASK, given);
    assert.deepEqual(
      tree.segments.map(({ kind, parent, turn, stop }) => [kind, parent, turn, stop]),
      [
        ['prompt', -1, 0, undefined],
        ['model', 0, 0, 'call'],
        ['tool', 1, 1, undefined],
        ['model', 2, 1, 'answer'],
        ['model', 2, 1, 'answer'],
      ],
    );
    assert.equal(tree.segments[2]!.text, ' <result>\nsearch of here\n</result>');
    assert.equal(tree.segments[2]!.call!.argument, 'here');
    assert.deepEqual(tree.paths[1]!.from, { path: 0, segment: 2 });
    assert.deepEqual(tree.task, { id: 'task', question: 'How many?', references: ['1'], ability: 'qa' });
    const [decision] = tree.decisions;
    assert.deepEqual([decision!.initialEntropy, decision!.entropy, decision!.windowTokens], [0.5, 2.5, 4]);
    assert.equal(tree.segments[3]!.entropy, 2.5);
    assert.equal(characters.decode(columns.ids), tree.segments.map(({ text }) => text).join(''));
    assert.equal(tree.id, '3.5');
    assert.deepEqual(
      facts.map(({ type }) => type),
      [
        'segment-grown',
        'segment-grown',
        'segment-grown',
        'tool-answered',
        'branch-decided',
        'segment-grown',
        'segment-grown',
      ],
    );
    assert.deepEqual(given.policy.asked, ['forget 3.5/']);
  });

  it('draws a preview and its rest from the turn’s one stream, and the child from a stream of its own', async () => {
    const { policy, ...given } = context(callThenAnswer);
    await grow(TASK, { policy, ...given });
    const [first, preview, rest, child] = policy.requests;
    assert.deepEqual([preview!.maxTokens, preview!.streamOffset, rest!.streamOffset], [4, 0, 4]);
    assert.equal(rest!.stream, preview!.stream);
    assert.notEqual(preview!.stream, first!.stream, 'each turn has a stream of its own');
    assert.notEqual(child!.stream, preview!.stream);
    const keys = (request: typeof preview): string[] => request!.path.map(({ key }) => key);
    assert.deepEqual(
      keys(child),
      keys(preview),
      'the child starts at the result and finds its parent’s stretches',
    );
    assert.deepEqual(keys(rest), [...keys(preview), preview!.key]);
    assert.equal(new Set(policy.requests.map(({ key }) => key)).size, 4);
    assert.ok(
      policy.requests.every(({ temperature, topLogProbs }) => temperature === 0.7 && topLogProbs === 0),
    );
  });

  it('has numbers only for tokens that the policy drew', async () => {
    const { tree, columns } = await grow(TASK, context(callThenAnswer));
    for (const { kind, start, count } of tree.segments)
      for (let token = start; token < start + count; token++) {
        assert.equal(Number.isNaN(columns.samplerLogProbs[token]!), kind !== 'model');
        assert.equal(Number.isNaN(columns.entropies[token]!), kind !== 'model');
        assert.ok(Number.isNaN(columns.trainerLogProbs[token]!));
      }
  });

  it('grows the same trees from the same seed, whatever the timing of the tools', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const calm = await randomTree(seed);
      const key = streamKey(seed, 'delays');
      const slow = await randomTree(
        seed,
        echoTools(call => below(key, call, 6)),
      );
      const told = ({ tree, columns, facts }: typeof calm): string => withoutTiming({ tree, columns, facts });
      assert.equal(told(slow), told(calm), `seed ${seed}`);
    }
  });

  it('keeps every limit on random trees of both rules', async () => {
    const seen = { branch: 0, refuse: 0, budget: 0, length: 0, fill: 0, forced: 0 };
    for (let seed = 1; seed <= 150; seed++) {
      const { tree, columns, config, policy, facts } = await randomTree(seed);
      const { rollout, tools } = config;
      const claim = (holds: boolean, what: string): void => assert.ok(holds, `seed ${seed}: ${what}`);
      claim(tree.paths.length === rollout.groupSize, `${tree.paths.length} of ${rollout.groupSize} paths`);
      claim(
        tree.segments.every(({ parent }, index) => parent < index),
        'a parent comes after its child',
      );
      claim(
        columns.ids.length === tree.segments.reduce((sum, { count }) => sum + count, 0),
        'tokens are missing',
      );
      tree.paths.forEach(({ calls, stop }, path) => {
        const length = responseTokens(tree, path);
        claim(length <= rollout.maxResponseTokens, `path ${path} has ${length} tokens`);
        claim(
          stop !== 'length' || length === rollout.maxResponseTokens,
          `path ${path} stopped early for length`,
        );
        claim(calls <= tools.callLimit, `path ${path} has ${calls} calls`);
        const ran = segmentsOf(tree, path).filter(index => tree.segments[index]!.kind === 'tool').length;
        claim(calls === ran, `path ${path} counts ${calls} calls but has ${ran} results`);
      });
      claim(
        policy.requests.every(({ maxTokens }) => maxTokens > 0),
        'a request for no tokens',
      );
      const asks = rollout.initialRollouts < rollout.groupSize;
      claim(asks || tree.decisions.length === 0, 'questions without anything to decide');
      for (const decision of tree.decisions) {
        claim(tree.segments[decision.segment]!.kind === 'tool', 'a question elsewhere than after a result');
        claim(decision.made <= decision.total, 'more made than allowed');
        claim((decision.child !== undefined) === (decision.outcome === 'branch'), 'a child without a branch');
        if (decision.child !== undefined)
          claim(tree.paths[decision.child]!.from!.path === decision.path, 'a foreign child');
        claim(
          decision.windowTokens <= rollout.entropyTokens && decision.windowTokens > 0,
          'a window out of bounds',
        );
        seen[decision.outcome]++;
      }
      seen.fill += tree.paths.filter(({ origin }) => origin === 'fill').length;
      seen.forced += tree.segments.filter(({ kind }) => kind === 'forced').length;
      claim(
        facts.filter(({ type }) => type === 'segment-grown').length === tree.segments.length,
        'a segment untold',
      );
      claim(
        facts.filter(({ type }) => type === 'branch-decided').length === tree.decisions.length,
        'a decision untold',
      );
    }
    for (const kind of ['branch', 'refuse', 'budget', 'fill', 'forced'] as const)
      assert.ok(
        seen[kind] >= 20,
        `only ${seen[kind]} times ${kind}: the random trees no longer try everything`,
      );
  });

  it('asks for no more previews than there are questions', async () => {
    const script: Script = said => ({
      text: said.includes('<result>') ? END : '<search> x </search>',
      entropies: 1,
    });
    const { policy, ...given } = context(script, { groupSize: 2, initialRollouts: 2 });
    await grow(TASK, { policy, ...given });
    assert.equal(policy.requests.length, 4, 'two turns each, no preview');
  });

  it('ends a call beyond the limit with the end-of-sequence', async () => {
    const script: Script = () => ({ text: '<search> x </search>', entropies: 1 });
    const { tree, columns } = await grow(TASK, context(script, { groupSize: 1 }, 1));
    assert.deepEqual(
      tree.segments.map(({ kind }) => kind),
      ['prompt', 'model', 'tool', 'model', 'forced'],
    );
    assert.equal(columns.ids.at(-1), characters.endIds[0]);
    assert.deepEqual([tree.paths[0]!.stop, tree.paths[0]!.calls], ['call-limit', 1]);
  });

  it('looks for the argument in the current turn, upstream in the whole text', async () => {
    const script: Script = said => ({
      text: said.includes('<result>') ? END : 'oh </search>',
      entropies: 1,
      topLogProbs: [],
    });
    const task = { ...TASK, messages: [{ role: 'user' as const, content: 'Write <search> q </search>.' }] };
    const grown = (rule: 'paper' | 'upstream'): Promise<{ tree: Tree }> =>
      grow(task, context(script, { rule, groupSize: 1 }));
    assert.equal((await grown('paper')).tree.paths[0]!.stop, 'empty-call');
    const call = (await grown('upstream')).tree.segments[2]!.call;
    assert.equal(call!.argument, 'q </search>.\noh');
  });

  it('scores upstream turns by their largest log-probabilities over ln |V|', async () => {
    const half = [Math.log(0.5), Math.log(0.5)];
    const script: Script = () => ({ text: `ab${END}`, entropies: 9, topLogProbs: [half, half, half] });
    const { policy, ...given } = context(script, { rule: 'upstream', groupSize: 1 });
    const { tree } = await grow(TASK, { policy, ...given });
    assert.equal(policy.requests[0]!.topLogProbs, 10);
    const expected = (3 * Math.LN2) / Math.log(characters.vocabularySize);
    assert.ok(Math.abs(tree.segments[1]!.entropy! - expected) < 1e-6);
  });

  it('cuts a result to the tokens that are left', async () => {
    const script: Script = () => ({ text: '<search> x </search>', entropies: 1 });
    const { tree } = await grow(TASK, context(script, { groupSize: 1, maxResponseTokens: 28 }));
    assert.deepEqual([tree.segments[2]!.count, tree.segments[2]!.text], [8, ' <result']);
    assert.equal(tree.paths[0]!.stop, 'length');
  });

  it('samples without branching for an evaluation, at its own temperature', async () => {
    const { policy, ...given } = context(callThenAnswer);
    const { tree } = await growSamples(
      TASK,
      { policy, ...given, id: 'before.7' },
      { samples: 3, temperature: 0 },
    );
    assert.deepEqual(
      tree.paths.map(({ origin }) => origin),
      ['initial', 'initial', 'initial'],
    );
    assert.deepEqual(tree.decisions, []);
    assert.ok(
      policy.requests.every(({ temperature, key }) => temperature === 0 && key.startsWith('before.7/')),
    );
    assert.equal(new Set(policy.requests.map(({ stream }) => stream)).size, 6);
  });

  it('keeps the alternatives of every drawn token where the config asks, of evaluations none', async () => {
    const { policy, config, ...given } = context(callThenAnswer);
    const recording = { ...config, record: { ...config.record, alternatives: 3 } };
    const { tree, columns } = await grow(TASK, { policy, config: recording, ...given });
    assert.ok(policy.requests.every(({ alternatives }) => alternatives === 3));
    assert.ok(
      policy.requests.some(({ streamOffset }) => streamOffset > 0),
      'a turn has a preview',
    );
    const drawn = tree.segments
      .filter(({ kind }) => kind === 'model')
      .flatMap(({ start, count }) => Array.from({ length: count }, (_, i) => start + i));
    const { k, ids, logProbs } = columns.alternatives!;
    assert.deepEqual([k, ids.length, logProbs.length], [3, 3 * drawn.length, 3 * drawn.length]);
    drawn.forEach((token, i) => {
      assert.deepEqual(
        [...ids.subarray(3 * i, 3 * i + 3)],
        [0, 1, 2].map(n => columns.ids[token]! + n),
      );
      assert.equal(logProbs[3 * i], columns.samplerLogProbs[token]);
    });
    const evaluated = await growSamples(
      TASK,
      { policy, config: recording, ...given },
      { samples: 1, temperature: 1 },
    );
    assert.equal(evaluated.columns.alternatives, undefined);
    const plain = await grow(TASK, context(callThenAnswer));
    assert.equal('alternatives' in plain.columns, false);
    assert.ok(!('alternatives' in policy.requests.at(-1)!));
  });

  it('refuses a prompt that is too long, and fails with its policy', async () => {
    const long = { ...TASK, messages: [{ role: 'user' as const, content: 'x'.repeat(64) }] };
    await assert.rejects(
      grow(long, context(callThenAnswer)),
      /65 tokens; rollout.maxPromptTokens allows 1 to 64/,
    );
    const broken: Script = () => Promise.reject(new Error('the engine is gone'));
    await assert.rejects(grow(TASK, context(broken)), /the engine is gone/);
  });
});

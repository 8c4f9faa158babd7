/** Supervised fine-tuning: what is trained, how the rate moves, when it saves, and what it reads. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { Batch } from '../../src/core/batch.ts';
import { FailureError } from '../../src/core/types.ts';
import { maskResults, openDemonstrations } from '../../src/worker/demonstrations.ts';
import type { Policy, StepSettings } from '../../src/worker/policy/policy.ts';
import {
  learningRateAt,
  rowOf,
  runSft,
  SFT_DEFAULTS,
  type Demonstration,
  type SftProgress,
  type SftSettings,
  type SftState,
  type SftTokenizer,
} from '../../src/worker/sft.ts';

/** One id per character; 1 ends. */
const tokenizer: SftTokenizer = {
  encodePrompt: messages => [2, ...messages.flatMap(({ content }) => [...content].map(c => c.charCodeAt(0)))],
  encode: text => [...text].map(c => c.charCodeAt(0)),
  endIds: [1],
};

const demonstration = (text: string): Demonstration => ({
  messages: [{ role: 'user', content: 'q' }],
  pieces: [
    { text, trained: true },
    { text: '=9', trained: false },
  ],
});

const settings: SftSettings = {
  ...SFT_DEFAULTS,
  tokens: 60,
  rowsPerUpdate: 2,
  learningRate: 1,
  warmupUpdates: 2,
  saveEveryUpdates: 2,
};

function recorder(): { policy: Policy; batches: Batch[]; steps: StepSettings[] } {
  const batches: Batch[] = [];
  const steps: StepSettings[] = [];
  const policy = {
    accumulate(batch: Batch) {
      batches.push(batch);
      return Promise.resolve({ report: { loss: 2 }, scores: [] });
    },
    step(step: StepSettings) {
      steps.push(step);
      return Promise.resolve({ gradientNorm: 3, applied: true });
    },
  };
  return { policy: policy as unknown as Policy, batches, steps };
}

function* letters(from: number): Generator<Demonstration> {
  for (let n = from; ; n++) yield demonstration(String.fromCharCode(97 + (n % 26)));
}

describe('supervised fine-tuning', () => {
  it('trains what the assistant wrote and the end, never the prompt or a tool’s text', () => {
    const row = rowOf(tokenizer, demonstration('ab'));
    assert.deepEqual(row.ids, [2, 113, 97, 98, 61, 57, 1]);
    assert.deepEqual(row.weights, [0, 0, 1, 1, 0, 0, 1]);
  });

  it('reads its budget of tokens in updates of equal weight per trained token, and saves on the way and last', async () => {
    const { policy, batches, steps } = recorder();
    const told: SftProgress[] = [];
    const saved: SftState[] = [];
    const end = await runSft({
      policy,
      tokenizer,
      demonstrations: letters,
      settings,
      tell: progress => told.push(progress),
      save: state => Promise.resolve(void saved.push(state)),
      signal: new AbortController().signal,
    });
    assert.deepEqual(end, { updates: 5, tokens: 60, rows: 10 });
    assert.deepEqual(
      saved.map(({ updates }) => updates),
      [2, 4, 5],
    );
    assert.deepEqual([...batches[0]!.trees[1]!.termWeight], [0.25, 0.25]);
    assert.deepEqual(
      batches.map(({ trees }) => trees[0]!.ids[2]),
      [97, 99, 101, 103, 105],
    );
    assert.deepEqual([told[0]!.loss, told[0]!.gradientNorm, steps[0]!.learningRate], [2, 3, 0.5]);
  });

  it('goes on where it stopped, and stops when asked', async () => {
    const { policy, batches } = recorder();
    const stop = new AbortController();
    const work = { policy, tokenizer, demonstrations: letters, settings, save: () => Promise.resolve() };
    const half = await runSft({
      ...work,
      tell: ({ updates }) => updates === 2 && stop.abort(),
      signal: stop.signal,
    });
    assert.deepEqual(half, { updates: 2, tokens: 24, rows: 4 });
    const end = await runSft({
      ...work,
      from: half,
      tell: () => undefined,
      signal: new AbortController().signal,
    });
    assert.deepEqual(end, { updates: 5, tokens: 60, rows: 10 });
    assert.deepEqual(
      batches.map(({ trees }) => trees[0]!.ids[2]),
      [97, 99, 101, 103, 105],
    );
  });

  it('leaves out rows that are too long', async () => {
    const { policy, batches } = recorder();
    function* some(from: number): Generator<Demonstration> {
      yield* [demonstration('a'), demonstration('far too long'), demonstration('b')].slice(from);
    }
    const short = { ...settings, maxRowTokens: 8 };
    const work = { policy, tokenizer, demonstrations: some, settings: short, tell: () => undefined };
    const end = await runSft({
      ...work,
      save: () => Promise.resolve(),
      signal: new AbortController().signal,
    });
    assert.deepEqual([batches.length, batches[0]!.trees[1]!.ids[2], end.rows], [1, 98, 3]);
  });

  it('says that all rows are too long, where they come without end', async () => {
    const { policy, batches } = recorder();
    let given = 0;
    function* endless(): Generator<Demonstration> {
      for (; given < 20_000; given++) yield demonstration('far too long');
    }
    const short = { ...settings, maxRowTokens: 8 };
    const work = { policy, tokenizer, demonstrations: endless, settings: short, tell: () => undefined };
    const signal = new AbortController().signal;
    await assert.rejects(
      runSft({ ...work, save: () => Promise.resolve(), signal }),
      /10,000 demonstrations one after the other have more than 8 tokens/,
    );
    assert.deepEqual([batches.length, given], [0, 9_999]);
  });

  it('warms up, holds, and brings the rate down to its last share', () => {
    const shape = { ...settings, tokens: 100, decayFrom: 0.5, finalShare: 0.1 };
    const at = (decay: 'linear' | 'cosine', updates: number, tokens: number): number =>
      Number(learningRateAt({ ...shape, decay }, { updates, tokens, rows: 0 }).toFixed(6));
    assert.deepEqual(
      [at('linear', 0, 0), at('linear', 9, 50), at('linear', 9, 75), at('linear', 9, 100)],
      [0.5, 1, 0.55, 0.1],
    );
    assert.deepEqual(
      [at('cosine', 9, 62.5), at('cosine', 9, 75), at('cosine', 9, 130)],
      [0.868198, 0.55, 0.1],
    );
  });
});

describe('demonstrations', () => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'demonstrations-'))));
  after(() => rm(folder, { recursive: true }));
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };

  it('masks what stands in result tags, with the blank before', () => {
    assert.deepEqual(maskResults('<search>a</search> <result>\nb\n</result><answer>c</answer>'), [
      { text: '<search>a</search>', trained: true },
      { text: ' <result>\nb\n</result>', trained: false },
      { text: '<answer>c</answer>', trained: true },
    ]);
  });

  it('reads messages and ShareGPT conversations, each once an epoch', async () => {
    const rows = [
      {
        messages: [
          { role: 'user', content: '1' },
          { role: 'assistant', content: 'a' },
        ],
      },
      {
        system: 'S',
        conversations: [
          { from: 'human', value: '2' },
          { from: 'gpt', value: 'b' },
        ],
      },
    ];
    const source = await openDemonstrations(
      await file('d.jsonl', rows.map(row => JSON.stringify(row)).join('\n')),
      1,
    );
    const taken: Demonstration[] = [];
    for await (const one of source(0)) if (taken.push(one) === 4) break;
    assert.deepEqual(new Set(taken.slice(0, 2).map(({ pieces }) => pieces[0]!.text)), new Set(['a', 'b']));
    assert.deepEqual(taken.find(({ messages }) => messages.length === 2)!.messages[0], {
      role: 'system',
      content: 'S',
    });
    for await (const third of source(2)) {
      assert.deepEqual(third, taken[2]);
      break;
    }
  });

  it('masks what tools answer in messages of their own, as the loop inserts it', async () => {
    const row = {
      conversations: [
        { from: 'human', value: 'Hello?' },
        { from: 'gpt', value: '<search>h</search>' },
        { from: 'observation', value: 'early' },
        { from: 'human', value: 'Who?' },
        { from: 'function_call', value: '<search>who</search>' },
        { from: 'observation', value: 'Ada' },
        { from: 'gpt', value: '<search>more</search> <result>\nin text\n</result><search>x</search>' },
        { from: 'tool', value: '<result>\nlast\n</result>' },
        { from: 'gpt', value: '<answer>Ada</answer>' },
      ],
    };
    const source = await openDemonstrations(await file('tools.jsonl', JSON.stringify(row)), 1);
    const [one] = source(0) as Iterable<Demonstration>;
    assert.deepEqual(one!.messages, [
      { role: 'user', content: 'Hello?' },
      { role: 'assistant', content: '<search>h</search> <result>\nearly\n</result>' },
      { role: 'user', content: 'Who?' },
    ]);
    assert.deepEqual(
      one!.pieces.map(({ text, trained }) => [text, trained]),
      [
        ['<search>who</search>', true],
        [' <result>\nAda\n</result>', false],
        ['<search>more</search>', true],
        [' <result>\nin text\n</result>', false],
        ['<search>x</search>', true],
        [' <result>\nlast\n</result>', false],
        ['<answer>Ada</answer>', true],
      ],
    );
    const { ids, weights } = rowOf(tokenizer, one!);
    const trained = Array.from(ids)
      .filter((_, i) => weights[i] === 1)
      .map(id => String.fromCharCode(id))
      .join('');
    assert.equal(
      trained,
      '<search>who</search><search>more</search><search>x</search><answer>Ada</answer>\u0001',
    );
  });

  it('takes every row once per epoch, each epoch in another order, and goes on from any place', async () => {
    const rows = Array.from({ length: 12 }, (_, i) =>
      JSON.stringify({
        conversations: [
          { from: 'human', value: `${i}` },
          { from: 'gpt', value: 'a' },
        ],
      }),
    );
    const source = await openDemonstrations(await file('epochs.jsonl', rows.join('\n')), 1);
    const take = (from: number, count: number): string[] => {
      const taken: string[] = [];
      for (const { messages } of source(from) as Iterable<Demonstration>)
        if (taken.push(messages[0]!.content) === count) break;
      return taken;
    };
    const both = take(0, 24);
    const [first, second] = [both.slice(0, 12), both.slice(12)];
    assert.deepEqual(new Set(first).size, 12);
    assert.deepEqual(new Set(second).size, 12);
    assert.notDeepEqual(first, second);
    assert.deepEqual(take(17, 7), both.slice(17));
  });

  it('takes a module’s demonstrations', async () => {
    const module =
      'export function* demonstrations(from) { yield { messages: [], pieces: [{ text: String(from), trained: true }] }; }';
    const source = await openDemonstrations(await file('d.mjs', module), 1);
    for await (const one of source(7)) assert.equal(one.pieces[0]!.text, '7');
    await assert.rejects(openDemonstrations(await file('e.mjs', 'export {}'), 1), FailureError);
  });

  it('names file, row and fix of what it refuses', async () => {
    const refused = async (line: unknown): Promise<string> => {
      const path = await file('bad.jsonl', '\n' + (typeof line === 'string' ? line : JSON.stringify(line)));
      const error = await openDemonstrations(path, 1).then(
        () => assert.fail('nothing was refused'),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof FailureError && error.failure.fix);
      return error.message;
    };
    assert.match(await refused('{'), /bad\.jsonl, row 2 is not JSON/);
    assert.match(
      await refused({ messages: [{ role: 'user', content: 'x' }] }),
      /last message is not the assistant/,
    );
    assert.match(await refused({ messages: [{ role: 'assistant', content: 'x' }] }), /no prompt/);
    assert.match(
      await refused({ conversations: [{ from: 'narrator', value: 'x' }] }),
      /message 1: the role is "narrator"/,
    );
    assert.match(await refused({ text: 'x' }), /neither messages nor conversations/);
    assert.match(await refused(''), /has no demonstrations/);
    await assert.rejects(openDemonstrations('/nowhere/d.jsonl', 1), {
      message: 'There is no file /nowhere/d.jsonl.',
    });
  });
});

import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, it } from 'mocha';
import type { Event } from '../../../src/core/events.ts';
import { fold, type RunState } from '../../../src/core/fold.ts';
import type { FailureError } from '../../../src/core/types.ts';
import { unframed } from '../../../src/run/imports/compressed.ts';
import { openRun } from '../../../src/run/reader.ts';
import { glanceAt } from '../../../src/run/runs.ts';
import { writeLabel } from '../../../src/run/label.ts';
import { inFolder } from '../fixtures.ts';

const PROMPT = 'system\nYou may search.\nuser\nWhat is the capital of Perú?\nassistant\n';
const CALLED =
  '<think>Let me look.</think><search>capital of Perú</search> <result>\nLima.\n</result><answer>Lima</answer>';

type Values = Record<string, unknown>;
const row = (change: Values = {}): Values => ({
  input: PROMPT,
  output: CALLED,
  gts: 'Lima',
  score: 1,
  step: 1,
  ...change,
});

/** Writes rows as if it were long ago, so that they are taken for whole. */
function write(path: string, rows: readonly (Values | string)[], end = '\n'): void {
  mkdirSync(dirname(path), { recursive: true });
  const lines = rows.map(one => (typeof one === 'string' ? one : JSON.stringify(one)));
  writeFileSync(path, lines.join('\n') + end);
  age(path);
}

let second = 0;
/** Each time another minute, so that files differ in their times as they do when they are written one after the other. */
const age = (path: string): void => utimesSync(path, 1_700_000_000 + second, 1_700_000_000 + 60 * second++);

const stateOf = async (folder: string): Promise<RunState> => fold(await openRun(folder).events());

describe('rollouts of verl', () => {
  it('are a run with reward, groups and tool calls, and without what they do not tell', () =>
    inFolder(async folder => {
      const other = { input: 'user\n2 + 2?\nassistant\n', gts: '4', output: 'It is 5.', score: 0 };
      write(join(folder, '1.jsonl'), [row(), row({ output: 'Quito', score: 0 }), row(other), row(other)]);
      write(join(folder, '10.jsonl'), [row({ step: 10 }), row({ step: 10 })]);
      write(join(folder, '2.jsonl'), [row({ step: 2, acc: true, score: 0.25, format: 0.5 })]);
      const { summaries, run, warnings, steps } = await stateOf(folder);
      assert.deepEqual([run?.source, run?.seed, steps, warnings.length], ['verl', undefined, 0, 0]);
      assert.deepEqual(
        summaries.map(({ step }) => step),
        [1, 2, 10],
      );
      const [first, second] = summaries.map(({ summary }) => summary);
      assert.deepEqual([first!.tasks, first!.trajectories, first!.reward.mean], [2, 4, 0.25]);
      assert.equal(first!.accuracy, 0.25);
      assert.deepEqual(first!.groups, { allRight: 0, mixed: 1, allWrong: 1, flat: 1 });
      assert.deepEqual(first!.toolCalls, { total: 1, byTool: { search: 1 } });
      for (const name of ['tokens', 'responseTokens', 'seconds', 'branches', 'kl', 'skippedUpdates'] as const)
        assert.equal(first![name], undefined, name);
      assert.deepEqual([first!.entropy, first!.stops], [{}, {}]);
      // Where an accuracy was logged it says what is right, whatever the score.
      assert.deepEqual([second!.accuracy, second!.reward.parts], [1, { acc: 1, format: 0.5 }]);
    }));

  it('become trees with turns and results told apart, and no number that was not logged', () =>
    inFolder(async folder => {
      write(join(folder, '1.jsonl'), [row(), row({ output: 'Quito', score: -1, pred: 'Quito' })]);
      const run = openRun(folder);
      assert.deepEqual(
        (await run.trees()).map(({ id, question, reward, paths, branches }) => ({
          id,
          question,
          reward,
          paths,
          branches,
        })),
        [{ id: '1.0', question: 'What is the capital of Perú?', reward: 0, paths: 2, branches: undefined }],
      );
      const tree = await run.tree('1.0');
      assert.deepEqual(
        tree.segments.map(({ parent, kind, turn, text }) => [parent, kind, turn, text]),
        [
          [-1, 'prompt', 0, PROMPT],
          [0, 'model', 0, '<think>Let me look.</think><search>capital of Perú</search>'],
          [1, 'tool', 1, ' <result>\nLima.\n</result>'],
          [2, 'model', 1, '<answer>Lima</answer>'],
          [0, 'model', 0, 'Quito'],
        ],
      );
      assert.deepEqual(tree.segments[2]!.asked, { tool: 'search', argument: 'capital of Perú' });
      assert.deepEqual(tree.imported, { source: 'verl', hasTokens: false });
      assert.deepEqual(tree.task.references, ['Lima']);
      assert.deepEqual(
        tree.paths.map(({ leaf, calls, stop, reward }) => [leaf, calls, stop, reward?.total, reward?.answer]),
        [
          [3, 1, undefined, 1, undefined],
          [4, 0, undefined, -1, 'Quito'],
        ],
      );
      assert.equal((await run.columns('1.0')).ids.length, 0);
      assert.equal(await run.pieces(), undefined);
      assert.throws(() => run.manifest, /imported from verl: it has no configuration/);
    }));

  it('tell calls of chat templates by their names, and pass a result that the policy wrote itself', () =>
    inFolder(async folder => {
      const call = (name: string): string =>
        `<tool_call>\n{"name": "${name}", "arguments": {"q": "a"}}\n</tool_call>`;
      const output = `I call.\n${call('browse')}\nuser\n<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>\nassistant\nDone: <result>x</result>`;
      write(join(folder, '3.jsonl'), [row({ output })]);
      const { segments } = await openRun(folder).tree('3.0');
      assert.deepEqual(
        segments.slice(1).map(({ kind, asked }) => asked?.tool ?? kind),
        ['model', 'browse', 'tool', 'model'],
      );
      assert.equal(segments.map(({ text }) => text).join(''), PROMPT + output);
      assert.match(segments.at(-1)!.text, /^Done/);
    }));

  it('are read in older forms: without answers, and with every value as text', () =>
    inFolder(async folder => {
      const { gts: _, ...older } = row();
      write(join(folder, '1.jsonl'), [older, { ...older, score: '0.5', step: '1', acc: 'False' }], '');
      const { summaries } = await stateOf(folder);
      assert.deepEqual([summaries[0]!.summary.reward.mean, summaries[0]!.summary.trajectories], [0.75, 2]);
      assert.deepEqual((await openRun(folder).tree('1.0')).task.references, []);
    }));

  it('with damaged rows are told with file and line, and the rest is shown; a torn last line is none', () =>
    inFolder(async folder => {
      const { score: _, ...scoreless } = row();
      write(join(folder, '1.jsonl'), [row(), '{"input": oops', scoreless, row(), '{"input": "torn'], '');
      const { summaries, warnings } = await stateOf(folder);
      assert.equal(summaries[0]!.summary.trajectories, 2);
      assert.deepEqual(
        warnings.map(({ failure }) => failure.message.slice(folder.length + 1).split(':')[0]),
        ['1.jsonl, line 2', '1.jsonl, line 3'],
      );
      assert.match(warnings[1]!.failure.message, /has no number "score"/);
    }));

  it('are followed: new steps, rows that are added to the last one, and files that a resumed run writes again', () =>
    inFolder(async folder => {
      write(join(folder, '1.jsonl'), [row()]);
      const stop = new AbortController();
      let events: Event[] = [];
      let restarts = 0;
      let act = 0;
      const rewards = (): (number | undefined)[] =>
        fold(events).summaries.map(({ summary }) => summary.reward.mean);
      for await (const batch of openRun(folder).follow(0, stop.signal)) {
        if (batch.from === 0 && events.length > 0) restarts++;
        events = batch.from === 0 ? batch.events : [...events, ...batch.events];
        if (events.length === 0) continue;
        if (act === 0) {
          assert.deepEqual(rewards(), [1]);
          write(join(folder, '2.jsonl'), [row({ step: 2, score: 0 })]);
        } else if (act === 1) {
          assert.deepEqual([rewards(), restarts], [[1, 0], 0]);
          appendFileSync(join(folder, '2.jsonl'), `${JSON.stringify(row({ step: 2 }))}\n`);
          age(join(folder, '2.jsonl'));
        } else if (act === 2) {
          assert.deepEqual([rewards(), restarts > 0], [[1, 0.5], true]);
          write(join(folder, '1.jsonl'), [row({ score: 0.25 }), row({ score: 0.25 })]);
          rmSync(join(folder, '2.jsonl'));
        } else {
          assert.deepEqual(rewards(), [0.25]);
          stop.abort();
        }
        act++;
      }
      assert.equal(act, 4);
    })).timeout(20_000);

  it('are listed by a glance with their newest step, and nothing is written beside them', () =>
    inFolder(async folder => {
      write(join(folder, '1.jsonl'), [row({ score: 0 })]);
      write(join(folder, '2.jsonl'), [row(), row({ score: 0 })]);
      const { summary, stamp } = (await glanceAt(folder))!;
      const { source, status, step, steps, reward } = summary;
      assert.deepEqual([source, status, step, steps, reward], ['verl', 'finished', 2, 0, 0.5]);
      assert.equal((await glanceAt(folder, { summary, stamp }))!.summary, summary);
      write(join(folder, '3.jsonl'), [row()]);
      utimesSync(join(folder, '3.jsonl'), new Date(), new Date());
      assert.equal((await glanceAt(folder, { summary, stamp }))!.summary.status, 'live');
      assert.throws(() => writeLabel(folder, { label: 'Mine', tags: [] }), /written by another program/);
      assert.deepEqual(readdirSync(folder).sort(), ['1.jsonl', '2.jsonl', '3.jsonl']);
    }));

  it('are not seen in folders with other files', () =>
    inFolder(async folder => {
      write(join(folder, '1.jsonl'), [{ text: 'something else' }]);
      assert.equal(await glanceAt(folder), undefined);
      assert.throws(() => openRun(folder), /is not a run folder/);
    }));

  it('are not seen where a folder only bears the name of a file', () =>
    inFolder(async folder => {
      mkdirSync(join(folder, '1.jsonl'));
      assert.equal(await glanceAt(folder), undefined);
    }));

  it('have each step once', () =>
    inFolder(async folder => {
      for (const name of ['2.jsonl', '02.jsonl', '10.jsonl']) write(join(folder, name), [row()]);
      assert.deepEqual(
        (await openRun(folder).trees()).map(({ id }) => id),
        ['2.0', '10.0'],
      );
    }));
});

const FLAT: Values = {
  example_id: 7,
  task: 'wiki',
  prompt: [
    { role: 'system', content: 'You may search.' },
    { role: 'user', content: 'What is the capital of Perú?' },
  ],
  completion: [
    {
      role: 'assistant',
      content: 'Let me look.',
      tool_calls: [{ id: 'c1', function: { name: 'search', arguments: '{"q":"Perú"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'Lima.' },
    { role: 'assistant', content: 'Lima' },
  ],
  reward: 1,
  metrics: { exact: 1, length: 0.2 },
  answer: 'Lima',
  is_completed: true,
  is_truncated: false,
};
const node = (parent: number | null, message: Values, tokens?: number): Values => ({
  parent,
  sampled: message.role === 'assistant',
  message,
  ...(tokens !== undefined && { token_ids: Array.from({ length: tokens }, (_, i) => i) }),
});
const GRAPH: Values = {
  id: 'a',
  nodes: [
    node(null, { role: 'user', content: 'What is the capital of Perú?' }, 9),
    node(
      0,
      { role: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'search', arguments: '{}' }] },
      5,
    ),
    node(1, { role: 'tool', tool_call_id: 'c1', content: 'Lima.' }, 3),
    node(2, { role: 'assistant', content: 'Quito' }, 2),
    node(2, { role: 'assistant', content: 'Lima' }, 2),
    node(null, { role: 'user', content: 'a helper’s task' }),
  ],
  rewards: { correct: { score: 1, weight: 0.5 }, format: { score: 1, weight: 0.25 } },
  metrics: { turns: 2 },
  stop_condition: 'agent_completed',
  task: { type: 'Qa', data: { answer: 'Lima' } },
  info: { prime_rl: { env_name: 'wiki' } },
};

describe('rollouts of prime-rl', () => {
  it('are read as verifiers 0.x wrote them: messages, one reward and its metrics', () =>
    inFolder(async folder => {
      const cut = { ...FLAT, reward: 0, completion: 'Quito', is_truncated: true };
      write(join(folder, 'rollouts', 'step_0', 'train_rollouts.jsonl'), [FLAT, cut]);
      write(join(folder, 'rollouts', 'step_1', 'train_rollouts.jsonl'), [
        { ...FLAT, example_id: 8, reward: null },
        FLAT,
      ]);
      const { summaries, run } = await stateOf(folder);
      assert.equal(run?.source, 'prime-rl');
      const [first, second] = summaries.map(({ summary }) => summary);
      assert.deepEqual([first!.reward.mean, first!.tasks, first!.groups.mixed], [0.5, 1, 1]);
      assert.deepEqual(first!.reward.parts, { exact: 1, length: 0.2 });
      assert.deepEqual(first!.stops, { answer: 1, length: 1 });
      assert.deepEqual([second!.reward.mean, second!.trajectories, second!.tasks], [1, 2, 2]);
      const tree = await openRun(folder).tree('0.0');
      assert.deepEqual(
        tree.segments.map(({ kind, asked, stop }) => [kind, asked?.tool, stop]),
        [
          ['prompt', undefined, undefined],
          ['model', undefined, 'call'],
          ['tool', 'search', undefined],
          ['model', undefined, 'answer'],
          ['model', undefined, 'length'],
        ],
      );
      assert.deepEqual([tree.task.question, tree.task.ability], ['What is the capital of Perú?', 'wiki']);
      // The folder of rollouts can be named as well as the run's.
      assert.equal((await openRun(join(folder, 'rollouts')).trees()).length, 3);
    }));

  it('are read where their files are compressed, in one piece or in many, and while one is written', () =>
    inFolder(async folder => {
      const at = (step: number, name: string): string => join(folder, 'rollouts', `step_${step}`, name);
      const right = { ...FLAT, example_id: 8 };
      const lines = (...rows: Values[]): Buffer =>
        Buffer.from(rows.map(one => `${JSON.stringify(one)}\n`).join(''));
      const put = (path: string, bytes: Buffer): void => {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, bytes);
        age(path);
      };
      put(at(0, 'train_rollouts.jsonl.gz'), gzipSync(lines(FLAT, { ...FLAT, reward: 0 }, right)));
      put(
        at(1, 'train_rollouts.jsonl.zst'),
        Buffer.concat([lines(FLAT), lines(right, right)].map(part => zstdCompressSync(part))),
      );
      const noise = lines(...Array.from({ length: 400 }, (_, i) => ({ ...FLAT, example_id: Math.sin(i) })));
      const whole = gzipSync(noise);
      put(at(2, join('train', 'effective', 'traces.jsonl.gz')), whole.subarray(0, whole.length / 2));
      const { summaries, run } = await stateOf(folder);
      assert.equal(run?.source, 'prime-rl');
      assert.deepEqual(
        summaries.slice(0, 2).map(({ summary }) => [summary.trajectories, summary.tasks]),
        [
          [3, 2],
          [3, 2],
        ],
      );
      const torn = summaries[2]!.summary.trajectories;
      assert.ok(torn > 20 && torn < 399, `${torn} of 400 are whole`);
      const opened = openRun(folder);
      for (const { id, paths } of (await opened.trees()).slice(0, 6))
        assert.equal((await opened.tree(id)).paths.length, paths, id);
      assert.equal((await glanceAt(folder))!.summary.step, 2);
    }));

  it('say what cannot be decompressed, and where the editor is too old to', () =>
    inFolder(async folder => {
      const path = join(folder, 'rollouts', 'step_1', 'train_rollouts.jsonl.gz');
      write(path, ['{"prompt": "not compressed"}']);
      await assert.rejects(openRun(folder).events(), /train_rollouts\.jsonl\.gz cannot be decompressed/);
      const { status, problem } = (await glanceAt(folder))!.summary;
      assert.deepEqual([status, /cannot be decompressed/.test(problem!)], ['unreadable', true]);
      const other = join(folder, 'rollouts', 'step_2', 'train_rollouts.jsonl.gz');
      mkdirSync(dirname(other), { recursive: true });
      writeFileSync(other, gzipSync(`${JSON.stringify(FLAT)}\n`));
      age(other);
      const { summaries, warnings } = await stateOf(folder);
      assert.deepEqual(summaries.map(({ step }) => step), [2]); // prettier-ignore
      assert.deepEqual(warnings.map(({ failure }) => /cannot be decompressed/.test(failure.message)), [true]); // prettier-ignore
      await assert.rejects(unframed(Buffer.from('x'), 'a.zst', {}), (error: FailureError) => {
        assert.match(error.failure.message, /a\.zst is compressed by zstd, which Node [\d.]+ cannot read/);
        assert.match(error.failure.fix!, /Update VS Code, or .*zstd -d a\.zst/);
        return true;
      });
    }));

  it('are read as graphs of messages with weighted rewards and tokens, alone and in episodes', () =>
    inFolder(async folder => {
      const effective = (step: number): string =>
        join(folder, 'rollouts', `step_${step}`, 'train', 'effective', 'traces.jsonl');
      write(join(folder, 'rollouts', 'step_1', 'train_rollouts.jsonl'), [GRAPH]);
      write(join(folder, 'rollouts', 'step_2', 'train', 'all', 'traces.jsonl'), [GRAPH, GRAPH, GRAPH]);
      write(effective(2), [GRAPH, { ...GRAPH, rewards: { correct: 1 } }]);
      write(effective(3), [{ id: 'e', group: { id: 'g' }, traces: [GRAPH, GRAPH] }]);
      const { summaries, warnings } = await stateOf(folder);
      assert.deepEqual(warnings, []);
      assert.deepEqual(
        summaries.map(({ step, summary }) => [
          step,
          summary.trajectories,
          summary.reward.mean,
          summary.tasks,
        ]),
        [
          [1, 1, 0.75, 1],
          [2, 2, 0.875, 1],
          [3, 2, 0.75, 1],
        ],
      );
      const { reward, tokens, responseTokens } = summaries[0]!.summary;
      assert.deepEqual(reward.parts, { turns: 2, correct: 0.5, format: 0.25 });
      assert.deepEqual(tokens, { sampled: 7, unique: 19, expanded: 19, trained: 7 });
      assert.equal(responseTokens?.mean, 10);
      const tree = await openRun(folder).tree('3.0');
      assert.deepEqual([tree.imported?.hasTokens, tree.tokens.count], [true, 29]);
      assert.deepEqual(
        tree.segments.slice(0, 4).map(({ start, count, text }) => [start, count, text]),
        [
          [0, 9, 'What is the capital of Perú?'],
          [9, 5, '<tool_call>\nsearch({})\n</tool_call>'],
          [14, 3, 'Lima.'],
          [17, 2, 'Lima'],
        ],
      );
      assert.match(tree.paths[0]!.reward!.reason, /2 of its messages lie on other branches/);
      assert.ok((await openRun(folder).columns('3.0')).entropies.every(Number.isNaN));
    }));

  it('with a row of another form are told with file and line', () =>
    inFolder(async folder => {
      write(join(folder, 'rollouts', 'step_4', 'train_rollouts.jsonl'), [FLAT, { odd: 1 }, { traces: [3] }]);
      const { warnings, summaries } = await stateOf(folder);
      assert.equal(summaries[0]!.summary.trajectories, 1);
      assert.match(warnings[0]!.failure.message, /train_rollouts\.jsonl, line 2: the row has neither/);
      assert.match(warnings[1]!.failure.message, /line 3: the row has a trace without/);
    }));
});

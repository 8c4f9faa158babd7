/** Examples of a reward of the user's own: what it reads, what it may answer, and what becomes of trees that it fails on. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'mocha';
import { defaults, type Config } from '../../../src/core/config.ts';
import type { Fact } from '../../../src/core/events.ts';
import { FailureError, type Tree } from '../../../src/core/types.ts';
import { createRun } from '../../../src/run/create.ts';
import { openRun } from '../../../src/run/reader.ts';
import { evaluate } from '../../../src/worker/evaluate.ts';
import { gather } from '../../../src/worker/gather.ts';
import { judgeAll, openReward } from '../../../src/worker/judges.ts';
import { inputOf, rewardFrom, type OwnReward } from '../../../src/worker/own/reward.ts';
import { smallConfig } from '../../fakes/loop.ts';
import { makeTinyRun } from '../../fakes/tinyRun.ts';
import { sums, sumsPolicy, sumsTools, tinyTokenizer } from '../../fakes/tinyWorld.ts';

const SAMPLE = join(import.meta.dirname, '../../../media/sample/own');

/** A path that searches, computes and answers, and its sibling that gives up after the search. */
const TREE: Tree = {
  id: '1.0',
  step: 1,
  task: { id: 't', question: 'How many?', references: ['42'], ability: 'qa' },
  rule: 'paper',
  initial: 1,
  total: 2,
  segments: [
    { parent: -1, kind: 'prompt', start: 0, count: 1, text: 'system How many?', turn: 0 },
    { parent: 0, kind: 'model', start: 1, count: 1, text: '<search>six</search>', turn: 0, stop: 'call' },
    {
      parent: 1,
      kind: 'tool',
      start: 2,
      count: 1,
      text: ' <result>\n6\n</result>',
      turn: 1,
      call: { tool: 'search', argument: 'six', outcome: 'ok', latencyMs: 3, shared: false },
    },
    { parent: 2, kind: 'model', start: 3, count: 1, text: '<python>6 * 7</python>', turn: 1, stop: 'call' },
    {
      parent: 3,
      kind: 'tool',
      start: 4,
      count: 1,
      text: ' <result>\n42\n</result>',
      turn: 2,
      call: { tool: 'python', argument: '6 * 7', outcome: 'ok', latencyMs: 3, shared: false },
    },
    {
      parent: 4,
      kind: 'model',
      start: 5,
      count: 1,
      text: '<answer>\\boxed{42}</answer>',
      turn: 2,
      stop: 'answer',
    },
    { parent: 2, kind: 'model', start: 6, count: 1, text: 'I give up.', turn: 1, stop: 'answer' },
  ],
  paths: [
    { leaf: 5, origin: 'initial', calls: 2, stop: 'answer' },
    { leaf: 6, origin: 'branch', from: { path: 0, segment: 2 }, calls: 1, stop: 'answer' },
  ],
  decisions: [],
};

describe('reward of one’s own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-reward-'));
  after(() => rmSync(folder, { recursive: true }));
  let own: OwnReward | undefined;
  afterEach(async () => {
    await own?.close();
    own = undefined;
  });
  const open = async (custom: object): Promise<OwnReward> => {
    const { reward } = defaults();
    own = await openReward({ ...reward, custom: { ...reward.custom, folder, ...custom } });
    assert(own);
    return own;
  };
  const module = (name: string, body: string): { module: string } => {
    writeFileSync(join(folder, name), `export default async input => { ${body} };`);
    return { module: join(folder, name) };
  };

  it('is given question, references, response, segments and calls', () => {
    const { segments, calls, ...rest } = inputOf(TREE, 1);
    const response = '<search>six</search> <result>\n6\n</result>I give up.';
    assert.deepEqual(rest, { question: 'How many?', references: ['42'], ability: 'qa', response });
    assert.deepEqual(segments.map(({ kind }) => kind), ['model', 'tool', 'model']); // prettier-ignore
    assert.equal(segments.map(({ text }) => text).join(''), response);
    const result = ' <result>\n6\n</result>';
    assert.deepEqual(calls, [{ tool: 'search', argument: 'six', outcome: 'ok', result }]);
  });

  it('may leave out all but the total, and is told what is wrong with the rest', () => {
    assert.deepEqual(rewardFrom({ total: 0.25 }), {
      total: 0.25,
      parts: {},
      correct: true,
      reason: 'As reward.custom said.',
    });
    assert.equal(rewardFrom({ total: 0 }).correct, false);
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{}, /"total" must be a finite number, but is missing/],
      [{ total: '1' }, /"total" must be a finite number, but is "1"/],
      [{ total: null }, /"total" .* is null/],
      [{ total: 1, parts: { a: 'b' } }, /"parts" must be an object of finite numbers/],
      [{ total: 1, parts: [1] }, /"parts"/],
      [{ total: 1, correct: 1 }, /"correct" must be true or false, but is 1/],
      [{ total: 1, reason: 3 }, /"reason" must be a text/],
      [{ error: 'x' }, /It answered with an error: x\.$/],
    ];
    for (const [answer, message] of wrong) assert.throws(() => rewardFrom(answer), message);
  });

  it('scores as the sample shows it, in Python', async function () {
    try {
      execFileSync('python3', ['--version'], { stdio: 'ignore' });
    } catch {
      console.log('      skipped: there is no python3 here.');
      return this.skip();
    }
    await open({ command: ['python3', 'reward.py'], folder: SAMPLE });
    const tree = structuredClone(TREE);
    assert.deepEqual(await judgeAll(tree, defaults().reward, own), []);
    assert.deepEqual(tree.paths.map(({ reward }) => reward), [
      { total: 0.9, parts: { accuracy: 1, calls: -0.1 }, correct: true, answer: '42', reason: 'Right, with 1 more calls than one.' },
      { total: -1, parts: { format: -1 }, correct: false, reason: 'No boxed answer.' },
    ]); // prettier-ignore
  });

  it('loses what long answers lose', async () => {
    await open(module('one.mjs', 'return { total: 1 };'));
    const tree = structuredClone(TREE);
    await judgeAll(tree, { ...defaults().reward, overlong: { limit: 5, tokens: 4, penalty: 1 } }, own);
    assert.deepEqual(tree.paths.map(({ reward }) => reward?.total), [0, 0.5]); // prettier-ignore
  });

  it('is asked again where its program ended for once', async () => {
    const marker = join(folder, 'ended').replaceAll('\\', '/');
    const body = `
      const { existsSync, writeFileSync } = await import('node:fs');
      if (!input.probe && !existsSync('${marker}')) { writeFileSync('${marker}', ''); process.exit(1); }
      return { total: 3 };`;
    await open(module('once.mjs', body));
    const tree = structuredClone(TREE);
    assert.deepEqual(await judgeAll(tree, defaults().reward, own), []);
    assert.deepEqual(tree.paths.map(({ reward }) => reward?.total), [3, 3]); // prettier-ignore
  });

  it('leaves out of a step the trees that it fails on, which are told; the step goes on', async () => {
    const body = `if (input.question.includes('What is 12 ')) throw new Error('no twelve'); return { total: input.calls.length };`;
    const ownReward = await open(module('twelve.mjs', body));
    const config = smallConfig('arpo', ({ data }) => (data.shuffle = false));
    const told: Fact[] = [];
    const ground = { config, policy: sumsPolicy(), tokenizer: tinyTokenizer, tools: sumsTools(), ownReward };
    const dataset = { name: 'sums', tasks: sums(4), warnings: [] };
    const { grown } = await gather({ ...ground, dataset, tell: fact => told.push(fact) }, 1);
    assert.deepEqual(grown.map(({ tree }) => tree.task.id), ['sums#1', 'sums#3', 'sums#4']); // prettier-ignore
    for (const { tree } of grown)
      for (const { reward, calls } of tree.paths) assert.equal(reward?.total, calls);
    const failures = told.flatMap(fact => (fact.type === 'tree-failed' ? [fact.failure] : []));
    assert.equal(failures.length, 1);
    assert.equal(failures[0]?.where, 'reward');
    assert.match(
      failures[0]?.message ?? '',
      /^reward\.custom gave path 0 of tree 1\.1 no reward: Error: no twelve/,
    );
    assert.match(failures[0]?.fix ?? '', /twelve\.mjs/);
  });

  it('counts as wrong in an evaluation what it fails on, which is told once', async () => {
    const body = `if (input.question.includes('What is 12 ')) throw new Error('no twelve'); return { total: 1 };`;
    const ownReward = await open(module('eval.mjs', body));
    const warnings: string[] = [];
    const { summary, outcomes } = await evaluate({
      policies: [sumsPolicy()],
      tokenizer: tinyTokenizer,
      tools: sumsTools(),
      tasks: sums(4),
      samples: 2,
      greedy: true,
      config: smallConfig('arpo'),
      id: 'e',
      step: 0,
      dataset: 'sums',
      ownReward,
      warn: ({ message }) => warnings.push(message),
    });
    assert.equal(summary.accuracy, 0.75);
    assert.equal(
      outcomes[1]?.trajectories.every(({ reward, correct }) => reward === 0 && !correct),
      true,
    );
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0] ?? '',
      /^3 trajectories of the evaluation got no reward and count as wrong; the first: reward\.custom/,
    );
  });

  it('is what a whole run goes by, in training and in evaluation', async () => {
    const custom = module('calls.mjs', 'return { total: input.calls.length, correct: true };');
    const change = (config: Config): void => {
      Object.assign(config.reward.custom, custom);
    };
    const run = await makeTinyRun(join(folder, 'tiny'), { steps: 2, change });
    assert.equal(run.outcome, 'finished');
    const { events, tree } = openRun(run.folder);
    let paths = 0;
    for (const event of await events()) {
      if (event.type === 'evaluated') assert.equal(event.summary.accuracy, 1);
      if (event.type !== 'tree-finished') continue;
      const grown = await tree(event.tree);
      assert.deepEqual(
        event.rewards,
        grown?.paths.map(({ calls }) => calls),
      );
      paths += event.rewards.length;
    }
    assert.equal(paths, 2 * 4 * 6);
  });

  it('refuses at the start what gives no reward, with the key and the fix', async () => {
    const answering = /Let it answer \{"id": 1, "total"/;
    const cases: [object, RegExp, RegExp][] = [
      [module('none.mjs', 'return { score: 1 };'), /Its "total" must be a finite number/, answering],
      [module('throws.mjs', 'throw new Error("no luck");'), /no luck \(throws\.mjs:1:\d+\)\.$/, answering],
      [{ module: join(folder, 'missing.mjs') }, /ended with status 70.*missing\.mjs/s, answering],
      [{ command: ['no-such-program'] }, /cannot be started/, /^Correct its command or folder, or install/],
    ];
    for (const [custom, message, fix] of cases)
      await assert.rejects(open(custom), error => {
        assert(error instanceof FailureError);
        assert.equal(error.failure.where, 'config');
        assert.match(error.failure.message, /^reward\.custom: /);
        assert.match(error.failure.message, message);
        assert.match(error.failure.fix ?? '', fix);
        return true;
      });
    assert.equal(await openReward(defaults().reward), undefined);
  });

  it('is asked for at most eight trajectories at once', async () => {
    const body = `
      globalThis.now = (globalThis.now ?? 0) + 1;
      globalThis.most = Math.max(globalThis.most ?? 0, globalThis.now);
      await new Promise(done => setTimeout(done, 20));
      globalThis.now--;
      return { total: globalThis.most };`;
    const reward = await open(module('most.mjs', body));
    const totals = await Promise.all(Array.from({ length: 40 }, () => reward.ask(TREE, 0)));
    assert.equal(Math.max(...totals.map(({ total }) => total)), 8);
  });

  it('may give a total alone: a run has no claim broken by it, nor by parts of other kinds', async function () {
    this.timeout(30_000);
    const warned = async (name: string, body: string): Promise<string[]> => {
      const custom = module(name, body);
      const { folder: run } = await makeTinyRun(join(folder, 'runs'), {
        steps: 1,
        change: ({ reward }) => Object.assign(reward.custom, custom),
      });
      const events = await openRun(run).events();
      return events.flatMap(event => (event.type === 'warned' ? event.failure.message : []));
    };
    assert.deepEqual(await warned('total.mjs', 'return { total: input.calls.length / 4 };'), []);
    assert.deepEqual(await warned('bleu.mjs', 'return { total: 0.5, parts: { bleu: 32 } };'), []);
  });

  it('is recorded by its hash, which changes with its file', async () => {
    const file = join(folder, 'mine.py');
    const hashes = async (text: string): Promise<Record<string, string>> => {
      writeFileSync(file, text);
      const config = { ...defaults(), runs: join(folder, 'runs') };
      Object.assign(config.policy, { path: file });
      Object.assign(config.data, { train: file });
      const custom = { tag: 'roll', ...module('roll.mjs', 'return {};'), command: [], folder };
      config.tools = { ...config.tools, custom: [custom] };
      config.reward = {
        ...config.reward,
        custom: { ...config.reward.custom, command: ['python3', 'mine.py'], folder },
      };
      const run = await createRun({ config, file, text: '{}', versions: {} });
      const stored = JSON.parse(readFileSync(join(run.folder, 'run.json'), 'utf8')) as {
        hashes: Record<string, string>;
      };
      return stored.hashes;
    };
    const [first, second] = [await hashes('print(1)'), await hashes('print(2)')];
    assert.deepEqual(Object.keys(first).sort(), ['policy', 'reward', 'tool:roll', 'train']);
    assert.match(first.reward ?? '', /^[0-9a-f]{64}$/);
    assert.notEqual(first.reward, second.reward);
    assert.equal(first['tool:roll'], second['tool:roll']);
  });
});

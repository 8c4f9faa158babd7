import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { Config } from '../../src/core/config.ts';
import { isIdentical } from '../../src/core/replay.ts';
import { causeLines, pathVerdict } from '../../src/core/replayText.ts';
import { openRun, type Run } from '../../src/run/reader.ts';
import { grownOf, grownText } from '../../src/run/trees.ts';
import type { Equipment } from '../../src/worker/equipment.ts';
import { replay, type ReplayRequest } from '../../src/worker/replay.ts';
import { work } from '../../src/worker/session.ts';
import type { ToolPool } from '../../src/worker/tools/tool.ts';
import { runCommand } from '../fakes/commandLine.ts';
import { scriptedPolicy } from '../fakes/scriptedPolicy.ts';
import { createTinyRun, makeTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';
import { sumsScript, sumsTools } from '../fakes/tinyWorld.ts';

describe('replay', () => {
  let parent: string;
  let run: Run;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'replay-'));
    const { folder } = await makeTinyRun(parent, { steps: 3, change: everyStepSaved });
    run = openRun(folder);
  });
  after(() => rmSync(parent, { recursive: true }));

  const ask = (request: Partial<ReplayRequest> = {}, equipment = tinyEquipment(), of = run) =>
    replay(of, equipment, {
      step: 2,
      tools: 'stored',
      progress: () => undefined,
      signal: new AbortController().signal,
      ...request,
    });
  const withTools = (answer: (tag: string, argument: string) => string): Equipment => ({
    ...tinyEquipment(),
    openTools: () => Promise.resolve(answering(answer)),
  });
  const noTools: Equipment = {
    ...tinyEquipment(),
    openTools: () => Promise.reject(new Error('No tool may be opened.')),
  };
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(run.folder, { recursive: true, withFileTypes: true }).flatMap(entry => {
        const at = join(entry.parentPath, entry.name);
        return entry.isFile() ? [[at, readFileSync(at, 'base64')]] : [];
      }),
    );

  it('draws every tree of every step again token for token, from stored answers alone, and writes nothing', async () => {
    const filesBefore = files();
    for (const [step, checkpoint] of [
      [1, 'initial'],
      [2, 'step-000001'],
      [3, 'step-000002'],
    ] as const) {
      const { trees, weights, answers, grown } = await ask({ step }, noTools);
      assert.equal(weights.checkpoint, checkpoint);
      assert.equal(trees.length, 4);
      assert.ok(answers.stored > 0);
      assert.equal(answers.live, 0);
      for (const [i, tree] of trees.entries()) {
        assert.ok(isIdentical(tree), JSON.stringify(tree));
        assert.equal(tree.decisions.same, tree.decisions.stored);
        assert.ok(
          tree.paths.every(({ compared, largestDifference }) => compared > 0 && largestDifference === 0),
        );
        assert.deepEqual(grown[i]!.columns.ids, (await run.columns(tree.tree)).ids);
      }
    }
    assert.deepEqual(files(), filesBefore);
  });

  it('draws one tree without the others of its step', async () => {
    const { trees } = await ask({ tree: '2.3' });
    assert.deepEqual(
      trees.map(({ tree, paths }) => [tree, paths.length]),
      [['2.3', 6]],
    );
    assert.ok(isIdentical(trees[0]!));
    await assert.rejects(ask({ tree: '2.9' }), /has no tree 2\.9 in step 2/);
  });

  it('calls the tools anew where it is told to, and finds the same where they answer the same', async () => {
    const { trees, answers } = await ask({ tools: 'live' });
    assert.ok(trees.every(isIdentical));
    assert.equal(answers.stored, 0);
    assert.ok(answers.live > 0);
  });

  it('says at which token a trajectory diverged because a tool answers differently, with both answers', async () => {
    const { trees } = await ask(
      { tools: 'live' },
      withTools(tag => `${tag} says 7`),
    );
    const tree = trees.find(({ paths }) => paths.some(({ cause }) => cause?.kind === 'tool'))!;
    const path = tree.paths.find(({ cause }) => cause?.kind === 'tool')!;
    const stored = await run.tree(tree.tree);
    const { segment, token, tokenOfSegment, turn } = path.parting!;
    const result = stored.segments[segment]!;
    assert.equal(result.kind, 'tool');
    assert.equal(turn, 1);
    // Both begin by the tag of a result.
    assert.equal(tokenOfSegment, ' <result>\n'.length);
    assert.equal(token, path.shared);
    assert.ok(path.cause?.kind === 'tool');
    assert.equal(path.cause.again.text, `${path.cause.tool} says 7`);
    assert.ok(result.text.includes(path.cause.stored.text));
    assert.match(
      pathVerdict(path),
      /^diverged at token 10 of the result after turn 1 \(token \d+ of the trajectory\)/,
    );
    assert.match(
      causeLines(path).join('\n'),
      /stored \(\w+\): "[^]*replay \(ok\): "\w+ says 7"[^]*equal to the bit/,
    );
  });

  it('answers what the stored tree did not ask by the tools, and says how often', async () => {
    // Other weights ask other things.
    const other: Equipment = {
      ...tinyEquipment(),
      openPolicy: async settings => {
        const policy = scriptedPolicy(async (said, request) => {
          const turn = await sumsScript(said, request);
          return { ...turn, text: turn.text.replace('sum of', 'total of') };
        });
        return { policy, info: await policy.open(settings) };
      },
    };
    const { trees, answers } = await ask({ step: 1 }, other);
    assert.ok(answers.live > 0);
    const sampled = trees.flatMap(({ paths }) => paths).find(({ cause }) => cause?.kind === 'sampler')!;
    assert.ok(sampled.cause?.kind === 'sampler' && sampled.cause.stored.logProb! < 0);
    assert.ok(sampled.parting!.stored.startsWith('sum of'));
    assert.ok(sampled.parting!.again.startsWith('total of'));
    assert.ok(sampled.parting!.before.endsWith('<search>'));
    assert.match(pathVerdict(sampled), /of turn \d .*the policy drew another token/);
    // Where the tools cannot be opened the policy reads so, and the rest is drawn all the same.
    const unanswered = await ask({ step: 1 }, { ...other, openTools: noTools.openTools });
    assert.equal(unanswered.trees.length, trees.length);
  });

  it('asks the tools themselves where they are to answer anew, and no cache of other runs’ answers', async () => {
    const { folder } = await makeTinyRun(join(parent, 'cached'), {
      steps: 1,
      change: ({ tools }) => Object.assign(tools, { cache: join(parent, 'cache.sqlite') }),
    });
    const opened: string[] = [];
    const equipment: Equipment = {
      ...tinyEquipment(),
      openTools: ({ tools }) => (opened.push(tools.cache), Promise.resolve(sumsTools())),
    };
    await ask({ step: 1, tools: 'live' }, equipment, openRun(folder));
    assert.deepEqual(opened, ['']);
  });

  it('names a corpus that has changed, or is gone, where tools were asked', async () => {
    const corpus = join(parent, 'corpus.jsonl');
    writeFileSync(corpus, '{}\n');
    const { folder } = await makeTinyRun(parent, {
      steps: 1,
      change: config => void (config.tools.search.corpus = corpus),
    });
    const changed = async (tools: 'stored' | 'live'): Promise<string[]> =>
      (await ask({ step: 1, tools }, tinyEquipment(), openRun(folder))).changed;
    assert.deepEqual(await changed('live'), []);
    writeFileSync(corpus, '{"other": 1}\n');
    assert.deepEqual(await changed('stored'), []);
    assert.deepEqual(await changed('live'), [`${corpus} is not what it was when the run began`]);
    rmSync(corpus);
    assert.match((await changed('live'))[0]!, /corpus\.jsonl cannot be read/);
  });

  it('gives each call the answer that it had, also where the same call was answered differently', async () => {
    let calls = 0;
    const moody = withTools(() => `answer ${++calls}`);
    const folder = await createTinyRun(parent, { steps: 1 });
    await work(folder, moody, () => ({ tell: () => undefined }));
    const { trees, answers } = await ask({ step: 1 }, noTools, openRun(folder));
    assert.ok(answers.stored > 2);
    assert.ok(trees.every(isIdentical));
    const { trees: anew } = await ask({ step: 1, tools: 'live' }, moody, openRun(folder));
    assert.equal(anew.every(isIdentical), false);
  });

  it('keeps the tokens of results that were cut, and the split that a probe decided', async () => {
    const change = (config: Config): void => {
      everyStepSaved(config);
      config.algorithm.budget = 'paper';
      config.rollout.maxResponseTokens = 160;
    };
    const folder = await createTinyRun(parent, { steps: 1, change });
    const long = withTools((_, argument) => `${argument} `.repeat(12));
    await work(folder, long, () => ({ tell: () => undefined }));
    const one = openRun(folder);
    const stored = await Promise.all((await one.trees()).map(({ id }) => one.tree(id)));
    assert.ok(
      stored.some(({ segments }) => segments.some(({ call, text }) => call && !text.endsWith('</result>'))),
    );
    assert.ok(stored.every(({ probe }) => probe !== undefined));
    const { trees, grown } = await ask({ step: 1 }, noTools, one);
    assert.ok(trees.every(isIdentical), JSON.stringify(trees));
    assert.deepEqual(
      grown.map(({ tree }) => tree.segments.map(({ text }) => text)),
      stored.map(({ segments }) => segments.map(({ text }) => text)),
    );
  });

  it('names the steps that can be drawn again where a step’s weights were not kept', async () => {
    const { folder } = await makeTinyRun(parent, { steps: 3 });
    await assert.rejects(
      ask({ step: 2 }, tinyEquipment(), openRun(folder)),
      /those after step 1, were not kept\. Steps that can be drawn again: 1, 3\./,
    );
    rmSync(join(run.folder, 'checkpoints/step-000002/model.safetensors'));
    await assert.rejects(ask({ step: 3 }), /step-000002: model\.safetensors has no bytes/);
    rmSync(join(run.folder, 'checkpoints/step-000002'), { recursive: true });
    await assert.rejects(ask({ step: 3 }), /Steps that can be drawn again: 1-2\./);
    await assert.rejects(ask({ step: 9 }), /has no trees of step 9/);
    const { path } = run.manifest.config.policy;
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, '{"other": 1}\n');
    await assert.rejects(ask({ step: 1 }), /is not the one that the run began with/);
    writeFileSync(path, text);
  });

  it('says how far it is, and can be called off', async () => {
    const said: string[] = [];
    await ask({ tree: '2.0', progress: words => said.push(words) });
    assert.deepEqual([said[0], said.at(-1)], ['opening step-000001', 'drawing: 6 of 6 trajectories ended']);
    const ending = new AbortController();
    const progress = (words: string): void => (words.startsWith('drawing') ? ending.abort() : undefined);
    await assert.rejects(ask({ signal: ending.signal, progress }), /called off/);
  });

  it('hands drawn trees over as text and takes them back as they were', async () => {
    const [one] = (await ask({ tree: '2.0' })).grown;
    const { tree, columns } = grownOf(JSON.parse(JSON.stringify(grownText(one!))), 'A tree');
    assert.deepEqual(columns, one!.columns);
    assert.deepEqual({ ...tree, tokens: undefined }, { ...one!.tree, tokens: undefined });
    const text = grownText(one!);
    for (const [broken, message] of [
      [{ ...text, tree: { ...tree, paths: 3 } }, /^A tree\.tree\.paths should be a list/],
      [{ ...text, columns: text.columns.slice(0, -8) }, /^A tree: there are \d+ of \d+ bytes/],
      [{ ...text, columns: text.columns.slice(0, 8) }, /^A tree: there are 6 of \d+ bytes/],
    ] as const)
      assert.throws(() => grownOf(broken, 'A tree'), { name: 'FailureError', message });
  });

  it('says on the command line what is missing or does not belong together', async () => {
    const said = async (...argv: string[]): Promise<string> => {
      const { code, err } = await runCommand('replay', run.folder, ...argv);
      assert.equal(code, 2);
      return err;
    };
    assert.match(await said(), /--step or --tree is needed/);
    assert.match(await said('--tree', '1'), /--tree 1 needs --step/);
    assert.match(await said('--tree', 'x'), /--tree must be the id of a tree/);
    assert.match(await said('--tree', '2.0', '--step', '3'), /Tree 2\.0 is not of step 3/);
    assert.match(await said('--step', '2', '--tools', 'none'), /--tools must be stored or live/);
  });
});

const everyStepSaved = (config: Config): void =>
  void Object.assign(config.checkpoint, { every: 1, keepEvery: 1 });

const answering = (answer: (tag: string, argument: string) => string): ToolPool => ({
  ...sumsTools(),
  call: (tag, argument) =>
    Promise.resolve({ outcome: 'ok', text: answer(tag, argument), latencyMs: 1, shared: false }),
});

/** The sample: real places, honest splits, tool text as the live tools give it, demonstrations that teach what they should. */
import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { after, before, describe, it } from 'mocha';
import {
  demonstrate,
  type Demonstration,
  type DemonstrationWorld,
} from '../../media/sample/make/demonstrations.ts';
import { draws } from '../../media/sample/make/draws.ts';
import { ask, type Question } from '../../media/sample/make/questions.ts';
import { demonstrationWorld } from '../../media/sample/make/tools.ts';
import { documents, makeWorld, type World } from '../../media/sample/make/world.ts';
import { fold } from '../../src/core/fold.ts';
import { judge } from '../../src/core/reward.ts';
import type { Reward, Segment, Tree } from '../../src/core/types.ts';
import { loadConfig } from '../../src/run/configFile.ts';
import { hashesOf } from '../../src/run/create.ts';
import { mapPaths } from '../../src/run/manifest.ts';
import { openRun } from '../../src/run/reader.ts';
import { readModelTensors } from '../../src/run/safetensors.ts';
import { openDataset, type Dataset } from '../../src/worker/dataset.ts';
import { checkWeights, parameterCount, readShape } from '../../src/core/modelShape.ts';
import { rowOf } from '../../src/worker/sft.ts';
import { openTokenizer, type Tokenizer } from '../../src/worker/tokenizer.ts';
import { searchIndex, type SearchIndex } from '../../src/worker/tools/search.ts';

const SAMPLE = join(import.meta.dirname, '../../media/sample');
const corpus = join(SAMPLE, 'corpus.jsonl');
const KINDS = ['capital', 'capital-population', 'currency', 'difference', 'population', 'product', 'sum'];

/** A demonstration as the trajectory that it would have been. */
function treeOf({ question, pieces }: Demonstration): Tree {
  const segments: Segment[] = [{ parent: -1, kind: 'prompt', start: 0, count: 0, text: '', turn: 0 }];
  let turn = '';
  const add = (kind: 'model' | 'tool', text: string, rest: Partial<Segment>): void => {
    segments.push({ parent: segments.length - 1, kind, start: 0, count: 0, text, turn: 0, ...rest });
  };
  for (const { text, trained } of pieces) {
    if (trained) turn += text;
    else {
      const tool = turn.endsWith('</search>') ? 'search' : 'python';
      add('model', turn, { stop: 'call' });
      add('tool', text, { call: { tool, argument: '', outcome: 'ok', latencyMs: 0, shared: false } });
      turn = '';
    }
  }
  add('model', turn, { stop: 'answer' });
  const calls = segments.filter(({ kind }) => kind === 'tool').length;
  return {
    id: '1.0',
    step: 1,
    task: { id: '', question: question.text, references: [question.answer], ability: question.kind },
    rule: 'paper',
    initial: 1,
    total: 1,
    segments,
    paths: [{ leaf: segments.length - 1, origin: 'initial', calls, stop: 'answer' }],
    decisions: [],
  };
}

const rewardOf = (demonstration: Demonstration): Reward =>
  judge(treeOf(demonstration), 0, { accuracy: 'auto', formatPenalty: -1, multiToolBonus: 0.1 });

describe('the sample', () => {
  let world: World;
  let tools: DemonstrationWorld;
  let index: SearchIndex;
  let tokenizer: Tokenizer;
  let training: Dataset;
  let heldOut: Dataset;

  before(async () => {
    world = makeWorld();
    tools = demonstrationWorld(world, corpus);
    index = searchIndex({ corpus, results: 2, resultCharacters: 200 });
    tokenizer = await openTokenizer(join(SAMPLE, 'policy'));
    training = await openDataset(join(SAMPLE, 'tasks/train.parquet'));
    heldOut = await openDataset(join(SAMPLE, 'tasks/held-out.parquet'));
  });
  after(() => index.close());

  function* demonstrations(goodShare: number, count: number): Generator<Demonstration> {
    const stream = draws('test', goodShare);
    for (let n = 0; n < count; n++)
      yield demonstrate(stream, tools, ask(stream, world, world.training), goodShare);
  }

  it('has 3,000 training tasks and 300 held-out tasks of seven kinds, one message each', () => {
    assert.deepEqual([training.tasks.length, heldOut.tasks.length], [3000, 300]);
    for (const { tasks } of [training, heldOut]) {
      assert.deepEqual([...new Set(tasks.map(({ ability }) => ability))].sort(), KINDS);
      assert.ok(tasks.every(({ messages }) => messages.length === 1 && messages[0]!.role === 'user'));
    }
  });

  it('asks held-out tasks about places that no training task is about', () => {
    const questions = new Set(training.tasks.map(({ messages }) => messages[0]!.content));
    assert.ok(heldOut.tasks.every(({ messages }) => !questions.has(messages[0]!.content)));
    const namesOf = ({ cities, countries }: World['training']): string[] =>
      [...cities, ...countries].map(({ name }) => name);
    const trainingNames = new Set(namesOf(world.training));
    assert.ok(namesOf(world.heldOut).every(name => !trainingNames.has(name)));
    const stream = draws('held out');
    const names = new Set(namesOf(world.heldOut));
    for (let n = 0; n < 500; n++)
      for (const { name } of ask(stream, world, world.heldOut).lookUps) assert.ok(names.has(name), name);
  });

  it('has one document about every place of the world', async () => {
    const lines = documents(world).map(document => JSON.stringify(document) + '\n');
    assert.equal(await readFile(corpus, 'utf8'), lines.join(''));
    assert.equal(lines.length, 3607);
  });

  it('finds what a question needs in the first result of every query that demonstrations write', () => {
    const stream = draws('queries');
    for (let n = 0; n < 500; n++) {
      const question: Question = ask(stream, world, n % 2 ? world.training : world.heldOut);
      for (const { name, about } of question.lookUps)
        for (const query of [name, `${about} of ${name}`])
          assert.ok(
            index.search(query).text.startsWith(`Page 1: ${name}: `),
            `${query}: ${index.search(query).text}`,
          );
    }
  });

  it('gives the demonstrations’ tools the text of the live ones', () => {
    for (const { pieces } of demonstrations(0.5, 50))
      pieces.forEach(({ text, trained }, i) => {
        const query = /<search> (.*)<\/search>$/.exec(pieces[i - 1]?.text ?? '')?.[1];
        if (!trained && query !== undefined)
          assert.equal(text, ` <result>\n${index.search(query).text}\n</result>`);
      });
  });

  it('rewards every good demonstration in full, with the bonus where two tools were needed', () => {
    for (const demonstration of demonstrations(1, 300)) {
      const { total, reason } = rewardOf(demonstration);
      const both = ['sum', 'difference'].includes(demonstration.question.kind);
      assert.equal(total, both ? 1.1 : 1, `${demonstration.question.text} ${reason}`);
    }
  });

  it('has poor demonstrations that are well formed and mostly wrong', () => {
    const rewards = [...demonstrations(0, 1000)].map(rewardOf);
    assert.ok(rewards.every(({ total }) => total >= 0));
    // One poor demonstration in about thirty looks up after all, and is right.
    const right = rewards.filter(({ correct }) => correct).length;
    assert.ok(right > 20 && right < 150, `${right} of 1,000 are right`);
  });

  it('fits its demonstrations into the trajectory’s tokens, with the tools’ text masked', () => {
    for (const { question, pieces } of demonstrations(0.5, 300)) {
      const messages = [{ role: 'user', content: question.text }] as const;
      const { ids, weights } = rowOf(tokenizer, { messages, pieces });
      const prompt = tokenizer.encodePrompt(messages).length;
      assert.ok(prompt <= 64 && ids.length - prompt <= 220, `${prompt} and ${ids.length} tokens`);
      const trained = tokenizer.decode(Array.from(ids).filter((_, i) => weights[i] === 1));
      const written = pieces.filter(piece => piece.trained).map(({ text }) => text);
      assert.equal(trained, written.join('') + '<|end|>');
    }
  });

  it('spells a name with the same pieces in question, query, result and answer, and numbers digit by digit', () => {
    const contains = (text: string, part: ArrayLike<number>): boolean =>
      `,${tokenizer.encode(text).join()},`.includes(`,${Array.from(part).join()},`);
    for (const { name } of [...world.training.cities.slice(0, 200), ...world.heldOut.countries]) {
      const pieces = tokenizer.encode(` ${name}`);
      for (const text of [
        ` How many people live in ${name} and`,
        ` capital of ${name}?`,
        `\nPage 2: ${name}: city`,
        `{ ${name} }`,
      ])
        assert.ok(contains(text, pieces), text);
    }
    assert.equal(tokenizer.encode('1234567').length, 7);
    assert.deepEqual(tokenizer.decode(tokenizer.encode('Mazār-e Sharīf, 漢字')), 'Mazār-e Sharīf, 漢字');
    assert.equal(
      tokenizer.encode('<think></think><search></search><python></python><result></result><answer>\\boxed{')
        .length,
      10,
    );
  });

  it('renders the prompt without a system message, and ends with the assistant’s turn', () => {
    assert.equal(tokenizer.vocabularySize, 1024);
    const prompt = tokenizer.encodePrompt([{ role: 'user', content: 'What is 2 * 3?' }]);
    assert.equal(tokenizer.decode(prompt), '<|user|> What is 2 * 3?<|assistant|>');
    assert.deepEqual(tokenizer.endIds, [3]);
  });

  it('has a policy of at most 10 MB whose shape the engine takes', async () => {
    const folder = join(SAMPLE, 'policy');
    assert.ok((await stat(join(folder, 'model.safetensors'))).size <= 10e6);
    const shape = readShape(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')));
    const { tensors } = await readModelTensors(folder);
    checkWeights(shape, new Map([...tensors].map(([name, { data }]) => [name, data])));
    assert.equal(parameterCount(shape), 869_760);
  });

  it('has a configuration that is valid and names files that are there', async () => {
    const { config } = loadConfig(join(SAMPLE, 'sample.branchpoint.json'));
    assert.deepEqual([config.steps, config.rollout.tasksPerStep, config.rollout.groupSize], [40, 8, 8]);
    for (const path of [
      config.policy.path,
      config.data.train,
      config.data.heldOut,
      config.tools.search.corpus,
    ])
      assert.ok((await stat(path)).size > 0);
  });

  it('has a recorded run of the policy, the tasks and the corpus that come with it', async () => {
    const { config, hashes } = openRun(join(SAMPLE, 'run')).manifest;
    // It names them from where it stands once the sample is opened: in a folder of runs.
    const here = mapPaths(config, path => join(SAMPLE, relative(join(SAMPLE, '..'), path)));
    assert.deepEqual(await hashesOf(here), hashes);
  });

  it('has a recorded run of at most 3.5 MB that learned, with every tree readable', async () => {
    const folder = join(SAMPLE, 'run');
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      files.filter(file => file.isFile()).map(file => stat(join(file.parentPath, file.name))),
    );
    assert.ok(sizes.reduce((sum, { size }) => sum + size, 0) <= 3.5e6);
    const run = openRun(folder);
    const state = fold(await run.events());
    assert.deepEqual([state.status, state.summaries.length], ['finished', 18]);
    const [before, after] = state.evaluations.map(({ summary }) => summary.accuracy);
    assert.ok(after! - before! > 0.25, `${before} became ${after}`);
    const trees = await run.trees();
    assert.equal(trees.length, 72);
    for (const { id } of trees) assert.equal((await run.tree(id)).paths.length, 8);
  });

  it('has a recorded run that names no place of the machine that made it', async () => {
    const folder = join(SAMPLE, 'run');
    for (const { id } of fold(await openRun(folder).events()).evaluations.map(({ summary }) => summary)) {
      const stored = JSON.parse(await readFile(join(folder, 'evaluations', `${id}.json`), 'utf8')) as {
        provenance: { weights: { folder: string }; dataset: { path: string } };
      };
      const { weights, dataset } = stored.provenance;
      assert.deepEqual([isAbsolute(weights.folder), isAbsolute(dataset.path)], [false, false]);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Fact } from '../../src/core/events.ts';
import { FailureError } from '../../src/core/types.ts';
import { furtherTasks, takeTasks, type Dataset } from '../../src/worker/dataset.ts';
import { gather } from '../../src/worker/gather.ts';
import { END } from '../fakes/characters.ts';
import { smallConfig } from '../fakes/loop.ts';
import { scriptedPolicy, type Script } from '../fakes/scriptedPolicy.ts';
import { sums, sumsTools, tinyTokenizer } from '../fakes/tinyWorld.ts';

const dataset = (count: number): Dataset => ({ name: 'sums', tasks: sums(count), warnings: [] });
const config = smallConfig('dapo');
const flat: Script = () => ({ text: `<think>a</think>${END}` });

async function gathered(script: Script, tasks: Dataset) {
  const told: Fact[] = [];
  const ground = { policy: scriptedPolicy(script), tools: sumsTools(), tokenizer: tinyTokenizer, config };
  const tell = (fact: Fact): void => void told.push(fact);
  return { ...(await gather({ ...ground, dataset: tasks, tell }, 1)), told };
}

describe('gather', () => {
  it('takes further tasks beside those of the step, none twice, by seed and step only', () => {
    const further = (step: number, taken: number, count: number, seed = 1) =>
      furtherTasks(dataset(40), { ...config, seed }, step, { taken, count }).map(({ id }) => id);
    const first = takeTasks(dataset(40), config, 3).map(({ id }) => id);
    const all = [...further(3, 0, 5), ...further(3, 5, 31)];
    assert.equal(new Set([...first, ...all]).size, 40);
    assert.deepEqual(further(3, 0, 36), all);
    assert.deepEqual(further(3, 36, 4), []);
    assert.notDeepEqual(further(4, 0, 5), further(3, 0, 5));
    assert.notDeepEqual(further(3, 0, 5, 2), further(3, 0, 5));
  });

  it('ends its rounds where the dataset has no further task', async () => {
    const { grown, kept, filter, told } = await gathered(flat, dataset(5));
    assert.deepEqual(filter, { rounds: 1, kept: 0, dropped: 5 });
    assert.deepEqual([grown.length, kept.length], [5, 0]);
    assert.equal(told.filter(({ type }) => type === 'tasks-added').length, 1);
  });

  it('asks for as many further tasks as groups are missing', async () => {
    // Trees 0 and 1 have variance, and so has the first of the further ones, 4.
    const script: Script = (said, request) => {
      const [, tree = '', path = ''] = /^1\.(\d+)\/(\d+)\//.exec(request.key) ?? [];
      const isRight = ['0', '1', '4'].includes(tree) && path === '0';
      const [, a, b] = /What is (\d+) \+ (\d+)\?/.exec(said) ?? [];
      const value = isRight ? Number(a) + Number(b) : 0;
      return { text: `<think>a</think><answer>\\boxed{${value}}</answer>${END}` };
    };
    const { grown, kept, filter, told } = await gathered(script, dataset(40));
    assert.deepEqual(filter, { rounds: 3, kept: 3, dropped: 5 });
    assert.deepEqual(
      kept.map(({ tree }) => tree.id),
      ['1.0', '1.1', '1.4'],
    );
    assert.deepEqual(
      told.flatMap(fact => (fact.type === 'tasks-added' ? [[fact.round, fact.tasks.length]] : [])),
      [
        [1, 2],
        [2, 1],
        [3, 1],
      ],
    );
    assert.equal(grown.length, 8);
  });

  it('tells a tree that fails among the further ones, and goes on without it', async () => {
    const script: Script = (said, request) => {
      if (request.key.startsWith('1.4/')) throw new Error('The sampler ran dry.');
      return flat(said, request);
    };
    const { grown, told } = await gathered(script, dataset(40));
    assert.deepEqual(
      told.flatMap(fact => (fact.type === 'tree-failed' ? [[fact.tree, fact.failure.message]] : [])),
      [['1.4', 'The sampler ran dry.']],
    );
    assert.equal(grown.length, 4 + 3 * 4 - 1);
  });

  it('attributes to the policy what its process calls a bug, and ends by bugs of its own', async () => {
    const engine: Script = (said, request) => {
      if (request.key.startsWith('1.1/'))
        throw new FailureError({ where: 'bug', message: 'The engine broke.' });
      return flat(said, request);
    };
    const { told } = await gathered(engine, dataset(4));
    assert.deepEqual(
      told.flatMap(fact => (fact.type === 'tree-failed' ? [fact.failure] : [])),
      [{ where: 'policy', message: 'The engine broke.' }],
    );
    const ground = { policy: scriptedPolicy(flat), tools: sumsTools(), config, dataset: dataset(4) };
    const tokenizer = {
      ...tinyTokenizer,
      decode: () => {
        throw new Error('an invariant broke');
      },
    };
    const facts: string[] = [];
    const tell = ({ type }: Fact): void => void facts.push(type);
    await assert.rejects(gather({ ...ground, tokenizer, tell }, 1), /an invariant broke/);
    assert.ok(!facts.includes('tree-failed'));
  });
});

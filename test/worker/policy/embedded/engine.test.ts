import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { after, afterEach, before, describe, it } from 'mocha';
import type { Batch } from '../../../../src/core/batch.ts';
import type { ObjectiveSettings } from '../../../../src/core/objective.ts';
import type { FailureError } from '../../../../src/core/types.ts';
import { openEmbedded, type EmbeddedPolicy } from '../../../../src/worker/policy/embedded/client.ts';
import { createEngine } from '../../../../src/worker/policy/embedded/engine.ts';
import type {
  OpenSettings,
  Policy,
  Sample,
  SampleRequest,
  StepSettings,
} from '../../../../src/worker/policy/policy.ts';
import { openTokenizer, type Tokenizer } from '../../../../src/worker/tokenizer.ts';
import { makeTinyModel, TINY_VOCABULARY } from '../../../fakes/tinyModel.ts';
import { packPieces } from './fixtures.ts';

const objective: ObjectiveSettings = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  klWeight: 0,
  entropyWeight: 0.01,
};
const step: StepSettings = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.1,
  maxGradientNorm: 1,
};

describe('the embedded engine', () => {
  let root = '';
  let model = '';
  let tokenizer: Tokenizer;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'engine-'));
    model = await makeTinyModel(join(root, 'model'), { architecture: 'qwen3', seed: 4 });
    tokenizer = await openTokenizer(model);
  });
  after(() => rm(root, { recursive: true }));

  const settings = (rest: Partial<OpenSettings> = {}): OpenSettings => ({
    ...{ folder: model, device: 'cpu', threads: 1, maxPathTokens: 300, pieces: tokenizer.pieces },
    ...{ stops: ['</python>'], endIds: tokenizer.endIds, trainable: true, memoryLimitBytes: 1e9 },
    ...rest,
  });
  const opened = async (rest: Partial<OpenSettings> = {}): Promise<Policy> => {
    const policy = createEngine();
    await policy.open(settings(rest));
    return policy;
  };
  const prompt = (): Int32Array => tokenizer.encodePrompt([{ role: 'user', content: 'What is 12 + 3?' }]);
  const request = (rest: Partial<SampleRequest> = {}): SampleRequest => ({
    ...{ path: [{ key: 'p', ids: prompt() }], key: 's', maxTokens: 40, temperature: 1, stream: 11 },
    ...{ streamOffset: 0, topLogProbs: 0 },
    ...rest,
  });
  const batch = (seed: number): Batch => {
    const said = tokenizer.encode(`the answer is ${seed}`);
    const terms = [...said].map(() => [{ advantage: seed % 2 ? 1 : -0.5, weight: 1 / said.length }]);
    return {
      trees: [
        packPieces([
          { parent: -1, ids: [...prompt()] },
          { parent: 0, ids: [...said], terms },
        ]),
      ],
      temperature: 1,
    };
  };
  const learn = async (policy: Policy, seed: number): Promise<void> => {
    await policy.accumulate(batch(seed), objective);
    assert.ok((await policy.step(step)).applied);
  };
  const bits = ({ ids, logProbs, entropies }: Sample): string[] =>
    [ids, logProbs, entropies].map(array =>
      Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex'),
    );
  const folder = async (name: string): Promise<string> => {
    await mkdir(join(root, name), { recursive: true });
    return join(root, name);
  };

  it('says what it opened', async () => {
    const policy = createEngine();
    const info = await policy.open(settings());
    assert.deepEqual(
      [info.architecture, info.vocabularySize, info.contextLength, info.device],
      ['qwen3', TINY_VOCABULARY, 512, 'cpu'],
    );
    assert.match(info.weightsHash, /^[0-9a-f]{64}$/);
    assert.equal(info.parameters, 24800);
    await assert.rejects(policy.open(settings()), /open already/);
    await policy.close();
    await assert.rejects(policy.sample(request()), /not open/);
  });

  it('refuses settings that do not fit the model, and says what to do', async () => {
    const refused = (rest: Partial<OpenSettings>, message: RegExp): Promise<void> =>
      assert.rejects(opened(rest), { message });
    await refused({ device: 'webgpu' }, /webgpu/);
    await refused({ maxPathTokens: 513 }, /context length is 512/);
    await refused({ folder: join(root, 'nowhere') }, /config\.json/);
    const larger = { offsets: new Uint32Array(TINY_VOCABULARY + 2), bytes: new Uint8Array() };
    await refused({ pieces: larger }, /tokenizer knows 290 tokens, but the model only 289/);
    const noTraining = await opened({ trainable: false });
    await assert.rejects(noTraining.accumulate(batch(1), objective), /scoring only/);
    await noTraining.close();
  });

  it('samples and scores with the same weights, before and after a step', async () => {
    const policy = await opened();
    for (const round of [0, 1, 2]) {
      const sample = await policy.sample(request());
      const tree = packPieces([{ parent: -1, ids: [...prompt(), ...sample.ids] }]);
      const [scores] = await policy.score([tree], 1);
      sample.ids.forEach((_, i) => {
        assert.ok(
          Math.abs(scores!.logProbs[prompt().length + i]! - sample.logProbs[i]!) < 1e-4,
          `round ${round}`,
        );
        assert.ok(Math.abs(scores!.entropies[prompt().length + i]! - sample.entropies[i]!) < 1e-4);
      });
      await learn(policy, round);
    }
    await policy.close();
  });

  it('lets running samples end before a step, and gives later ones the new weights only', async () => {
    const policy = await opened();
    const before = await policy.sample(request());
    await policy.forget('');
    const running = policy.sample(request());
    const learning = learn(policy, 1);
    const scoring = policy.score(batch(2).trees, 1);
    assert.deepEqual(bits(await running), bits(before));
    await Promise.all([learning, scoring]);
    const later = await policy.sample(request());
    await policy.save(await folder('stepped'), false);
    const fresh = await opened({ folder: join(root, 'stepped') });
    assert.deepEqual(bits(await fresh.sample(request())), bits(later));
    assert.notDeepEqual(bits(later), bits(before));
    await Promise.all([policy.close(), fresh.close()]);
  });

  it('ends what it computes when it is closed, and refuses who asked for it', async () => {
    const policy = await opened();
    const asked = [policy.sample(request({ maxTokens: 250 })), policy.score(batch(2).trees, 1)];
    const refused = asked.map(each =>
      assert.rejects(each, { name: 'FailureError', message: 'The policy was closed.' }),
    );
    // The gate lets them begin first.
    await setImmediate();
    await policy.close();
    await Promise.all(refused);
  });

  it('goes on from what it saved, bit for bit, optimiser included', async () => {
    const policy = await opened();
    await learn(policy, 1);
    await learn(policy, 2);
    const [whole, bare] = [await folder('whole'), await folder('bare')];
    await policy.save(whole, true);
    await policy.save(bare, false);
    await learn(policy, 3);
    const wanted = bits(await policy.sample(request()));
    const resumed = await opened();
    for (const [from, isEqual] of [
      [whole, true],
      [bare, false],
      [whole, true],
    ] as const) {
      await resumed.load(from);
      await learn(resumed, 3);
      assert.equal(JSON.stringify(bits(await resumed.sample(request()))) === JSON.stringify(wanted), isEqual);
    }
    await Promise.all([policy.close(), resumed.close()]);
  });

  it('keeps config.json as it was, and refuses to load a model of another shape', async () => {
    const own = await folder('own');
    await cp(model, own, { recursive: true });
    const config = (await readFile(join(own, 'config.json'), 'utf8')).replace(
      '{',
      '{"our_own_key": {"a": 1e-07},',
    );
    await writeFile(join(own, 'config.json'), config);
    const policy = await opened({ folder: own });
    await policy.save(await folder('copy'), false);
    assert.equal(await readFile(join(root, 'copy', 'config.json'), 'utf8'), config);
    const other = await makeTinyModel(join(root, 'other'), { architecture: 'qwen3', layers: 1 });
    await assert.rejects(policy.load(other), /another shape/);
    await policy.close();
  });

  describe('in a process of its own', () => {
    const children: EmbeddedPolicy[] = [];
    const started = async (): Promise<EmbeddedPolicy> => {
      const policy = await openEmbedded();
      children.push(policy);
      return policy;
    };
    // A failed test leaves no child behind.
    afterEach(() => Promise.all(children.splice(0).map(child => child.close())));

    it('does the same as in this one', async () => {
      const [near, far] = [await opened(), await started()];
      await far.open(settings());
      for (const policy of [near, far]) await learn(policy, 5);
      const requests = Array.from({ length: 6 }, (_, i) =>
        request({ key: `${i}`, stream: i, topLogProbs: i % 2, alternatives: i % 3 }),
      );
      const [here, there] = await Promise.all(
        [near, far].map(policy => Promise.all(requests.map(each => policy.sample(each)))),
      );
      assert.deepEqual(there!.map(bits), here!.map(bits));
      assert.deepEqual(there![1]!.topLogProbs, here![1]!.topLogProbs);
      assert.deepEqual(
        there!.map(({ alternatives }) => alternatives),
        here!.map(({ alternatives }) => alternatives),
      );
      const [scores] = await far.score(batch(1).trees, 1);
      assert.ok(scores!.logProbs instanceof Float32Array);
      await assert.rejects(far.load(join(root, 'nowhere')), /config\.json/);
      let exits = 0;
      far.onExit(() => exits++);
      await Promise.all([near.close(), far.close()]);
      await far.close();
      assert.equal(exits, 0);
      await assert.rejects(far.sample(request()), /was closed/);
    });

    it('hears between two tokens that it is closed', async () => {
      const policy = await started();
      await policy.open(settings({ maxPathTokens: 500, endIds: [] }));
      let isDrawn = false;
      const [first, long] = [4, 400].map(maxTokens =>
        policy.sample(request({ key: `${maxTokens}`, maxTokens })),
      );
      const refused = assert.rejects(
        long!.then(() => (isDrawn = true)),
        { name: 'FailureError', message: 'The policy was closed.' },
      );
      // Four tokens of each are drawn by now.
      await first;
      await policy.close();
      await refused;
      assert.equal(isDrawn, false);
    });

    it('rejects everything that was asked when it is killed, and what is asked later', async () => {
      const policy = await started();
      await policy.open(settings());
      const ended = new Promise<string>(resolve => policy.onExit(failure => resolve(failure.message)));
      const open = [policy.sample(request({ maxTokens: 250 })), policy.score(batch(1).trees, 1)];
      process.kill(policy.pid, 'SIGKILL');
      const message = "The engine's process was killed (SIGKILL).";
      for (const each of [...open, policy.sample(request())])
        await assert.rejects(each, (error: FailureError) => {
          assert.deepEqual([error.failure.where, error.message], ['policy', message]);
          assert.match(error.failure.fix!, /^If memory ran out, close other programs/);
          return true;
        });
      assert.equal(await ended, message);
      await assert.rejects(policy.sample(request()), { message });
      await policy.close();
    });

    it('ends when its parent has gone', async () => {
      const parentFile = join(root, 'parent.ts');
      const client = join(import.meta.dirname, '../../../../src/worker/policy/embedded/client.ts');
      await writeFile(
        parentFile,
        `const { openEmbedded } = await import('${client}'); const policy = await openEmbedded(); process.send(policy.pid);`,
      );
      const parent = fork(parentFile, [], { execArgv: [] });
      const [pid] = (await once(parent, 'message')) as [number];
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      const lives = (): boolean => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      };
      while (lives()) await new Promise(resolve => setTimeout(resolve, 20));
    });
  });
});

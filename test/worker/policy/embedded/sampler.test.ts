import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { makePieces, type Pieces } from '../../../../src/core/pieces.ts';
import { uniform } from '../../../../src/core/random.ts';
import type { Sample, SampleRequest, Stretch } from '../../../../src/worker/policy/policy.ts';
import {
  openSampler,
  type Sampler,
  type SamplerOptions,
} from '../../../../src/worker/policy/embedded/sampler.ts';
import { openForward, type Draw } from '../../../../src/worker/policy/embedded/forward.ts';
import type { ModelShape } from '../../../../src/core/modelShape.ts';
import { watchStops } from '../../../../src/worker/policy/embedded/stops.ts';
import { createTrainer } from '../../../../src/worker/policy/embedded/trainer.ts';
import { packPieces, randomNumbers, randomWeights, shapes as trainerShapes, TINY } from './fixtures.ts';

/** Every way in which heads share keys, and widths and vocabularies that fill no vector. */
const shapes: Record<string, ModelShape> = {
  ...trainerShapes,
  'one key-value head': { ...TINY, keyValueHeads: 1 },
  'a key-value head per query head': { ...TINY, keyValueHeads: 4, layers: 1 },
  'wider heads and more layers': { ...TINY, hidden: 40, headDim: 10, layers: 3, vocabulary: 130 },
};
/** Wide enough that ONNX Runtime spreads a product over two threads, whatever the number of rows. */
const threaded: ModelShape = {
  ...TINY,
  hidden: 128,
  headDim: 32,
  layers: 2,
  feedForward: 352,
  vocabulary: 300,
};
const MAX = 400;
/** Token n spells the n-th letter. */
const letters = makePieces(Array.from({ length: TINY.vocabulary }, (_, i) => Uint8Array.of(97 + i)));

function open(shape: ModelShape, options: Partial<SamplerOptions> = {}): Promise<Sampler> {
  const weights = randomWeights(shape, 5);
  return openSampler({
    shape,
    weights,
    threads: 1,
    maxPathTokens: MAX,
    pieces: letters,
    stops: [],
    endIds: [],
    cacheBytes: 1e8,
    ...options,
  });
}

const stretch = (key: string, length: number, next: () => number, vocabulary = TINY.vocabulary): Stretch => ({
  key,
  ids: Int32Array.from({ length }, () => Math.floor(next() * vocabulary)),
});

const request = (path: Stretch[], rest: Partial<SampleRequest> = {}): SampleRequest => ({
  ...{ path, key: 'answer', maxTokens: 12, temperature: 1, stream: 99, streamOffset: 0, topLogProbs: 0 },
  ...rest,
});

function assertSameBits(found: Sample, wanted: Sample, message?: string): void {
  assert.deepEqual(found.ids, wanted.ids, message);
  assert.deepEqual(Buffer.from(found.logProbs.buffer), Buffer.from(wanted.logProbs.buffer), message);
  assert.deepEqual(Buffer.from(found.entropies.buffer), Buffer.from(wanted.entropies.buffer), message);
  assert.equal(found.finish, wanted.finish, message);
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve));
};

describe('the sampler', () => {
  for (const [name, shape] of Object.entries({ ...shapes, 'two threads': threaded })) {
    it(`gives a request the same bits alone and in any company (${name})`, async () => {
      const next = randomNumbers(shape.vocabulary + shape.layers);
      const shared = stretch('shared', 70, next, shape.vocabulary);
      const requests = Array.from({ length: 24 }, (_, i) => {
        const own = stretch(`own ${i}`, Math.floor(next() * 90), next, shape.vocabulary);
        const path = i % 3 === 0 ? [shared, own] : [{ ...own, ids: Int32Array.of(i % 20, ...own.ids) }];
        return request(path, {
          key: `answer ${i}`,
          maxTokens: 1 + Math.floor(next() * 100),
          temperature: i % 4 === 0 ? 0 : 0.8,
          stream: i,
          topLogProbs: i % 5 === 0 ? 3 : 0,
        });
      });
      const threads = shape === threaded ? 2 : 1;
      const alone = await open(shape, { cacheBytes: 0, threads });
      const wanted: Sample[] = [];
      for (const each of requests) wanted.push(await alone.sample(each));
      const together = await open(shape, { threads });
      for (let grouping = 0; grouping < 3; grouping++) {
        const late = requests.map(() => (grouping === 0 ? 0 : Math.floor(next() * 150)));
        const found = await Promise.all(
          requests.map(async (each, i) => {
            await turns(late[i]!);
            return together.sample(each);
          }),
        );
        found.forEach((sample, i) =>
          assertSameBits(sample, wanted[i]!, `request ${i} of grouping ${grouping}`),
        );
        if (grouping === 1) together.forget('own 1');
      }
      await alone.close();
      await together.close();
    });
  }

  it('continues a cached path, and one whose cache is forgotten in parts, as one computed from scratch', async () => {
    const next = randomNumbers(3);
    const prompt = stretch('0', 80, next);
    const cached = await open(TINY);
    const scratch = await open(TINY, { cacheBytes: 0 });
    const parent = await cached.sample(request([prompt], { key: '0/1', maxTokens: 40 }));
    const path = [prompt, { key: '0/1', ids: parent.ids }, stretch('0/1/2', 9, next)];
    for (const forgotten of ['none', '0/1/2', '0/1', '0']) {
      if (forgotten !== 'none') cached.forget(forgotten);
      const siblings = [1, 2, 3].map(stream =>
        request(path, { key: `0/1/2/${stream}`, stream, maxTokens: 30 }),
      );
      const found = await Promise.all(siblings.map(each => cached.sample(each)));
      const wanted = await Promise.all(siblings.map(each => scratch.sample(each)));
      found.forEach((sample, i) => assertSameBits(sample, wanted[i]!, forgotten));
    }
    await cached.close();
    await scratch.close();
  });

  for (const temperature of [1, 0.6]) {
    it(`agrees with the trainer on log-probabilities and entropies of a branched tree at temperature ${temperature}`, async () => {
      for (const shape of Object.values(shapes)) {
        const next = randomNumbers(8);
        const prompt = stretch('p', 30, next, shape.vocabulary);
        const sampler = await open(shape);
        const first = await sampler.sample(request([prompt], { key: 'a', temperature }));
        const tool = stretch('t', 5, next, shape.vocabulary);
        const path = [prompt, { key: 'a', ids: first.ids }, tool];
        const [left, right] = await Promise.all(
          [1, 2].map(stream =>
            sampler.sample(request(path, { key: `b${stream}`, stream, temperature, maxTokens: 20 })),
          ),
        );
        const trainer = createTrainer(shape, randomWeights(shape, 5), {
          threads: 1,
          memoryLimitBytes: 1e9,
          trainable: false,
        });
        const tree = packPieces([
          { parent: -1, ids: [...prompt.ids] },
          { parent: 0, ids: [...first.ids] },
          { parent: 1, ids: [...tool.ids] },
          { parent: 2, ids: [...left!.ids] },
          { parent: 2, ids: [...right!.ids] },
        ]);
        const [scores] = await trainer.score([tree], temperature);
        const starts = [30, 30 + 12 + 5, 30 + 12 + 5 + 20];
        [first, left!, right!].forEach((sample, s) =>
          sample.ids.forEach((_, i) => {
            const at = starts[s]! + i;
            assert.ok(Math.abs(sample.logProbs[i]! - scores!.logProbs[at]!) < 1e-4);
            assert.ok(Math.abs(sample.entropies[i]! - scores!.entropies[at]!) < 1e-4);
          }),
        );
        await trainer.release();
        await sampler.close();
      }
    });
  }

  it('draws token n where the cumulative probability passes uniform(stream, offset + n), or the likeliest when greedy', async () => {
    const sampler = await open(TINY);
    const trainer = createTrainer(TINY, randomWeights(TINY, 5), {
      threads: 1,
      memoryLimitBytes: 1e9,
      trainable: false,
    });
    const prompt = stretch('p', 6, randomNumbers(4));
    const vocabulary = Array.from({ length: TINY.vocabulary }, (_, id) => id);
    for (const temperature of [0, 1, 0.5]) {
      const sample = await sampler.sample(
        request([prompt], { temperature, stream: 7, streamOffset: 3, maxTokens: 25 }),
      );
      for (let n = 0; n < sample.ids.length; n++) {
        const before = [...prompt.ids, ...sample.ids.subarray(0, n)];
        const tree = packPieces([
          { parent: -1, ids: before },
          ...vocabulary.map(id => ({ parent: 0, ids: [id] })),
        ]);
        const [scores] = await trainer.score([tree], temperature || 1);
        const logProbs = [...scores!.logProbs.subarray(before.length)];
        const token = sample.ids[n]!;
        if (temperature === 0) assert.equal(logProbs[token], Math.max(...logProbs));
        else {
          const below = logProbs.slice(0, token).reduce((sum, each) => sum + Math.exp(each), 0);
          const u = uniform(7, 3 + n);
          assert.ok(below - 1e-5 <= u && u <= below + Math.exp(logProbs[token]!) + 1e-5, `${below} ${u}`);
        }
        assert.ok(Math.abs(sample.logProbs[n]! - logProbs[token]!) < 1e-4);
      }
    }
    await trainer.release();
    await sampler.close();
  });

  it('makes one draw of a preview and its rest, stop strings across the two included', async () => {
    const sampler = await open(TINY);
    const prompt = stretch('p', 6, randomNumbers(4));
    const whole = await sampler.sample(request([prompt], { maxTokens: 30 }));
    const text = Buffer.from(whole.ids.map(id => 97 + id)).toString();
    await sampler.close();
    const stop = text.slice(6, 10);
    const stopping = await open(TINY, { stops: ['~', stop] });
    const preview = await stopping.sample(request([prompt], { key: 'q', maxTokens: 8 }));
    const rest = await stopping.sample(
      request([prompt, { key: 'q', ids: preview.ids }], { maxTokens: 22, streamOffset: 8 }),
    );
    const both = Int32Array.of(...preview.ids, ...rest.ids);
    assert.deepEqual(both, whole.ids.subarray(0, text.indexOf(stop) + 4));
    assert.deepEqual([...rest.logProbs], [...whole.logProbs.subarray(8, both.length)]);
    assert.deepEqual([preview.finish, rest.finish, rest.stop], ['length', 'stop', stop]);
    await stopping.close();
  });

  it('ends at an end id before it looks for stop strings, and at the largest number of tokens', async () => {
    const prompt = stretch('p', 6, randomNumbers(4));
    const free = await open(TINY);
    const { ids, finish } = await free.sample(request([prompt]));
    assert.deepEqual([ids.length, finish], [12, 'length']);
    await free.close();
    const ending = await open(TINY, { endIds: [ids[4]!], stops: [String.fromCharCode(97 + ids[4]!)] });
    const ended = await ending.sample(request([prompt]));
    assert.deepEqual([ended.finish, ended.stop], ['end', undefined]);
    assert.deepEqual(ended.ids, ids.subarray(0, ids.indexOf(ids[4]!) + 1));
    assert.deepEqual((await ending.sample(request([prompt], { maxTokens: 0 }))).finish, 'length');
    await ending.close();
  });

  it('gives the largest log-probabilities where asked, the drawn one included once', async () => {
    const sampler = await open(TINY);
    const path = [stretch('p', 6, randomNumbers(4))];
    const asked = [
      request(path, { topLogProbs: 3, key: 'a' }),
      request(path, { topLogProbs: 23, key: 'b' }),
      request(path, { key: 'c' }),
    ];
    const [three, all, none] = await Promise.all(asked.map(each => sampler.sample(each)));
    assert.equal(none!.topLogProbs, undefined);
    assertSameBits(three!, none!);
    all!.topLogProbs!.forEach((top, n) => {
      assert.ok(Math.abs(top.reduce((sum, each) => sum + Math.exp(each), 0) - 1) < 1e-5);
      assert.ok(top.every((each, i) => i === 0 || each <= top[i - 1]!));
      const isAmong = top.subarray(0, 3).includes(three!.logProbs[n]!);
      const wanted = isAmong ? [...top.subarray(0, 3)] : [...top.subarray(0, 3), three!.logProbs[n]!];
      assert.deepEqual([...three!.topLogProbs![n]!], wanted);
    });
    assert.ok(
      three!.topLogProbs!.some(top => top.length === 4) && three!.topLogProbs!.some(top => top.length === 3),
    );
    await sampler.close();
  });

  it('names the likeliest tokens where asked, as the full softmax has them, and draws the same', async () => {
    const sampler = await open(TINY);
    const trainer = createTrainer(TINY, randomWeights(TINY, 5), {
      ...{ threads: 1, memoryLimitBytes: 1e9, trainable: false },
    });
    const prompt = stretch('p', 6, randomNumbers(4));
    const vocabulary = Array.from({ length: TINY.vocabulary }, (_, id) => id);
    for (const temperature of [0, 1, 0.5]) {
      const asked = [{}, { alternatives: 4 }, { alternatives: 40 }, { alternatives: 2, topLogProbs: 6 }];
      const found = await Promise.all(
        asked.map((more, i) => sampler.sample(request([prompt], { key: `${i}`, temperature, ...more }))),
      );
      for (const each of found.slice(1)) assertSameBits(each, found[0]!);
      assert.deepEqual(
        found.map(({ alternatives }) => alternatives?.k),
        [undefined, 4, TINY.vocabulary, 2],
      );
      for (let n = 0; n < 12; n++) {
        const before = [...prompt.ids, ...found[0]!.ids.subarray(0, n)];
        const tree = packPieces([
          { parent: -1, ids: before },
          ...vocabulary.map(id => ({ parent: 0, ids: [id] })),
        ]);
        const [scores] = await trainer.score([tree], temperature || 1);
        const logProbs = [...scores!.logProbs.subarray(before.length)];
        const likeliest = vocabulary.toSorted((a, b) => logProbs[b]! - logProbs[a]!);
        for (const { alternatives } of found.slice(1)) {
          const { k, ids, logProbs: given } = alternatives!;
          assert.deepEqual([...ids.subarray(n * k, (n + 1) * k)], likeliest.slice(0, k));
          for (let i = 0; i < k; i++)
            assert.ok(Math.abs(given[n * k + i]! - logProbs[likeliest[i]!]!) < 1e-4);
        }
      }
    }
    await trainer.release();
    await sampler.close();
  });

  it('draws the last token that has any probability at the largest uniform number, and the first at 0', async () => {
    const forward = await openForward(TINY, randomWeights(TINY, 5), { threads: 1, tokens: 64 });
    forward.slots.reserve(2, 8, 0);
    const chunk = { firstSlot: 0, slots: 2, tokens: 1, counts: [1, 1], starts: [0, 0], idAt: () => 4 };
    const at = (uniform: number): Draw => ({ temperature: 1, uniform, isGreedy: false });
    const drawn = await forward.draw(chunk, [at(0), at(1 - Number.EPSILON / 2)], 0);
    assert.deepEqual(
      drawn.map(({ token }) => token),
      [0, TINY.vocabulary - 1],
    );
    await forward.release();
  });

  it('serves more requests than fit into one batch', async () => {
    const sampler = await open(TINY);
    const path = [stretch('p', 6, randomNumbers(4))];
    const many = Array.from({ length: 150 }, (_, i) =>
      request(path, { key: `${i}`, stream: i % 10, maxTokens: 1 + (i % 7) }),
    );
    const found = await Promise.all(many.map(each => sampler.sample(each)));
    found.forEach((sample, i) => {
      assert.equal(sample.ids.length, 1 + (i % 7));
      assert.equal(sample.ids[0], found[i % 10]!.ids[0]);
    });
    await sampler.close();
  });

  it('refuses what it cannot draw, and recovers from weights that had diverged', async () => {
    const weights = randomWeights(TINY, 5);
    const sampler = await open(TINY, { weights });
    const path = [stretch('p', 6, randomNumbers(4))];
    await assert.rejects(sampler.sample(request([])), /no tokens/);
    await assert.rejects(sampler.sample(request(path, { maxTokens: MAX })), /at most 400/);
    await assert.rejects(sampler.sample(request(path, { temperature: -1 })), /temperature/);
    await assert.rejects(sampler.sample(request([{ key: 'x', ids: Int32Array.of(23) }])), /Token id 23/);
    const wanted = await sampler.sample(request(path));
    const embedding = weights.get('model.embed_tokens.weight')!;
    const sound = embedding.slice();
    embedding.fill(NaN);
    sampler.forget('');
    await assert.rejects(sampler.sample(request(path)), {
      message: /have diverged/,
    });
    embedding.set(sound);
    sampler.forget('');
    assertSameBits(await sampler.sample(request(path)), wanted);
    await sampler.close();
  });
});

describe('stop strings', () => {
  const texts = ['<', '/', 'py', 'thon', '>', '>\n', 'on> x', '</python>', 'a', '\xc3', 'é'];
  const pieces: Pieces = makePieces([
    ...texts.slice(0, 9).map(text => new TextEncoder().encode(text)),
    Uint8Array.of(0xc3),
    Uint8Array.of(0xa9),
  ]);
  const stopsAt = (ids: number[], stops: string[], drawn: number[] = []): [number, string | undefined] => {
    const watch = watchStops(pieces, stops, Int32Array.from(drawn));
    for (const [i, id] of ids.entries()) {
      const stop = watch.push(id);
      if (stop !== undefined) return [i, stop];
    }
    return [-1, undefined];
  };
  const tag = '</python>';

  it('are found over token boundaries, inside a token, and where a token goes on behind them', () => {
    assert.deepEqual(stopsAt([8, 0, 1, 2, 3, 4], [tag]), [5, tag]);
    assert.deepEqual(stopsAt([0, 1, 2, 3, 5, 8], [tag]), [4, tag]);
    assert.deepEqual(stopsAt([8, 7], [tag]), [1, tag]);
    assert.deepEqual(stopsAt([0, 0, 1, 2, 3, 8, 4], [tag]), [-1, undefined]);
  });

  it('are bytes, so that a character cut in two is found', () => {
    assert.deepEqual(stopsAt([9, 10], ['é']), [1, 'é']);
    assert.deepEqual(stopsAt([10, 9], ['é']), [-1, undefined]);
  });

  it('are found as soon as the first one ends', () => {
    assert.deepEqual(stopsAt([7], ['>', '/py']), [0, '/py']);
    assert.deepEqual(stopsAt([0, 1, 2], [tag, '/p']), [2, '/p']);
    assert.deepEqual(stopsAt([7], [tag, 'python>', '']), [0, tag]);
  });

  it('may begin in what was drawn before, but not end there', () => {
    assert.deepEqual(stopsAt([3, 4], [tag], [8, 0, 1, 2]), [1, tag]);
    assert.deepEqual(stopsAt([8, 8], [tag], [7]), [-1, undefined]);
    assert.deepEqual(stopsAt([3, 4], [tag]), [-1, undefined]);
  });
});

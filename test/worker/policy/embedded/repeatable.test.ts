/** The same gradient, byte for byte, however many threads compute it and however often; and how rows' updates are summed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'mocha';
import type { ObjectiveSettings } from '../../../../src/core/objective.ts';
import { firstGraph, lastGraph, middleGraph } from '../../../../src/worker/policy/embedded/decodeGraph.ts';
import { Graph } from '../../../../src/worker/policy/embedded/graph.ts';
import { graphs } from '../../../../src/worker/policy/embedded/passes.ts';
import {
  planRowSums,
  rowSumFeeds,
  rowSumInputs,
  sumRows,
} from '../../../../src/worker/policy/embedded/rowSums.ts';
import { compile, float32 } from '../../../../src/worker/policy/embedded/sessions.ts';
import { createTrainer } from '../../../../src/worker/policy/embedded/trainer.ts';
import { packPieces, randomNumbers, randomWeights, TINY, worstDifference } from './fixtures.ts';

const hash = (tensors: ReadonlyMap<string, Float32Array>): Record<string, string> =>
  Object.fromEntries(
    [...tensors].map(([name, values]) => [name, createHash('sha256').update(values).digest('hex')]),
  );

describe('A gradient computed by two threads', () => {
  // A prompt of 300 tokens below which three branches of 400 lie: 12 blocks of queries, ten of which have all its keys,
  // and 1500 tokens drawn from 23.
  for (const entropyWeight of [0, 0.1])
    it(`has the same bytes each of 20 times, with an entropy weight of ${entropyWeight}`, async () => {
      const shape = { ...TINY, hidden: 64, layers: 1, heads: 2, keyValueHeads: 1, headDim: 64 };
      const next = randomNumbers(5);
      const pieces = [300, 400, 400, 400].map((count, i) => {
        const ids = Array.from({ length: count }, () => Math.floor(next() * shape.vocabulary));
        return { parent: i === 0 ? -1 : 0, ids, terms: ids.map(() => [{ advantage: 1, weight: 1e-3 }]) };
      });
      const objective: ObjectiveSettings = {
        ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klWeight: 0, entropyWeight },
      };
      const batch = { trees: [packPieces(pieces)], temperature: 1 };
      const options = { threads: 2, memoryLimitBytes: 1e9, trainable: true };
      const trainer = createTrainer(shape, randomWeights(shape, 1), options);
      const found = new Set<string>();
      try {
        for (let i = 0; i < 20; i++) {
          await trainer.accumulate(batch, objective);
          found.add(JSON.stringify(hash(trainer.gradients())));
          trainer.step({
            ...{
              learningRate: 0,
              beta1: 0.9,
              beta2: 0.999,
              epsilon: 1e-8,
              weightDecay: 0,
              maxGradientNorm: 1,
            },
          });
        }
      } finally {
        await trainer.release();
      }
      assert.equal(found.size, 1);
    });
});

describe('Rows are summed by their targets', () => {
  /** The sums of random rows [source, 3], those of the first half as one part, that of the second as another. */
  async function check(targetOf: readonly number[], targets: number): Promise<void> {
    const g = new Graph();
    const parts = [g.input('a', ['first', 3]), g.input('b', ['second', 3])];
    g.output('sums', sumRows(g, parts, rowSumInputs(g)));
    const next = randomNumbers(targetOf.length);
    const rows = Float32Array.from({ length: targetOf.length * 3 }, next);
    const middle = Math.ceil(targetOf.length / 2);
    const wanted = new Float32Array(targets * 3);
    rows.forEach((value, i) => {
      const target = targetOf[Math.floor(i / 3)]!;
      if (target >= 0) wanted[target * 3 + (i % 3)]! += value;
    });
    const program = await compile(g.build(), { threads: 1 });
    try {
      const { sums } = await program.run({
        a: float32(rows.subarray(0, middle * 3), [middle, 3]),
        b: float32(rows.subarray(middle * 3), [targetOf.length - middle, 3]),
        ...rowSumFeeds(planRowSums(Int32Array.from(targetOf), targets)),
      });
      assert.deepEqual(sums!.dims, [targets, 3]);
      assert.ok(worstDifference(sums!.data as Float32Array, wanted) < 1e-6);
    } finally {
      await program.release();
    }
  }

  it('where each has its own', () => check([2, 0, 1], 3));
  it('where all have one', () => check(Array<number>(90).fill(0), 1));
  it('where targets have none, and rows are left out', () => check([4, -1, 4, 0, -1, 4], 6));
  it('where the numbers of rows differ by much', () => {
    const targetOf = Array.from({ length: 40 }, (_, target) => Array<number>(target).fill(target)).flat();
    return check([...targetOf, ...targetOf.map(target => 39 - target)], 41);
  });
  it('with few zeros to fill up', () => {
    // Ten targets each of 1, 2, 3, 9, 10 and 30 rows: classes of 1, 3, 10 and 30, filled up by 10 zeros each but the first and the last.
    const targetOf = [1, 2, 3, 9, 10, 30].flatMap((count, i) =>
      Array.from({ length: 10 * count }, (_, n) => 10 * i + (n % 10)),
    );
    const { sources } = planRowSums(Int32Array.from(targetOf), 60);
    assert.deepEqual(
      sources.map(({ dims }) => dims),
      [[10], [20, 3], [20, 10], [10, 30]],
    );
  });
});

describe('No graph scatters', () => {
  // A scatter with two rows for one place gives other sums each time.
  const build: Record<string, () => Uint8Array> = {
    ...Object.fromEntries(
      Object.entries(graphs).map(([name, graph]) => [name, () => graph(TINY, 2).build()] as const),
    ),
    'first of decoding': () => firstGraph(TINY),
    'middle of decoding': () => middleGraph(TINY),
    'last of decoding': () => lastGraph(TINY, { topK: 2, hasGreedy: true }),
  };
  for (const [name, bytes] of Object.entries(build))
    it(`in ${name}`, () => assert.ok(!Buffer.from(bytes()).includes('Scatter')));
});

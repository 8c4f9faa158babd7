/** Every gradient rule, and the graphs made of them, against finite differences. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  headBackward,
  headForward,
  layerBackward,
  layerForward,
} from '../../../../src/worker/policy/embedded/blocks.ts';
import { Graph } from '../../../../src/worker/policy/embedded/graph.ts';
import type { Value } from '../../../../src/worker/policy/embedded/graph.ts';
import type { AttentionPlan } from '../../../../src/worker/policy/embedded/attention.ts';
import { packs } from '../../../../src/worker/policy/embedded/plan.ts';
import type { Pack } from '../../../../src/worker/policy/embedded/plan.ts';
import { apply, differentiate, makeTape } from '../../../../src/worker/policy/embedded/rules.ts';
import type { Operation, Tape } from '../../../../src/worker/policy/embedded/rules.ts';
import { compile, float32, int32 } from '../../../../src/worker/policy/embedded/sessions.ts';
import type { Tensor } from '../../../../src/worker/policy/embedded/sessions.ts';
import { layerTensors, sizeOf } from '../../../../src/core/modelShape.ts';
import type { ModelShape } from '../../../../src/core/modelShape.ts';
import { packPieces, randomNumbers, rms, shapes, TINY } from './fixtures.ts';

/** Worst accepted |finite difference − gradient along a direction| / rms of the gradient. */
const WORST = 5e-4;

interface Case {
  /** Dimensions of the operands. */
  operands: readonly (readonly number[])[];
  apply(tape: Tape, operands: readonly Value[]): Value;
}

/** Three rows of two query heads and one key-value head: two rows as one group's blocks, the third as another's. */
function attentionPlan(g: Graph): AttentionPlan {
  const hidden = -1e9;
  return {
    groups: [
      {
        queries: g.constant([0, 2, 1, 3], [1, 1, 4], 'int32'),
        counts: g.constant([1, 1, 1, 1], [1, 1, 4, 1]),
        keys: g.constant([0, 1], [1, 1, 2], 'int32'),
        mask: g.constant([0, hidden, 0, 0, 0, hidden, 0, 0], [1, 1, 4, 2]),
      },
      {
        // The second query of each head pads, and so does the last key.
        queries: g.constant([4, 0, 5, 0], [1, 1, 4], 'int32'),
        counts: g.constant([1, 0, 1, 0], [1, 1, 4, 1]),
        keys: g.constant([0, 2, 0], [1, 1, 3], 'int32'),
        mask: g.constant([0, 0, hidden, 0, hidden, hidden, 0, 0, hidden, 0, 0, hidden], [1, 1, 4, 3]),
      },
    ],
    slots: g.constant([0, 2, 1, 3, 4, 6], [6], 'int32'),
    // Sources 0, 1 are the first group's keys, 2, 3, 4 the second's; 5 is a row of zeros.
    keySums: {
      sources: [g.constant([1, 3], [2], 'int32'), g.constant([0, 2, 5], [1, 3], 'int32')],
      order: g.constant([2, 0, 1], [3], 'int32'),
    },
    headDim: 4,
  };
}

/** The compiler refuses this table where an operation has no case. */
const cases: { readonly [K in Operation]: Case } = {
  add: {
    operands: [
      [2, 3, 4],
      [3, 1],
    ],
    apply: (tape, operands) => apply(tape, 'add', operands, {}),
  },
  multiply: {
    operands: [
      [2, 3, 4],
      [2, 1, 4],
    ],
    apply: (tape, operands) => apply(tape, 'multiply', operands, {}),
  },
  reshape: {
    operands: [[2, 6]],
    apply: (tape, operands) => apply(tape, 'reshape', operands, { dims: [3, 4] }),
  },
  linear: { operands: [[4, 5], [3, 5], [3]], apply: (tape, operands) => apply(tape, 'linear', operands, {}) },
  swiGlu: {
    operands: [
      [3, 5],
      [3, 5],
    ],
    apply: (tape, operands) => apply(tape, 'swiGlu', operands, {}),
  },
  rmsNorm: {
    operands: [[3, 6], [6]],
    apply: (tape, operands) => apply(tape, 'rmsNorm', operands, { epsilon: 1e-2 }),
  },
  rotate: {
    operands: [[1, 2, 8]],
    apply: (tape, operands) => {
      const angles = [0.3, 1.1, -0.7, 2.3];
      const cos = tape.graph.constant(angles.map(Math.cos), [1, 2, 2]);
      const sin = tape.graph.constant(angles.map(Math.sin), [1, 2, 2]);
      return apply(tape, 'rotate', operands, { cos, sin, heads: 2 });
    },
  },
  attention: {
    operands: [
      [3, 8],
      [3, 4],
      [3, 4],
    ],
    apply: (tape, operands) => apply(tape, 'attention', operands, attentionPlan(tape.graph)),
  },
};

/** Four-point finite difference of `loss` along a random direction of `values`, compared with the gradient. */
async function checkDirection(
  values: Float32Array,
  gradient: Float32Array,
  loss: () => Promise<number>,
  next: () => number,
): Promise<number> {
  const direction = Float64Array.from(values, () => next() - 0.5);
  const length = Math.sqrt(direction.reduce((sum, x) => sum + x * x, 0));
  const saved = values.slice();
  const at = async (step: number): Promise<number> => {
    values.forEach((_, i) => (values[i] = saved[i]! + (step * direction[i]!) / length));
    const found = await loss();
    values.set(saved);
    return found;
  };
  const h = 0.02;
  const difference =
    (8 * ((await at(h)) - (await at(-h))) - ((await at(2 * h)) - (await at(-2 * h)))) / (12 * h);
  const slope = gradient.reduce((sum, x, i) => sum + (x * direction[i]!) / length, 0);
  return Math.abs(difference - slope) / (rms(gradient) + 1e-8);
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, x, i) => sum + x * b[i]!, 0);
const floats = (tensor: Tensor | undefined): Float32Array => tensor!.data as Float32Array;

/** Compiles two graphs over the same feeds and compares d(Σ seed·results)/d(feed) with the named gradients, once finished. */
async function check(
  { forward, backward }: { forward: Graph; backward: Graph },
  feeds: Record<string, Tensor>,
  seeds: Record<string, Tensor>,
  gradients: Record<string, string>,
  finish: (results: Record<string, Tensor>) => void = () => undefined,
): Promise<void> {
  const next = randomNumbers(3);
  const programs = await Promise.all(
    [forward, backward].map(graph => compile(graph.build(), { threads: 1 })),
  );
  const given = (graph: Graph, all: Record<string, Tensor>): Record<string, Tensor> =>
    Object.fromEntries(graph.liveInputs().map(name => [name, all[name]!]));
  try {
    const loss = async (): Promise<number> => {
      const results = await programs[0]!.run(given(forward, feeds));
      return Object.entries(seeds).reduce(
        (sum, [name, seed]) => sum + dot(floats(results[name]), floats(seed)),
        0,
      );
    };
    const seedFeeds = Object.fromEntries(Object.entries(seeds).map(([name, seed]) => [`seed.${name}`, seed]));
    const results = await programs[1]!.run(given(backward, { ...seedFeeds, ...seeds, ...feeds }));
    finish(results);
    for (const [feed, gradient] of Object.entries(gradients)) {
      const worst = await checkDirection(floats(feeds[feed]), floats(results[gradient]), loss, next);
      assert.ok(worst <= WORST, `${feed}: ${worst.toExponential(2)}`);
    }
  } finally {
    await Promise.all(programs.map(program => program.release()));
  }
}

const randomTensor = (dims: readonly number[], next: () => number, middle = 0, spread = 2): Tensor =>
  float32(
    Float32Array.from({ length: sizeOf(dims) }, () => middle + spread * (next() - 0.5)),
    dims,
  );

const zeros = (dims: readonly number[]): Tensor => float32(new Float32Array(sizeOf(dims)), dims);

describe('A gradient rule agrees with finite differences', () => {
  for (const [name, { operands, apply: applyCase }] of Object.entries(cases))
    it(`of ${name}`, async () => {
      const next = randomNumbers(name.length);
      const build = (): { g: Graph; tape: Tape; inputs: Value[]; y: Value } => {
        const g = new Graph();
        const tape = makeTape(g);
        const inputs = operands.map((dims, i) => g.input(`x${i}`, dims));
        return { g, tape, inputs, y: applyCase(tape, inputs) };
      };
      const forward = build();
      forward.g.output('y', forward.y);
      const backward = build();
      const seed = backward.g.input('seed.y', backward.y.dims);
      differentiate(backward.tape, backward.y, seed, { wanted: backward.inputs }).forEach((value, i) =>
        backward.g.output(`d${i}`, value),
      );
      const feeds = Object.fromEntries(operands.map((dims, i) => [`x${i}`, randomTensor(dims, next)]));
      const seeds = { y: randomTensor(backward.y.dims.map(Number), next) };
      const gradients = Object.fromEntries(operands.map((_, i) => [`x${i}`, `d${i}`]));
      await check({ forward: forward.g, backward: backward.g }, feeds, seeds, gradients);
    });

  it('where a value is used twice', async () => {
    const build = (): { g: Graph; tape: Tape; x: Value; y: Value } => {
      const g = new Graph();
      const tape = makeTape(g);
      const x = g.input('x', [3, 3]);
      return { g, tape, x, y: apply(tape, 'multiply', [x, apply(tape, 'linear', [x, x], {})], {}) };
    };
    const forward = build();
    forward.g.output('y', forward.y);
    const backward = build();
    const seed = backward.g.input('seed.y', [3, 3]);
    const [dX] = differentiate(backward.tape, backward.y, seed, { wanted: [backward.x] });
    backward.g.output('dX', dX!);
    const next = randomNumbers(5);
    await check(
      { forward: forward.g, backward: backward.g },
      { x: randomTensor([3, 3], next) },
      { y: randomTensor([3, 3], next) },
      { x: 'dX' },
    );
  });
});

/** A tree with two branches, and a row; together in one pack. */
const somePack = (shape: ModelShape): Pack => {
  const trees = [
    packPieces([
      { parent: -1, ids: [1, 2, 3] },
      { parent: 0, ids: [4, 5] },
      { parent: 0, ids: [6, 7, 8] },
    ]),
    packPieces([{ parent: -1, ids: [9, 10, 11, 12] }]),
  ];
  return [...packs(shape, trees, 100)][0]!;
};

describe('The gradients of a whole layer agree with finite differences', () => {
  for (const [name, shape] of Object.entries(shapes))
    it(`of ${name}`, async () => {
      const next = randomNumbers(name.length);
      const rows = 12;
      const { feeds: plan, groups } = somePack(shape);
      const tensors = Object.entries(layerTensors(shape));
      const feeds = {
        ...plan,
        x: randomTensor([rows, shape.hidden], next),
        ...Object.fromEntries(
          tensors.map(([tensor, dims]) => [
            tensor,
            dims.length === 1
              ? randomTensor(dims, next, tensor.endsWith('bias') ? 0 : 1, 0.6)
              : randomTensor(dims, next, 0, 3 / Math.sqrt(dims[1]!)),
          ]),
        ),
      };
      const dY = randomTensor([rows, shape.hidden], next);
      const gradients = {
        x: 'dX',
        ...Object.fromEntries(tensors.map(([tensor]) => [tensor, `d.${tensor}`])),
      };
      const variant = { groups, keepActivations: false };
      const graphs = { forward: layerForward(shape, variant), backward: layerBackward(shape, variant) };
      const sums = Object.fromEntries(tensors.map(([tensor, dims]) => [`sum.${tensor}`, zeros(dims)]));
      // The backward graph calls its seed dY.
      await check(graphs, { ...feeds, ...sums, dY }, { y: dY }, gradients);
    });
});

describe('The gradients of the head agree with finite differences', () => {
  for (const withEntropy of [false, true])
    it(withEntropy ? 'of log-probability and entropy' : 'of log-probability alone', async () => {
      const next = randomNumbers(11);
      const rows = 5;
      const feeds = {
        hidden: randomTensor([rows, TINY.hidden], next),
        norm: randomTensor([TINY.hidden], next, 1, 0.6),
        matrix: randomTensor([TINY.vocabulary, TINY.hidden], next),
        targets: int32(Int32Array.of(3, 0, 22, 7, 3), [rows, 1]),
        sharpness: float32(Float32Array.of(1 / 0.7), []),
      };
      const dLogProb = randomTensor([rows, 1], next);
      const dEntropy = randomTensor([rows, 1], next);
      const seeds = withEntropy ? { logProbs: dLogProb, entropies: dEntropy } : { logProbs: dLogProb };
      const graphs = { forward: headForward(TINY, true), backward: headBackward(TINY, withEntropy) };
      const gradients = { hidden: 'dHidden', norm: 'd.norm', matrix: 'd.matrix' };
      const program = await compile(graphs.forward.build(), { threads: 1 });
      const { probabilities, mixed, entropies } = await program.run(feeds);
      await program.release();
      const sums = {
        'sum.norm': zeros([TINY.hidden]),
        'sum.matrix': zeros([TINY.vocabulary, TINY.hidden]),
      };
      const targets = feeds.targets.data as Int32Array;
      const surplus = float32(floats(probabilities).slice(), [rows, TINY.vocabulary]);
      targets.forEach((target, row) => (floats(surplus)[row * TINY.vocabulary + target]! -= 1));
      const remembered = { probabilities: probabilities!, surplus, mixed: mixed!, entropies: entropies! };
      const addDrawn = ({ 'd.matrix': matrix, drawn }: Record<string, Tensor>): void =>
        targets.forEach((target, row) => {
          for (let i = 0; drawn && i < TINY.hidden; i++)
            floats(matrix)[target * TINY.hidden + i]! += floats(drawn)[row * TINY.hidden + i]!;
        });
      await check(
        graphs,
        { ...feeds, ...sums, ...remembered, dLogProb, dEntropy },
        seeds,
        gradients,
        addDrawn,
      );
    });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { credit } from '../../src/core/advantage.ts';
import { collate, type CollateSettings } from '../../src/core/batch.ts';
import { entropyFactors } from '../../src/core/entropyAdvantage.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  entropies: number[];
  weight: number;
  factors?: number[];
  advantage?: number;
  advantages?: number[];
}

const SETTINGS: CollateSettings = {
  credit: 'soft',
  aggregation: 'token-mean',
  temperature: 1,
  maxResponseTokens: 16,
  trainForced: false,
  skipZeroAdvantage: true,
};
const near = (actual: number, expected: number, tolerance = 1e-6): void =>
  assert.ok(Math.abs(actual - expected) < tolerance, `${actual}, expected ${expected}`);

function credited(rewards?: readonly number[]) {
  const one = attributionTree(rewards);
  one.tree.credit = credit(one.tree, { credit: 'soft', scale: 'group-std', trainForced: false });
  return one;
}

/** [packed token] of the attribution tree: 2 prompt, 3 shared, 2 result, 4 of path 0, 2 of path 2, 5 of path 1, 6 of path 3. */
const entropies = Float32Array.from({ length: 24 }, (_, token) => ((7 * token) % 11) / 5);
const COPIES = [0, 0, 2, 2, 2, 0, 0, ...new Array<number>(17).fill(1)];

describe('entropy-aware advantage', () => {
  for (const { entropies, weight, factors, advantage = 1, advantages } of goldenRows<Row>('entropyAdvantage'))
    it(`scales an advantage of ${advantage} as V7 does`, () => {
      const copies = entropies.map(() => 1);
      const [found] = entropyFactors([{ entropies, copies }], weight);
      (factors ?? advantages!).forEach((expected, token) => near(advantage * found![token]!, expected));
    });

  it('counts a shared token once per trajectory and leaves untrained tokens out', () => {
    const shared = entropyFactors([{ entropies: [9, 0.1, 2], copies: [0, 2, 1] }], 0.2)[0]!;
    const apart = entropyFactors([{ entropies: [0.1, 0.1, 2], copies: [1, 1, 1] }], 0.2)[0]!;
    assert.deepEqual([...shared], [1, apart[1], apart[2]]);
    assert.deepEqual([...entropyFactors([{ entropies: [3, 3], copies: [1, 1] }], 0.2)[0]!], [1, 1]);
    assert.deepEqual([...entropyFactors([{ entropies: [3], copies: [1] }], 0.2)[0]!], [1]);
  });

  it('gives every term of a batch its token’s factor', () => {
    const settings = { ...SETTINGS, entropyAdvantage: { form: 'upstream', weight: 0.2 } } as const;
    const [plain] = collate([credited()], SETTINGS).trees;
    const [scaled] = collate([credited()], settings, [entropies]).trees;
    const [factors] = entropyFactors([{ entropies, copies: COPIES }], 0.2);
    assert.deepEqual(scaled!.termStart, plain!.termStart);
    assert.deepEqual(scaled!.termWeight, plain!.termWeight);
    for (let token = 0; token < 24; token++)
      for (let term = plain!.termStart[token]!; term < plain!.termStart[token + 1]!; term++)
        near(scaled!.termAdvantage[term]!, factors![token]! * plain!.termAdvantage[term]!);
    assert.ok(Math.abs(scaled!.termAdvantage[0]! - plain!.termAdvantage[0]!) > 0.01);
  });

  it('takes mean and deviation of the mini-batch, groups without variance included, or of the token’s group', () => {
    const form = (form: 'paper' | 'upstream') =>
      collate(
        [credited(), credited([1, 1, 1, 1])],
        { ...SETTINGS, entropyAdvantage: { form, weight: 0.2 } },
        [entropies, entropies.map(value => value + 3)],
      ).trees[0]!;
    const [alone] = entropyFactors([{ entropies, copies: COPIES }], 0.2);
    const other = { entropies: entropies.map(value => value + 3), copies: COPIES };
    const [among] = entropyFactors([{ entropies, copies: COPIES }, other], 0.2);
    const advantage = credited().tree.credit!.soft[0]!;
    near(form('paper').termAdvantage[0]!, advantage * alone![2]!);
    near(form('upstream').termAdvantage[0]!, advantage * among![2]!);
    assert.ok(among![2]! < alone![2]!);
  });

  it('refuses to go on without entropies', () => {
    const settings = { ...SETTINGS, entropyAdvantage: { form: 'paper', weight: 0.2 } } as const;
    assert.throws(() => collate([credited()], settings), /entropies were not handed in/);
  });
});

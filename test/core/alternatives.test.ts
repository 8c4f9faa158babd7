import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { alternativeStarts, choiceAt, questionsAt } from '../../src/core/alternatives.ts';
import type { Grown } from '../../src/core/tree.ts';
import type { Segment, Tree } from '../../src/core/types.ts';
import { refused } from '../fakes/decision.ts';

/** What was drawn with which probability, and the two likeliest tokens there. */
type Draw = [id: number, p: number, likely: [number, number][]];

/** Four trajectories from one prompt of two tokens; two go on alike, one ends after a token. */
function fourPaths(): Grown {
  const first: [number, number][] = [
    [7, 0.6],
    [6, 0.3],
  ];
  const draws: Draw[][] = [
    [
      [7, 0.6, first],
      [
        8,
        0.9,
        [
          [8, 0.9],
          [1, 0.05],
        ],
      ],
      [
        9,
        0.5,
        [
          [9, 0.5],
          [1, 0.2],
        ],
      ],
    ],
    [
      [7, 0.6, first],
      [
        8,
        0.9,
        [
          [8, 0.9],
          [1, 0.05],
        ],
      ],
      [
        5,
        0.125,
        [
          [9, 0.5],
          [1, 0.2],
        ],
      ],
    ],
    [[6, 0.3, first]],
    [
      [6, 0.3, first],
      [
        8,
        0.5,
        [
          [8, 0.5],
          [2, 0.25],
        ],
      ],
      [
        9,
        0.5,
        [
          [9, 0.5],
          [2, 0.25],
        ],
      ],
    ],
  ];
  let end = 2;
  const segments = draws.map((turn): Segment => {
    const start = end;
    end += turn.length;
    return { parent: 0, kind: 'model', start, count: turn.length, text: '', turn: 0, stop: 'answer' };
  });
  const tree: Tree = {
    id: '1.0',
    step: 1,
    task: { id: 't', question: '', references: [], ability: '' },
    rule: 'paper',
    initial: 4,
    total: 4,
    segments: [{ parent: -1, kind: 'prompt', start: 0, count: 2, text: '', turn: 0 }, ...segments],
    paths: segments.map((_, i) => ({ leaf: i + 1, origin: 'initial', calls: 0, stop: 'answer' })),
    decisions: [],
  };
  const all = draws.flat();
  const column = (of: (draw: Draw) => number): number[] => [NaN, NaN, ...all.map(of)];
  const likely = all.flatMap(([, , pairs]) => pairs);
  return {
    tree,
    columns: {
      ids: Int32Array.from([0, 0, ...all.map(([id]) => id)]),
      samplerLogProbs: Float32Array.from(column(([, p]) => Math.log(p))),
      trainerLogProbs: Float32Array.from(column(() => -1)),
      entropies: Float32Array.from(column(() => 1)),
      alternatives: {
        k: 2,
        ids: Int32Array.from(likely, ([id]) => id),
        logProbs: Float32Array.from(likely, ([, p]) => Math.log(p)),
      },
    },
  };
}

const rounded = (grown: Grown, segment: number, token: number): unknown => {
  const choice = choiceAt(grown, segment, token);
  return (
    choice && [
      ...choice.likely.map(({ id, probability, paths }) => [id, Number(probability.toFixed(4)), ...paths]),
      Number(choice.rest.toFixed(4)),
    ]
  );
};

describe('alternatives', () => {
  it('are found by counting drawn tokens', () => {
    assert.deepEqual(
      [...alternativeStarts(fourPaths().columns)],
      [-1, -1, ...Array.from({ length: 10 }, (_, i) => 2 * i)],
    );
  });

  it('say which trajectories drew which, and what is left of the probability', () => {
    assert.deepEqual(rounded(fourPaths(), 1, 2), [[7, 0.6, 0, 1], [6, 0.3, 2, 3], 0.1]);
  });

  it('count only trajectories that drew the same tokens before', () => {
    assert.deepEqual(rounded(fourPaths(), 1, 3), [[8, 0.9, 0, 1], [1, 0.05], 0.05]);
    assert.deepEqual(rounded(fourPaths(), 4, 10), [[8, 0.5, 3], [2, 0.25], 0.25]);
  });

  it('are followed by what was drawn without being among the likeliest', () => {
    const expected = [[9, 0.5, 0], [1, 0.2], [5, 0.125, 1], 0.175];
    assert.deepEqual(rounded(fourPaths(), 1, 4), expected);
    assert.deepEqual(rounded(fourPaths(), 2, 7), expected);
  });

  it('are none where no model drew, or none were recorded', () => {
    assert.equal(choiceAt(fourPaths(), 0, 1), undefined);
    const { tree, columns } = fourPaths();
    const { alternatives: _, ...plain } = columns;
    assert.equal(choiceAt({ tree, columns: plain }, 1, 2), undefined);
    assert.ok([...alternativeStarts(plain)].every(start => start === -1));
  });
});

describe('branching questions', () => {
  const { tree } = fourPaths();
  const asking: Tree = {
    ...tree,
    segments: [
      tree.segments[0]!,
      { parent: 0, kind: 'model', start: 2, count: 5, text: '', turn: 0, stop: 'call' },
      { parent: 1, kind: 'tool', start: 7, count: 2, text: '', turn: 1 },
      { parent: 2, kind: 'model', start: 9, count: 5, text: '', turn: 1, stop: 'answer' },
      { parent: 2, kind: 'model', start: 14, count: 5, text: '', turn: 1, stop: 'answer' },
    ],
    paths: [3, 4].map(leaf => ({ leaf, origin: 'initial', calls: 1, stop: 'answer' })),
  };
  const asked = { ...refused, segment: 2, path: 1, windowTokens: 3 };
  const seen = (given: Tree): number[][] =>
    given.segments.map(({ start, count }, segment) =>
      Array.from({ length: count }, (_, i) => start + i).filter(
        token => questionsAt(given, segment, token).length > 0,
      ),
    );

  it('look at the first tokens after the result, on the path that asked', () => {
    assert.deepEqual(seen({ ...asking, decisions: [asked] }), [[], [], [], [], [14, 15, 16]]);
  });

  it('look under the released code’s rule at the turn before the result', () => {
    assert.deepEqual(seen({ ...asking, decisions: [{ ...asked, rule: 'upstream' }] }), [
      [],
      [2, 3, 4],
      [],
      [],
      [],
    ]);
  });
});

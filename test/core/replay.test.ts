import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { compareReplay, isIdentical, type PathReplay } from '../../src/core/replay.ts';
import { causeLines, explained, pathVerdict, treeVerdict } from '../../src/core/replayText.ts';
import type { Grown } from '../../src/core/tree.ts';
import type { Decision } from '../../src/core/types.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { refused } from '../fakes/decision.ts';
import { tinyPieces } from '../fakes/tinyWorld.ts';

/** Path 2 is the branch that path 0 made at its first try; tokens are letters, those of turns with log p −1. */
function measured(change: (grown: Grown) => void = () => undefined): Grown {
  const grown = attributionTree();
  const { tree, columns } = grown;
  columns.ids.forEach((_, token) => (columns.ids[token] = 65 + token));
  for (const { kind, start, count } of tree.segments)
    if (kind === 'model') columns.samplerLogProbs.fill(-1, start, start + count);
  tree.decisions.push({ ...refused, outcome: 'branch', child: 2 });
  change(grown);
  return grown;
}
const against = (change: (grown: Grown) => void): ReturnType<typeof compareReplay> =>
  compareReplay(measured(), measured(change), tinyPieces());
const causes = (paths: readonly PathReplay[]): (string | undefined)[] =>
  paths.map(({ cause }) => cause?.kind);

describe('a tree against its replay', () => {
  it('is identical where tokens, decisions and rewards are, with the largest difference of log p', () => {
    const same = against(() => undefined);
    assert.ok(isIdentical(same));
    assert.deepEqual(same.paths[0], { path: 0, again: 0, shared: 11, compared: 7, largestDifference: 0 });
    assert.equal(
      treeVerdict(same),
      'tree 1.0: identical, 4 trajectories; 1 of 1 branching questions answered alike; every log p equal to the bit',
    );
    const near = against(({ columns }) => (columns.samplerLogProbs[3] = -1.25));
    assert.ok(isIdentical(near));
    assert.deepEqual(
      near.paths.map(({ largestDifference }) => largestDifference),
      [0.25, 0, 0.25, 0],
    );
    assert.equal(pathVerdict(near.paths[0]!), 'identical: 11 tokens; log p of 7 tokens within 2.5e-1');
  });

  it('parts at the first token that differs, and tells the log p of both and what was measured before', () => {
    const { paths } = against(({ columns }) => {
      columns.ids[9] = 97;
      columns.samplerLogProbs[9] = -3;
      columns.samplerLogProbs[8] = -1.5;
    });
    assert.deepEqual(causes(paths), ['sampler', undefined, undefined, undefined]);
    const [first] = paths;
    assert.deepEqual(first!.parting, {
      token: 9,
      segment: 3,
      turn: 1,
      tokenOfSegment: 2,
      before: 'ABCDEFGHI',
      stored: 'JK',
      again: 'aK',
    });
    assert.deepEqual([first!.shared, first!.compared, first!.largestDifference], [9, 5, 0.5]);
    assert.deepEqual(first!.cause, { kind: 'sampler', stored: { logProb: -1 }, again: { logProb: -3 } });
    assert.equal(
      pathVerdict(first!),
      'diverged at token 2 of turn 2 (token 9 of the trajectory): the policy drew another token',
    );
    assert.deepEqual(causeLines(first!), [
      'after  …"ABCDEFGHI"',
      'stored "JK"…',
      'replay "aK"…',
      'stored log p −1.0000, H not logged; replay log p −3.0000, H not logged',
      'before it log p of 5 tokens within 5.0e-1',
      'likely: other weights, or another sampler',
    ]);
  });

  it('tells other random numbers from other weights by the entropy of the distribution that was drawn from', () => {
    const drawn = (entropy: number): Grown =>
      measured(({ columns }) => {
        columns.ids[9] = 90 + entropy;
        columns.entropies[9] = 1 + entropy / 8;
      });
    const last = (again: Grown): string => {
      const { paths } = compareReplay(
        measured(({ columns }) => (columns.entropies[9] = 1)),
        again,
        tinyPieces(),
      );
      return causeLines(paths[0]!).at(-1)!;
    };
    assert.match(last(drawn(0)), /^likely: other random numbers/);
    assert.match(
      last(drawn(2)),
      /^likely: other weights, another engine or device, for H differs by 2\.5e-1$/,
    );
  });

  it('blames a shared answer for all trajectories behind it', () => {
    const call = { tool: 'search', argument: 'a', outcome: 'ok', latencyMs: 1, shared: false } as const;
    const stored = measured(({ tree }) =>
      Object.assign(tree.segments[2]!, { turn: 1, call, text: ' <result>\n1\n</result>' }),
    );
    const again = measured(({ tree, columns }) => {
      Object.assign(tree.segments[2]!, {
        turn: 1,
        call: { ...call, outcome: 'error' },
        text: ' <result>\n2\n</result>',
      });
      columns.ids[6] = 97;
    });
    const { paths } = compareReplay(stored, again, tinyPieces());
    assert.deepEqual(causes(paths), ['tool', undefined, 'tool', undefined]);
    assert.deepEqual(causeLines(paths[2]!).slice(0, 3), [
      'search("a")',
      'stored (ok): "1"',
      'replay (error): "2"',
    ]);
    assert.deepEqual(
      explained(paths).map(({ path, lines, head }) => [
        path.path,
        lines.length,
        head.endsWith(', as of trajectory 0'),
      ]),
      [
        [0, 4, false],
        [2, 0, true],
      ],
    );
    assert.equal(
      pathVerdict(paths[2]!),
      'diverged at token 1 of the result after turn 1 (token 6 of the trajectory): the tool answered differently',
    );
  });

  it('pairs trajectories by how they came about, and explains those that one side lacks by the question', () => {
    const { paths, decisions } = against(({ tree }) => {
      // The branch was refused, and the group filled up from the prompt.
      tree.decisions[0] = { ...refused };
      tree.paths.splice(2, 1);
      tree.paths.push({ ...tree.paths[1]!, origin: 'fill' });
    });
    assert.deepEqual(decisions, { stored: 1, same: 0 });
    assert.deepEqual(
      paths.map(({ path, again }) => [path, again]),
      [
        [0, 0],
        [1, 1],
        [2, undefined],
        [3, 3],
        [undefined, 2],
      ],
    );
    assert.deepEqual(causes(paths), ['decision', undefined, 'decision', 'sampler', 'group']);
    assert.deepEqual(causeLines(paths[2]!), [
      'stored: H₀ .2100, Hₜ .5300, P .46 > τ .50 → branched (4 of 8 made)',
      'replay: H₀ .2100, Hₜ .5300, P .46 ≤ τ .50 → refused (4 of 8 made)',
    ]);
    assert.equal(
      pathVerdict(paths[0]!),
      'a branching question was answered otherwise after the same 11 tokens',
    );
  });

  it('tells an end from a further turn, and another reward of the same tokens', () => {
    const { paths } = against(({ tree, columns }) => {
      columns.ids = columns.ids.slice();
      tree.segments[3]!.count = 2;
      tree.segments[3]!.stop = 'length';
      tree.paths[1]!.reward = { total: 0.5, parts: {}, correct: false, reason: 'half' };
    });
    assert.deepEqual(causes(paths), ['end', 'reward', undefined, undefined]);
    assert.deepEqual(causeLines(paths[0]!).slice(0, 2), [
      'stored goes on with its turn',
      'replay ends: its turn stopped by length',
    ]);
    assert.deepEqual(causeLines(paths[1]!), ['stored: 0 ()', 'replay: .5 (half)']);
  });

  it('counts a question that only one side asked as answered otherwise', () => {
    const asked: Decision = { ...refused, segment: 2, path: 3, outcome: 'budget' };
    const { paths, decisions } = against(({ tree }) => void tree.decisions.push(asked));
    assert.deepEqual(decisions, { stored: 1, same: 1 });
    assert.equal(paths[3]!.cause?.kind, 'decision');
    assert.equal(causeLines(paths[3]!)[0], 'stored: not asked');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Overlay, Trajectory } from '../../src/extension/overlay.ts';
import {
  decorationsIn,
  MOST_DECORATIONS,
  mostUncertain,
  OVERLAYS,
  segmentLens,
  tintedRuns,
  untrainedRanges,
} from '../../src/extension/overlay.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { bytePieces, makeTree, smallTree } from './fixture.ts';

const whole = { from: 0, to: Infinity };

function small(path: number): Trajectory {
  const { tree, columns } = smallTree();
  return { tree, path, columns, layout: layOut(tree, path, { ids: columns.ids, pieces: bytePieces }) };
}

const shown = (
  trajectory: Trajectory,
  overlay: Overlay,
  credit: 'used' | 'soft' | 'hard' = 'used',
): [string, string][] =>
  tintedRuns(trajectory, overlay, credit, whole).map(({ tint, start, end }) => [
    tint,
    trajectory.layout.text.slice(start, end),
  ]);

describe('overlay', () => {
  it('tints the trained text only, in one run per segment', () => {
    assert.deepEqual(shown(small(1), 'mask'), [
      ['trained', '<think>Look it\nup.</think>\n<search>city</search>'],
      ['trained', 'I do not know'],
    ]);
  });

  it('tints by the credit that the update used (hard), and by the other on demand', () => {
    assert.deepEqual(
      shown(small(1), 'advantage').map(([tint]) => tint),
      ['minus2'],
    );
    assert.deepEqual(
      shown(small(1), 'advantage', 'soft').map(([tint]) => tint),
      ['minus2', 'minus2'],
    );
    assert.deepEqual(
      shown(small(0), 'advantage', 'soft').map(([tint]) => tint),
      ['plus2', 'plus2'],
    );
  });

  it('adds what the comparison of turns gave under step-level credit', () => {
    const trajectory = small(1);
    const { tree } = trajectory;
    const through = pathsThrough(tree);
    const last = tree.paths[1]!.leaf;
    const steps = tree.segments.map((_, segment) =>
      through[segment]!.map(path => (segment === last && path === 1 ? 4 : 0)),
    );
    tree.credit = { ...tree.credit!, steps, used: 'step' };
    assert.deepEqual(
      shown(trajectory, 'advantage').map(([tint]) => tint),
      ['minus2', 'plus2'],
    );
  });

  it('quantises entropy in nats to four tints and leaves certain tokens alone', () => {
    // Entropies run 0, .5, 1, 1.5, 2 by token of the tree, and the answer begins at token 96.
    assert.deepEqual(shown(small(1), 'entropy').slice(-8), [
      ['entropy2', 'I'],
      ['entropy3', ' d'],
      ['entropy4', 'o'],
      ['entropy2', 'n'],
      ['entropy3', 'ot'],
      ['entropy4', ' '],
      ['entropy2', 'n'],
      ['entropy3', 'ow'],
    ]);
  });

  it('tints by the drawn token’s probability and by the distance of trainer and sampler', () => {
    const trajectory = small(1);
    const { columns, layout } = trajectory;
    const last = layout.segments.at(-1)!;
    const [unlikely, apart, unmeasured] = [last.from, last.from + 1, last.from + 2].map(
      token => layout.tokens[token]!,
    ) as [number, number, number];
    columns.samplerLogProbs.fill(-0.05);
    columns.trainerLogProbs.fill(-0.05);
    columns.samplerLogProbs[unlikely] = Math.log(0.04);
    columns.trainerLogProbs[unlikely] = Math.log(0.04);
    columns.trainerLogProbs[apart] = -0.05 - 0.02;
    columns.samplerLogProbs[unmeasured] = NaN;
    assert.deepEqual(shown(trajectory, 'log-prob'), [['logProb4', 'I']]);
    assert.deepEqual(shown(trajectory, 'mismatch'), [['mismatch2', ' ']]);
  });

  it('tints inside the stretch only', () => {
    const trajectory = small(1);
    const from = trajectory.layout.text.indexOf('I do not');
    const runs = tintedRuns(trajectory, 'entropy', 'used', { from, to: from + 3 });
    assert.deepEqual(
      runs.map(({ start }) => start - from),
      [0, 1],
    );
    assert.deepEqual(tintedRuns(trajectory, 'none', 'used', whole), []);
  });

  it('decorates at most 1,000 ranges, the ruler’s marks and dimmed text included, and leaves the faintest out first', () => {
    const text = 'ab'.repeat(4000);
    const grown = makeTree([
      { parent: -1, kind: 'prompt', text: 'Say it.', turn: 0 },
      { parent: 0, kind: 'model', text, turn: 0, extra: { stop: 'answer' } },
    ]);
    grown.tree.paths = [{ leaf: 1, origin: 'initial', calls: 0, stop: 'answer' }];
    grown.tree.decisions = [];
    const { tree, columns } = grown;
    for (const overlay of OVERLAYS) {
      const trajectory = {
        tree,
        columns,
        path: 0,
        layout: layOut(tree, 0, { ids: columns.ids, pieces: bytePieces }),
      };
      const { tints, untrained, marks } = decorationsIn(trajectory, overlay, 'used', {
        seen: whole,
        near: whole,
      });
      assert.ok(tints.length + untrained.length + marks.length < MOST_DECORATIONS, overlay);
      if (overlay !== 'entropy') continue;
      // One is kept for the mark of a comparison.
      assert.equal(tints.length + untrained.length + marks.length, MOST_DECORATIONS - 1);
      assert.ok(tints.every(({ tint }) => tint === 'entropy4'));
      const narrow = { from: 0, to: 400 };
      const seen = decorationsIn(trajectory, overlay, 'used', { seen: narrow, near: whole }).tints;
      assert.ok(seen.length > 50 && seen.every(({ start }) => start < 400));
    }
  });

  it('marks the branching questions that made a trajectory, and no others', () => {
    const trajectory = small(1);
    const forks = (): readonly number[] =>
      decorationsIn(trajectory, 'none', 'used', { seen: whole, near: whole }).forks;
    const lines = trajectory.layout.text.split('\n');
    assert.deepEqual(
      forks(),
      lines.flatMap((line, number) => (/^── branching: .*branched/.test(line) ? [number] : [])),
    );
    assert.equal(forks().length, 1);
    for (const { decision } of trajectory.layout.questions) Object.assign(decision, { outcome: 'refuse' });
    assert.deepEqual(forks(), []);
  });

  it('knows the untrained text and the most uncertain tokens', () => {
    const trajectory = small(0);
    const text = trajectory.layout.text;
    assert.deepEqual(
      untrainedRanges(trajectory).map(([start, end]) => text.slice(start, end)),
      ['Largest city?\n', '<result>\nOslo\n</result>'],
    );
    const top = mostUncertain(trajectory, 3);
    assert.deepEqual(
      top.map(token => trajectory.columns.entropies[trajectory.layout.tokens[token]!]),
      [2, 2, 2],
    );
  });

  it('says of a segment what its text does not: latency, entropies, mismatch, advantage', () => {
    const trajectory = small(1);
    assert.deepEqual(
      trajectory.layout.segments.map(place => segmentLens(trajectory, place, 'used')),
      [
        '14 tokens',
        'turn 1 · 48 tokens · H mean .99, highest 2.00 · |Δ log p| 2.5e-1 · A +.00 (hard)',
        'search ok · 412 ms · 23 tokens',
        'turn 2 · 13 tokens · H mean 1.00, highest 2.00 · |Δ log p| 2.5e-1 · A −1.00 (hard)',
      ],
    );
  });
});

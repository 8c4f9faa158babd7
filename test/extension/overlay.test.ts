import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { pathsThrough } from '../../src/core/tree.ts';
import type { Trajectory } from '../../src/extension/overlay.ts';
import {
  mostUncertain,
  segmentLens,
  tintedRuns,
  tokenFacts,
  untrainedRanges,
} from '../../src/extension/overlay.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { bytePieces, smallTree } from './fixture.ts';

const whole = { from: 0, to: Infinity, limit: 1000 };

function small(path: number): Trajectory {
  const { tree, columns } = smallTree();
  return { tree, path, columns, layout: layOut(tree, path, columns.ids, bytePieces) };
}

const shown = (
  trajectory: Trajectory,
  overlay: 'entropy' | 'advantage' | 'mask',
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

  it('stops at the limit and at the window’s edges', () => {
    const trajectory = small(1);
    assert.equal(tintedRuns(trajectory, 'entropy', 'used', { ...whole, limit: 3 }).length, 3);
    const from = trajectory.layout.text.indexOf('I do not');
    assert.ok(
      tintedRuns(trajectory, 'entropy', 'used', { from, to: from + 3, limit: 1000 }).every(
        run => run.start >= from && run.start < from + 3,
      ),
    );
    assert.deepEqual(tintedRuns(trajectory, 'none', 'used', whole), []);
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
        'turn 1 · 48 tokens · H mean 0.99, highest 2.00 · |Δ log p| 2.5e-1 · A +0.00 (hard)',
        'search ok · 412 ms · 23 tokens',
        'turn 2 · 13 tokens · H mean 1.00, highest 2.00 · |Δ log p| 2.5e-1 · A −1.00 (hard)',
      ],
    );
  });

  it('names a token’s numbers, and says where none was measured', () => {
    const trajectory = small(0);
    const facts = Object.fromEntries(tokenFacts(trajectory, 14, Uint8Array.of(0x3c)));
    assert.deepEqual(facts, {
      Token: '60, number 14 of the trajectory',
      Bytes: '3c',
      Entropy: '2.0000 nats',
      'Log-probability, sampler': '−0.50000',
      'Log-probability, trainer': '−0.25000',
      'Trainer − sampler': '0.250000',
      'Advantage, soft': '+1.00',
      'Advantage, hard': '+0.00',
      Trained: 'yes',
    });
    assert.equal(Object.fromEntries(tokenFacts(trajectory, 0, Uint8Array.of(0x4c))).Entropy, 'not measured');
  });
});

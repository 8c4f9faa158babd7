import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Trajectory } from '../../src/extension/overlay.ts';
import { clipBranch, type ClipSettings, tokenFacts } from '../../src/extension/tokenFacts.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { bytePieces, smallTree } from './fixture.ts';

const BOUNDS = { clip: 'ppo', clipLow: 0.2, clipHigh: 0.28, dualClip: 3 } as const;
const settings: ClipSettings = { ...BOUNDS, ratio: 'token', updatesPerStep: 1 };

function small(path: number): Trajectory {
  const { tree, columns } = smallTree();
  return { tree, path, columns, layout: layOut(tree, path, { ids: columns.ids, pieces: bytePieces }) };
}

const facts = (trajectory: Trajectory, token: number, clip?: ClipSettings): Record<string, string> =>
  Object.fromEntries(tokenFacts(trajectory, token, Uint8Array.of(0x3c), clip));

describe('token facts', () => {
  it('names a token’s numbers, and says where none was measured or recorded', () => {
    assert.deepEqual(facts(small(0), 14), {
      Token: '60 · 3c · number 14 of the trajectory',
      Entropy: '2.0000 nats',
      'Log-probability, sampler': '−.50000 (60.7 %)',
      'Log-probability, trainer': '−.25000 (77.9 %)',
      'Trainer − sampler': '.250000, ratio 1.28403',
      Advantage: 'soft +1.00, hard +.00',
      Mask: '1, trained',
      'Prefix weight': '2: 2 trajectories of 2 pass here',
      Alternatives: 'not recorded',
    });
    const first = small(0).layout.segments[3]!.from;
    assert.equal(
      facts(small(0), first + 2)['Branching'],
      'token 3 of 10 that Hₜ .52 was measured on: P .56 ≥ draw .40 → branched',
    );
    // The branch did not answer the question; and what lies behind the window neither.
    assert.equal(facts(small(1), first)['Branching'], undefined);
    assert.equal(facts(small(0), first + 10)['Branching'], undefined);
    const { alternatives, columns } = {
      ...small(0),
      alternatives: { k: 0, ids: new Int32Array(), logProbs: new Float32Array() },
    };
    assert.equal(
      facts({ ...small(0), columns: { ...columns, alternatives } }, 14)['Alternatives'],
      undefined,
    );
    assert.equal(facts(small(0), 0).Entropy, 'not measured');
    assert.equal(facts(small(0), 0).Mask, '0, not trained');
    assert.equal(facts(small(0), 0, settings)['Clip branch'], undefined);
  });

  it('knows that a single update’s ratio is 1, so that nothing is clipped', () => {
    const last = small(1).layout.tokens.length - 1;
    const { 'Ratio in the update': ratio, 'Clip branch': branch } = facts(small(1), last, settings);
    assert.equal(ratio, '1, the step has a single update');
    assert.equal(branch, 'free: A·r = −1.00, bounds [.80, 1.28]');
  });

  it('takes the recorded ratio, and says so, where the updates’ own were not recorded', () => {
    const last = small(1).layout.tokens.length - 1;
    const many = { ...settings, updatesPerStep: 4 };
    const told = facts(small(1), last, many);
    assert.equal(told['Ratio in the update'], '1 in the first of 4, then not recorded');
    assert.equal(
      told['Clip branch'],
      'free: A·r = −1.28, bounds [.80, 1.28] (at trainer ÷ sampler, 1.28403)',
    );
    // All of the fixture’s tokens have the same ratio, so that its mean over the trajectory is that too.
    assert.equal(facts(small(1), last, { ...many, ratio: 'sequence' })['Clip branch'], told['Clip branch']);
  });

  it('says which side of the minimum won', () => {
    assert.equal(
      clipBranch(1, 1.5, BOUNDS),
      'clipped high: A·clamp(r) = +1.28, bounds [.80, 1.28], no gradient',
    );
    assert.equal(clipBranch(1, 0.5, BOUNDS), 'free: A·r = +.50, bounds [.80, 1.28]');
    assert.equal(
      clipBranch(-1, 0.5, BOUNDS),
      'clipped low: A·clamp(r) = −.80, bounds [.80, 1.28], no gradient',
    );
    assert.equal(clipBranch(-1, 4, BOUNDS), 'dual clip: A·3 = −3.00, no gradient');
    assert.match(clipBranch(1, 1.5, { ...BOUNDS, clip: 'gradient-preserving-upper' }), /gradient kept$/);
    assert.equal(
      clipBranch(1, 1.5, { ...BOUNDS, clip: 'cispo' }),
      'weight clipped high, outside [.80, 1.28]',
    );
  });
});

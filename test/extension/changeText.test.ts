import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'mocha';
import type { PathChange } from '../../src/core/likelihood.ts';
import { changeFacts, changeLines, changeTint } from '../../src/extension/changeText.ts';
import { openChanges } from '../../src/extension/changes.ts';
import { segmentLens, tintedRuns } from '../../src/extension/overlay.ts';
import { tokenFacts } from '../../src/extension/tokenFacts.ts';
import { addressOf, addressParts } from '../../src/extension/trajectoryAddress.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { attributionTree } from '../fakes/attributionTree.ts';
import { tinyPieces } from '../fakes/tinyWorld.ts';

const numbers = (own: readonly number[]): number[] => [
  NaN,
  NaN,
  ...own.slice(0, 3),
  NaN,
  NaN,
  ...own.slice(3),
];
/** Of path 0, whose tokens are the letters A to K. */
const change: PathChange = {
  names: ['initial', 'step-000004'],
  before: { logProbs: numbers([-1, -1, -1, -2, -2, -2, -2]), entropies: numbers([1, 1, 1, 1, 1, 1, 1]) },
  after: {
    logProbs: numbers([-1, -0.5, -3, -1, -2, -2.25, -1.95]),
    entropies: numbers([1, 1, 1, 2, 1, 1, 1]),
  },
};
const grown = attributionTree();
grown.columns.ids.forEach((_, token) => (grown.columns.ids[token] = 65 + token));
const words = { ids: grown.columns.ids, pieces: tinyPieces() };
const above = changeLines({ tree: grown.tree, path: 0, ...words }, change);
const trajectory = { ...grown, path: 0, layout: layOut(grown.tree, 0, words, { above }), change };

describe('what two checkpoints make of a trajectory', () => {
  it('stands in the head of its text: the sum, each turn’s, and the tokens that rose and fell most', () => {
    assert.deepEqual(above, [
      '# Δ log p from initial to step-000004: −.70 over 7 drawn tokens',
      '# Turn 1: −1.50 over 3 tokens, entropy +.00 on average',
      '# Turn 2: +.80 over 4 tokens, entropy +.25 on average',
      '# Most raised: "H" +1.00 · "D" +.50 · "K" +.05',
      '# Most lowered: "E" −2.00 · "J" −.25',
    ]);
    assert.ok(trajectory.layout.text.includes(above.join('\n')));
  });

  it('is its tint whatever overlay is chosen: signs by underline, stronger from 1 nat, none for what others wrote', () => {
    assert.deepEqual([1, 0.1, 0.09, -0.1, -1, NaN].map(changeTint), [
      'plus2',
      'plus1',
      undefined,
      'minus1',
      'minus2',
      undefined,
    ]);
    const { text } = trajectory.layout;
    for (const overlay of ['entropy', 'none', 'mask'] as const)
      assert.deepEqual(
        tintedRuns(trajectory, overlay, 'used', { from: 0, to: text.length }).map(({ tint, start, end }) => [
          tint,
          text.slice(start, end),
        ]),
        [
          ['plus1', 'D'],
          ['minus2', 'E'],
          ['plus2', 'H'],
          ['minus1', 'J'],
        ],
      );
  });

  it('is told of a turn by its lens, and of a token by its hover, with both numbers', () => {
    const [, first, result] = trajectory.layout.segments;
    assert.match(segmentLens(trajectory, first!, 'used'), /Δ log p −1\.50, H \+\.00/);
    assert.doesNotMatch(segmentLens(trajectory, result!, 'used'), /Δ log p −|Δ log p \+/);
    assert.deepEqual(changeFacts(change, 7), [
      ['Log-probability, initial', '−2.00000 (13.5 %)'],
      ['Log-probability, step-000004', '−1.00000 (36.8 %)'],
      ['Change', '+1.00000, 2.718 times as likely'],
      ['Entropy, initial → step-000004', '1.0000 → 2.0000 nats'],
    ]);
    assert.equal(changeFacts(change, 0)[2]![1], 'not drawn');
    assert.deepEqual(tokenFacts(trajectory, 7, new Uint8Array([72])).slice(1, 5), changeFacts(change, 7));
  });

  it('has an address of its own, so that the trajectory itself looks as before', () => {
    const plain = { runFolder: '/runs/r', tree: '3.0', path: 1 };
    const compared = { ...plain, checkpoints: change.names };
    const { path, query } = addressParts(compared);
    assert.equal(path, '/r/r 3.0 path 1 initial → step-000004.trajectory');
    assert.deepEqual(addressOf(query), compared);
    assert.deepEqual(addressOf(addressParts(plain).query), plain);
    const { contributes } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      contributes: { menus: Record<string, { command: string; when: string }[]> };
    };
    const ofOverlays = ['editor/title', 'commandPalette']
      .flatMap(menu => contributes.menus[menu]!)
      .filter(({ command }) => /Overlay|toggleMask/.test(command));
    assert.equal(ofOverlays.length, 6);
    for (const { when } of ofOverlays) {
      const name = new RegExp(/resourceFilename =~ \/(.*)\/$/.exec(when)![1]!);
      assert.deepEqual(
        [addressParts(plain).path, path].map(one => name.test(one)),
        [true, false],
        when,
      );
    }
    const changes = openChanges();
    changes.keep(compared, change);
    assert.equal(changes.find(compared), change);
    assert.equal(changes.find(plain), undefined);
    assert.throws(
      () => changes.find({ ...compared, path: 2 }),
      /does not know how initial and step-000004 compare/,
    );
  });
});

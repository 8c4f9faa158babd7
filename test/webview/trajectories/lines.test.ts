import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { labelOf, nextHeading, transcript } from '../../../webview/trajectories/lines.ts';
import { smallTree } from '../../extension/fixture.ts';

describe('a transcript', () => {
  it('has who spoke, the numbers, the text and the reasons for branches', () => {
    const { tree } = smallTree();
    const lines = transcript(tree, 1, 80);
    assert.deepEqual(
      lines.map(({ kind, text, facts }) => [kind, text, ...(facts === undefined ? [] : [facts])]),
      [
        ['heading', 'Prompt', '14 tokens · not trained'],
        ['text', 'Largest city?'],
        ['blank', ''],
        ['heading', 'Model, turn 1', '48 tokens · H .21 · A 0 · ended by call'],
        ['text', '<think>Look it'],
        ['text', 'up.</think>'],
        ['text', '<search>city</search>'],
        ['blank', ''],
        ['heading', 'Tool search', '23 tokens · ok · 412 ms · not trained'],
        ['text', '<result>'],
        ['text', 'Oslo'],
        ['text', '</result>'],
        ['decision', '↳ trajectory 0 asked: P .56 ≥ draw .40 → branched, trajectory 1'],
        ['blank', ''],
        ['heading', 'Model, turn 2', '13 tokens · A −1.00 · ended by length'],
        ['text', 'I do not know'],
        ['blank', ''],
      ],
    );
    assert.deepEqual(
      lines
        .filter(({ isDim }) => !isDim)
        .map(({ segment }) => segment)
        .filter((one, i, all) => one !== all[i - 1]),
      [1, 4],
    );
    assert.equal(labelOf(lines[3]!), 'Model, turn 1, 48 tokens · H .21 · A 0 · ended by call');
  });

  it('has the advantage that the update used, also where it compared turns of the same state', () => {
    const { tree } = smallTree();
    tree.credit = {
      soft: [1, -1],
      hard: [null, 0, null, 1, -1],
      used: 'step',
      steps: [[], [0.5, 0.25], [], [0], [0]],
    };
    assert.match(transcript(tree, 1, 80)[3]!.facts!, /A −\.75/);
  });

  it('says of an imported trajectory what is not logged', () => {
    const { tree } = smallTree();
    delete tree.credit;
    tree.imported = { source: 'verl', hasTokens: false };
    assert.equal(
      transcript(tree, 1, 80)[3]!.facts,
      'tokens not logged · H .21 · advantage not logged · ended by call',
    );
  });

  it('wraps, shows control characters, and goes from heading to heading', () => {
    const { tree } = smallTree();
    tree.segments[2]!.text = `${'x'.repeat(200)}\u0007`;
    const lines = transcript(tree, 1, 80);
    assert.ok(lines.every(({ kind, text }) => kind !== 'text' || text.length <= 80));
    assert.ok(lines.some(({ text }) => text.endsWith('x␇')));
    assert.equal(nextHeading(lines, 0, 1), 3);
    assert.equal(nextHeading(lines, 3, -1), 0);
    assert.equal(nextHeading(lines, 0, -1), 0);
  });
});

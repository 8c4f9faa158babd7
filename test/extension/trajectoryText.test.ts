import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { textOf } from '../../src/core/pieces.ts';
import { LINE_WIDTH, layOut, lineOf, tokenAt } from '../../src/extension/trajectoryText.ts';
import { bytePieces, makeTree, smallTree } from './fixture.ts';

const PATH_ONE = `# Tree 41.3 · trajectory 1 of 2 (branch) · reward −1.00 (wrong) · advantage −1.00 · 98 tokens (85 shared) · 1 tool call · ended by length
# Task world-7 (lookup) · accepted: Oslo | oslo
# No answer was found.

── prompt · 14 tokens · not trained ──
Largest city?


── turn 1 · model · 48 tokens · H .21 · A −1.00 · ended by call ──
<think>Look it
up.</think>
<search>city</search>

── tool · search · ok · 412 ms · 23 tokens · not trained ──
<result>
Oslo
</result>
── branching: path 0 asked · H₀ .21 · Hₜ .52 of 10 tokens · ΔH +.31 · P .56 · draw .40 · branched: path 1 ──
── here path 1 left path 0 ──

── turn 2 · model · 13 tokens · A −1.00 · ended by length ──
I do not know
`;

describe('trajectory as text', () => {
  it('reads a trajectory from the prompt to its leaf, with every number that the record holds', () => {
    const { tree, columns } = smallTree();
    assert.equal(layOut(tree, 1, { ids: columns.ids, pieces: bytePieces }).text, PATH_ONE);
  });

  it('gives every token the range of its own characters; of the tokens that make one character, one has text', () => {
    const { tree, columns } = smallTree();
    const { text, tokens, starts, ends, segments } = layOut(tree, 0, {
      ids: columns.ids,
      pieces: bytePieces,
    });
    for (const { segment, from, to } of segments) {
      const shown = Array.from({ length: to - from }, (_, i) =>
        text.slice(starts[from + i], ends[from + i]),
      ).join('');
      assert.equal(shown, tree.segments[segment]!.text);
      assert.equal(tokens[from], tree.segments[segment]!.start);
    }
    // é is two bytes and two tokens, 😀 four: only one token of each has text.
    const tail = Array.from(starts, (start, i) => text.slice(start, ends[i])).slice(-6);
    assert.deepEqual(tail.toSorted(), ['', '', '', '', 'é', '😀'].toSorted());
  });

  it('finds the token under an offset, and none on headings', () => {
    const { tree, columns } = smallTree();
    const layout = layOut(tree, 0, { ids: columns.ids, pieces: bytePieces });
    for (let token = 0; token < layout.tokens.length; token++)
      for (let offset = layout.starts[token]!; offset < layout.ends[token]!; offset++)
        assert.equal(tokenAt(layout, offset), token);
    assert.equal(tokenAt(layout, 0), undefined);
    assert.equal(tokenAt(layout, layout.text.indexOf('── turn 1')), undefined);
    assert.equal(tokenAt(layout, layout.text.length), undefined);
  });

  it('folds a turn with the answers to its calls, a tool’s answer, and a think block', () => {
    const { tree, columns } = smallTree();
    const { folds } = layOut(tree, 0, { ids: columns.ids, pieces: bytePieces });
    assert.deepEqual(
      folds.map(({ firstLine, lastLine, what }) => [firstLine, lastLine, what]),
      [
        [4, 6, 'segment'],
        [8, 16, 'turn'],
        [9, 10, 'think'],
        [13, 16, 'segment'],
        [19, 20, 'segment'],
      ],
    );
  });

  it('wraps long lines and maps 3,000 tokens over the breaks; control characters are shown, not swallowed', () => {
    const long = `${'word '.repeat(300)}${'x'.repeat(1480)}\r\u0000`;
    const { tree, columns } = makeTree([
      { parent: -1, kind: 'prompt', text: 'q', turn: 0 },
      { parent: 0, kind: 'model', text: long, turn: 0 },
      { parent: 1, kind: 'tool', text: 'r', turn: 1 },
      { parent: 2, kind: 'model', text: 's', turn: 1 },
      { parent: 2, kind: 'model', text: 't', turn: 1 },
    ]);
    const { text, starts, ends, lineStarts, segments } = layOut(tree, 0, {
      ids: columns.ids,
      pieces: bytePieces,
    });
    const { from, to, firstLine, lastLine } = segments[1]!;
    assert.ok(
      text
        .split('\n')
        .slice(firstLine)
        .every(line => line.length <= LINE_WIDTH),
    );
    assert.equal(lastLine - firstLine + 1, 15);
    const shown = Array.from({ length: to - from }, (_, i) =>
      text.slice(starts[from + i], ends[from + i]),
    ).join('');
    assert.equal(shown, long.replace('\r', '␍').replace('\u0000', '␀'));
    assert.equal(lineOf(lineStarts, starts[from]!), firstLine);
    assert.equal(textOf(bytePieces, columns.ids.subarray(1, 3)), 'wo');
  });

  it('says which trajectories there are when asked for another', () => {
    const { tree, columns } = smallTree();
    assert.throws(
      () => layOut(tree, 2, { ids: columns.ids, pieces: bytePieces }),
      /Tree 41\.3 has 2 paths, none with index 2\./,
    );
  });

  it('shows what is known of a tree that still grows, and of a run without a vocabulary', () => {
    const { tree } = smallTree();
    const finished = layOut(tree, 1, undefined);
    assert.ok(finished.text.includes('\nI do not know\n'));
    assert.equal(finished.tokens.length, 0);
    for (const segment of tree.segments) segment.text = '';
    const growing = layOut(tree, 1, undefined, { isGrowing: true });
    assert.match(growing.text, /^# Tree 41\.3 · trajectory 1 of 2 so far \(branch\) · growing /);
    assert.ok(growing.text.includes('\n(13 tokens, their text is written when the tree is done)\n'));
    assert.equal(growing.segments.length, 4);
  });

  it('lays a tool’s answer of a megabyte on one line out in lines that an editor renders', () => {
    const answer = 'x'.repeat(1 << 20);
    const { tree, columns } = makeTree([
      { parent: -1, kind: 'prompt', text: 'Fetch it.', turn: 0 },
      { parent: 0, kind: 'tool', text: answer, turn: 1 },
    ]);
    tree.paths = [{ leaf: 1, origin: 'initial', calls: 1, stop: 'length' }];
    tree.decisions = [];
    const { text, starts, ends } = layOut(tree, 0, { ids: columns.ids, pieces: bytePieces });
    assert.ok(text.split('\n').every(line => line.length <= 2 * LINE_WIDTH));
    assert.equal(text.replaceAll(/[^x]/g, '').length, answer.length);
    assert.equal(ends.at(-1)! - starts.at(-1)!, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { makePieces } from '../../src/core/pieces.ts';
import { choiceTable, pieceText, windowTable } from '../../src/extension/tokenChoice.ts';
import type { Trajectory } from '../../src/extension/overlay.ts';
import { layOut } from '../../src/extension/trajectoryText.ts';
import { bytePieces, smallTree } from './fixture.ts';

const OSLO = new TextEncoder().encode('O')[0]!;
const I = new TextEncoder().encode('I')[0]!;

/** The small tree; its drawn tokens all have the probability e^−½, and two alternatives: `|` and themselves or, where asked, `x`. */
function recorded(path: number, hasOwn = true): Trajectory {
  const { tree, columns } = smallTree();
  const drawn = [...columns.ids.keys()].filter(token => !Number.isNaN(columns.samplerLogProbs[token]));
  const second = hasOwn ? (token: number): number => columns.ids[token]! : (): number => 120;
  const alternatives = {
    k: 2,
    ids: Int32Array.from(drawn.flatMap(token => [second(token), 124])),
    logProbs: Float32Array.from(drawn.flatMap(() => [-0.5, Math.log(0.25)])),
  };
  const layout = layOut(tree, path, { ids: columns.ids, pieces: bytePieces });
  return { tree, path, columns: { ...columns, alternatives }, layout };
}

/** The first token of a path's answer, in the layout and in the tree. */
const answerAt = ({ layout }: Trajectory): number => layout.segments.at(-1)!.from;

/** As Markdown splits a row: at every pipe before which stands no backslash, or an even number of them; the backslash before one goes. */
function cellsOf(line: string): string[] {
  const parts = line.split('|');
  const cells = [''];
  parts.forEach((part, i) => {
    const cell = cells.pop()!;
    const isEscaped = /\\*$/.exec(part)![0].length % 2 === 1;
    if (isEscaped) cells.push(`${cell}${part.slice(0, -1)}|`);
    else if (i === parts.length - 1) cells.push(cell + part);
    else cells.push((cell + part).trim(), '');
  });
  return cells.slice(1, -1);
}

describe('the choice at a token', () => {
  it('marks what this trajectory drew, names who drew another, and leaves nothing of the probability out', () => {
    const trajectory = recorded(0);
    const table = choiceTable(trajectory, answerAt(trajectory), bytePieces);
    assert.equal(trajectory.columns.ids[trajectory.layout.tokens[answerAt(trajectory)]!], OSLO);
    assert.deepEqual(table?.trim().split('\n'), [
      '|  | &emsp;Probability | &emsp;Likeliest here | &emsp;Drawn by trajectory |',
      '|:-|-:|:-|:-|',
      '| ▸ | &emsp;60.65 % | &emsp;**`O`** | &emsp;this one |',
      '|  | &emsp;25.00 % | &emsp;`\\|` | &emsp; |',
      '|  | &emsp;60.65 % | &emsp;`I` | &emsp;1 |',
      '|  | &emsp;< 0.01 % | &emsp;all others | &emsp; |',
    ]);
  });

  it('marks the same place of the trajectory that parts there', () => {
    const trajectory = recorded(1);
    const table = choiceTable(trajectory, answerAt(trajectory), bytePieces)!;
    assert.equal(trajectory.columns.ids[trajectory.layout.tokens[answerAt(trajectory)]!], I);
    assert.match(table, /\| ▸ \| &emsp;60\.65 % \| &emsp;\*\*`I`\*\* \| &emsp;this one \|/);
    assert.match(table, /\| {2}\| &emsp;60\.65 % \| &emsp;`O` \| &emsp;0 \|/);
  });

  it('lists what was drawn although it was not among the likeliest', () => {
    const trajectory = recorded(0, false);
    const rows = choiceTable(trajectory, answerAt(trajectory) + 1, bytePieces)!
      .trim()
      .split('\n')
      .slice(2);
    assert.deepEqual(
      rows.map(row => row.split(' | &emsp;')[2]),
      ['`x`', '`\\|`', '**`s`**', 'all others'],
    );
  });

  it('is not told of tokens that no model drew, nor where nothing was recorded', () => {
    const trajectory = recorded(0);
    assert.equal(choiceTable(trajectory, 0, bytePieces), undefined);
    const { alternatives: _, ...columns } = trajectory.columns;
    assert.equal(choiceTable({ ...trajectory, columns }, answerAt(trajectory), bytePieces), undefined);
  });

  it('shows every piece, whatever it is', () => {
    const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
    assert.equal(pieceText(bytes(' the\n\t'), 1), '␣the␊␉');
    assert.equal(pieceText(bytes('\u0007é😀'), 1), '␇é😀');
    assert.equal(pieceText(Uint8Array.of(0xf0, 0x9f), 1), 'f0 9f');
    assert.equal(pieceText(new Uint8Array(), 31), 'token 31, no text');
    const odd = makePieces([bytes('a`b'), bytes('``'), bytes('|')]);
    const trajectory = recorded(0);
    const table = choiceTable(
      {
        ...trajectory,
        columns: { ...trajectory.columns, ids: new Int32Array(trajectory.columns.ids.length) },
      },
      answerAt(trajectory),
      odd,
    )!;
    assert.match(table, /\*\*`` a`b ``\*\*/);
  });

  it('keeps its cells apart whatever a piece is made of', () => {
    const trajectory = recorded(0);
    const { alternatives, ...columns } = trajectory.columns;
    const ids = columns.ids.map(() => 0);
    for (const text of ['\\|', '\\\\|', '|', 'a|\\|b', '\\']) {
      const pieces = makePieces([new TextEncoder().encode(text)]);
      const changed = { ...alternatives!, ids: alternatives!.ids.map(() => 0) };
      const table = choiceTable(
        { ...trajectory, columns: { ...columns, ids, alternatives: changed } },
        answerAt(trajectory),
        pieces,
      )!;
      for (const line of table.trim().split('\n')) assert.equal(cellsOf(line).length, 4, line);
      assert.equal(cellsOf(table.split('\n')[2]!)[2]!.replaceAll(/&emsp;|[*`\u2060]/g, ''), text);
    }
  });
});

describe('the tokens of a branching question', () => {
  it('are told with their entropy, their probability and what was likely instead', () => {
    const trajectory = recorded(0);
    const table = windowTable(trajectory, trajectory.tree.decisions[0]!, bytePieces)!.trim().split('\n');
    assert.equal(table[0], 'Hₜ .52 was measured on these tokens: P .56 ≥ draw .40 → branched');
    assert.equal(table[2], '| Token | &emsp;Entropy, nats | &emsp;Probability | &emsp;Instead |');
    assert.equal(table[4], '| `O` | &emsp;.00 | &emsp;60.65 % | &emsp;`\\|` 25.00 %, `I` 60.65 % |');
    assert.equal(table.length, 4 + 10);
  });

  it('say so where a token was not drawn', () => {
    const { tree, columns } = smallTree();
    columns.samplerLogProbs.fill(NaN);
    columns.entropies.fill(NaN);
    const table = windowTable({ tree, columns }, tree.decisions[0]!, bytePieces)!;
    assert.match(table, /\n\| `O` \| &emsp;not measured \| &emsp;not drawn \|\n/);
  });

  it('are told without alternatives where none were recorded', () => {
    const { tree, columns } = smallTree();
    const table = windowTable({ tree, columns }, tree.decisions[0]!, bytePieces)!;
    assert.match(table, /\| Token \| &emsp;Entropy, nats \| &emsp;Probability \|\n/);
    assert.match(table, /\n\| `O` \| &emsp;\.00 \| &emsp;60\.65 % \|\n/);
  });
});

/** What a policy could have said, as tables in Markdown: for one token, and for those that decided a branch. Knows nothing of VS Code or files. */
import { choiceAt, windowSegment, type Likely } from '../core/alternatives.ts';
import { verdict } from '../core/explain.ts';
import { plain } from '../core/figures.ts';
import { pieceOf, type Pieces } from '../core/pieces.ts';
import type { Decision } from '../core/types.ts';
import { visible } from '../core/wrap.ts';
import type { Trajectory } from './overlay.ts';

/** Undefined where no model drew the token or its alternatives were not recorded. `token` counts in the layout. */
export function choiceTable(trajectory: Trajectory, token: number, pieces: Pieces): string | undefined {
  const { tree, path, columns, layout } = trajectory;
  const { segment } = layout.segments.find(({ from, to }) => token >= from && token < to)!;
  const choice = choiceAt({ tree, columns }, segment, layout.tokens[token]!);
  if (choice === undefined) return undefined;
  const rows = choice.likely.map(likely => rowOf(likely, path, pieces));
  return [
    row(['', 'Probability', 'Likeliest here', 'Drawn by trajectory']),
    '|:-|-:|:-|:-|',
    ...rows,
    row(['', percent(choice.rest), 'all others', '']),
    '',
  ].join('\n');
}

/** The tokens that a branching question was measured on; undefined where the tree lacks them. */
export function windowTable(
  { tree, columns }: Pick<Trajectory, 'tree' | 'columns'>,
  decision: Decision,
  pieces: Pieces,
): string | undefined {
  const segment = windowSegment(tree, decision);
  if (segment === undefined) return undefined;
  const { start, count } = tree.segments[segment]!;
  const tokens = Array.from({ length: Math.min(count, decision.windowTokens) }, (_, i) => start + i);
  const hasOthers = columns.alternatives !== undefined;
  const rows = tokens.map(token => {
    const own = columns.ids[token]!;
    const numbers = [
      Number.isNaN(columns.entropies[token]!) ? 'not measured' : plain(columns.entropies[token], 2),
      percent(Math.exp(columns.samplerLogProbs[token]!)),
    ];
    const others = (choiceAt({ tree, columns }, segment, token)?.likely ?? [])
      .filter(({ id, probability }) => id !== own && probability >= LEAST_SHOWN)
      .map(({ id, probability }) => `${pieceCode(id, pieces)} ${percent(probability)}`);
    return row([pieceCode(own, pieces), ...numbers, ...(hasOthers ? [others.join(', ')] : [])]);
  });
  return [
    `Hₜ ${plain(decision.entropy, 2)} was measured on these tokens: ${verdict(decision)}`,
    '',
    row(['Token', 'Entropy, nats', 'Probability', ...(hasOthers ? ['Instead'] : [])]),
    `|:-|-:|-:|${hasOthers ? ':-|' : ''}`,
    ...rows,
    '',
  ].join('\n');
}

/** Others that are less likely would make a long table hard to read. */
const LEAST_SHOWN = 0.01;

function rowOf({ id, probability, paths }: Likely, path: number, pieces: Pieces): string {
  const isOwn = paths.includes(path);
  const others = paths.filter(other => other !== path);
  const piece = pieceCode(id, pieces);
  const drawnBy = [...(isOwn ? ['this one'] : []), ...others].join(', ');
  return row([isOwn ? '▸' : '', percent(probability), isOwn ? `**${piece}**` : piece, drawnBy]);
}

/** Hovers set columns close together: without room of their own they would run into each other. */
const row = (cells: readonly string[]): string => `| ${cells.join(' | &emsp;')} |`;

const pieceCode = (id: number, pieces: Pieces): string => code(pieceText(pieceOf(pieces, id), id));

/** A piece as it can be seen: spaces and line feeds as their pictures, and bytes that are no text of their own as numbers. */
export function pieceText(bytes: Uint8Array, id: number): string {
  if (bytes.length === 0) return `token ${id}, no text`;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  if (text.includes('\uFFFD')) return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(' ');
  return visible(text).replaceAll(' ', '␣').replaceAll('\n', '␊').replaceAll('\t', '␉');
}

/** A code span in a table's cell, whatever the text holds. */
function code(text: string): string {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 ? ' ' : '';
  // A pipe is escaped by one backslash and no other: a word joiner, which takes no room, keeps the text's own away from it.
  const escaped = text.replaceAll('\\|', '\\\u2060|').replaceAll('|', '\\|');
  return `${fence}${pad}${escaped}${pad}${fence}`;
}

/** Two decimals, so that a column of them can be compared at a glance. */
const percent = (share: number): string =>
  Number.isNaN(share) ? 'not drawn' : share < 5e-5 ? '< 0.01 %' : `${(100 * share).toFixed(2)} %`;

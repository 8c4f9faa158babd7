/** What two checkpoints make of a trajectory, as lines, tints and facts of its text. Knows nothing of VS Code or of how tokens are scored. */
import { change as signedTo, counted, decimal, plain } from '../core/figures.ts';
import { changeAt, changeOfTurn, summarizeChange, type PathChange } from '../core/likelihood.ts';
import { textOf, type Pieces } from '../core/pieces.ts';
import { tokensOfPath } from '../core/tree.ts';
import type { TokenColumns, Tree } from '../core/types.ts';

/** Nats of |Δ log p| from which a token is tinted, and tinted more strongly. */
const SEEN = 0.1;
const STRONG = 1;

export const CHANGE_LEGEND =
  'solid underline where likelier by 0.1 nats, wavy where less likely, stronger from 1';

export function changeTint(change: number): 'plus1' | 'plus2' | 'minus1' | 'minus2' | undefined {
  if (!(Math.abs(change) >= SEEN)) return undefined;
  const isStrong = Math.abs(change) >= STRONG;
  return change > 0 ? (isStrong ? 'plus2' : 'plus1') : isStrong ? 'minus2' : 'minus1';
}

/** Lines below the head of the text: the sum, each turn's, and the tokens that rose and fell most. */
export function changeLines(
  { tree, path, ids, pieces }: { tree: Tree; path: number; ids: TokenColumns['ids']; pieces: Pieces },
  change: PathChange,
): string[] {
  const { turns, tokens, change: total, raised, lowered } = summarizeChange(tree, path, change);
  const places = tokensOfPath(tree, path);
  const named = (token: number): string =>
    `${JSON.stringify(textOf(pieces, [ids[places[token]!]!]))} ${signedTo(changeAt(change, token), 2)}`;
  const list = (what: string, listed: readonly number[]): string[] =>
    listed.length === 0 ? [] : [`# Most ${what}: ${listed.map(named).join(' · ')}`];
  return [
    `# Δ log p from ${change.names[0]} to ${change.names[1]}: ${signedTo(total, 2)} over ${counted(tokens, 'drawn token')}`,
    ...turns.map(
      turn =>
        `# Turn ${turn.turn + 1}: ${signedTo(turn.change, 2)} over ${counted(turn.tokens, 'token')}, entropy ${signedTo(turn.entropyChange, 2)} on average`,
    ),
    ...list('raised', raised),
    ...list('lowered', lowered),
  ];
}

/** For the line above a turn; undefined for what no model wrote. */
export function turnChange(
  tree: Tree,
  path: number,
  change: PathChange,
  segment: number,
): string | undefined {
  const turn = changeOfTurn(tree, path, change, segment);
  return turn && `Δ log p ${signedTo(turn.change, 2)}, H ${signedTo(turn.entropyChange, 2)}`;
}

/** Name and value of both sides' numbers of a token, for its hover. */
export function changeFacts(change: PathChange, token: number): [string, string][] {
  const { names, before, after } = change;
  const share = (logProb: number): string =>
    Number.isNaN(logProb)
      ? 'not drawn'
      : `${plain(logProb, 5)} (${(100 * Math.exp(logProb)).toPrecision(3)} %)`;
  const delta = changeAt(change, token);
  return [
    [`Log-probability, ${names[0]}`, share(before.logProbs[token]!)],
    [`Log-probability, ${names[1]}`, share(after.logProbs[token]!)],
    [
      'Change',
      Number.isNaN(delta) ? 'not drawn' : `${signedTo(delta, 5)}, ${plain(Math.exp(delta))} times as likely`,
    ],
    [
      `Entropy, ${names[0]} → ${names[1]}`,
      Number.isNaN(delta)
        ? 'not drawn'
        : `${decimal(before.entropies[token], 4)} → ${decimal(after.entropies[token], 4)} nats`,
    ],
  ];
}

/** A stored trajectory under two sets of weights: what became likelier and what less likely. Knows nothing of policies, or of how tokens are scored. */
import { segmentsOf, type Grown } from './tree.ts';
import type { TokenColumns, Tree } from './types.ts';

/** Log-probabilities and entropies of one trajectory's tokens, teacher-forced; NaN where no model wrote the token. */
export interface PathScores {
  /** [token in reading order] nats, at the run's sampling temperature. */
  logProbs: readonly number[];
  /** [token in reading order] nats, over the whole vocabulary. */
  entropies: readonly number[];
}

/** Before and after: A and B. */
export interface PathChange {
  /** Names of the weights: `initial`, or checkpoints. */
  names: readonly [string, string];
  before: PathScores;
  after: PathScores;
}

/** One turn under both. */
export interface TurnChange {
  /** Its segment in the tree, and the model turns before it. */
  segment: number;
  turn: number;
  tokens: number;
  /** Sum over the turn's tokens of log p by B − log p by A. */
  change: number;
  /** Mean of the entropies by B less that by A. */
  entropyChange: number;
}

/** What changed most of a trajectory. */
export interface ChangeSummary {
  turns: TurnChange[];
  tokens: number;
  change: number;
  /** Tokens by their place in reading order, the most raised first; and the most lowered first. Few, and only where it is worth a look. */
  raised: number[];
  lowered: number[];
}

/** Log p by B − log p by A; NaN where no model wrote the token. */
export const changeAt = ({ before, after }: PathChange, token: number): number =>
  after.logProbs[token]! - before.logProbs[token]!;

/** Tokens of a list, and the least change in nats that one has. */
const LISTED = 5;
const LEAST = 0.005;

export function summarizeChange(tree: Tree, path: number, change: PathChange): ChangeSummary {
  const turns = turnsOf(tree, path);
  const drawn = turns.flatMap(({ tokens }) => tokens);
  const byChange = drawn.toSorted((a, b) => changeAt(change, b) - changeAt(change, a));
  const changes = turns.map(turn => turnChange(turn, change));
  return {
    turns: changes,
    tokens: drawn.length,
    change: sum(changes.map(turn => turn.change)),
    raised: byChange.filter(token => changeAt(change, token) >= LEAST).slice(0, LISTED),
    lowered: byChange
      .toReversed()
      .filter(token => changeAt(change, token) <= -LEAST)
      .slice(0, LISTED),
  };
}

/** Of the model's turn that is a segment; undefined where the segment is none of the path's. */
export function changeOfTurn(
  tree: Tree,
  path: number,
  change: PathChange,
  segment: number,
): TurnChange | undefined {
  const turn = turnsOf(tree, path).find(turn => turn.segment === segment);
  return turn && turnChange(turn, change);
}

interface Turn {
  segment: number;
  turn: number;
  /** Places in reading order. */
  tokens: number[];
}

function turnsOf(tree: Tree, path: number): Turn[] {
  let first = 0;
  return segmentsOf(tree, path).flatMap(segment => {
    const { kind, count, turn } = tree.segments[segment]!;
    const tokens = Array.from({ length: count }, (_, i) => first + i);
    first += count;
    return kind === 'model' ? [{ segment, turn, tokens }] : [];
  });
}

const turnChange = ({ segment, turn, tokens }: Turn, change: PathChange): TurnChange => ({
  segment,
  turn,
  tokens: tokens.length,
  change: sum(tokens.map(token => changeAt(change, token))),
  entropyChange:
    sum(tokens.map(token => change.after.entropies[token]! - change.before.entropies[token]!)) /
    Math.max(1, tokens.length),
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** One trajectory as a tree of its own, whose tokens are in reading order: so it is scored without its siblings. */
export function pathAlone({ tree, columns }: Grown, path: number): Grown {
  let start = 0;
  const indices = segmentsOf(tree, path);
  const segments = indices.map((index, i) => {
    const segment = { ...tree.segments[index]!, parent: i - 1, start };
    start += segment.count;
    return segment;
  });
  const cut = <T extends Int32Array | Float32Array>(column: T, kind: new (length: number) => T): T => {
    const own = new kind(start);
    indices.forEach((index, i) => {
      const { start: from, count } = tree.segments[index]!;
      own.set(column.subarray(from, from + count), segments[i]!.start);
    });
    return own;
  };
  const alone: TokenColumns = {
    ids: cut(columns.ids, Int32Array),
    samplerLogProbs: cut(columns.samplerLogProbs, Float32Array),
    trainerLogProbs: cut(columns.trainerLogProbs, Float32Array),
    entropies: cut(columns.entropies, Float32Array),
  };
  const { leaf: _, from: __, ...rest } = tree.paths[path]!;
  return {
    tree: { ...tree, segments, paths: [{ ...rest, leaf: segments.length - 1 }], decisions: [] },
    columns: alone,
  };
}

/**
 * What a policy could have said where it drew a token, what the other trajectories of the tree said there, and which branching
 * questions looked at the token. Knows nothing of text, files or views.
 */
import { pathsThrough, type Grown } from './tree.ts';
import type { Decision, TokenColumns, Tree } from './types.ts';

/** One token that could have come. */
export interface Likely {
  id: number;
  /** At the sampling temperature. */
  probability: number;
  /** Paths that drew it here after the same tokens, ascending. */
  paths: readonly number[];
}

/** All that is known of one draw: the likeliest tokens, and those that were drawn without being among them; likeliest first. */
export interface Choice {
  likely: Likely[];
  /** Probability of all other tokens together. */
  rest: number;
}

/** Where one drawn token's alternatives begin in their columns, for every token of a tree; −1 where none was drawn. */
export function alternativeStarts({ samplerLogProbs, alternatives }: TokenColumns): Int32Array {
  let next = 0;
  return Int32Array.from(samplerLogProbs, logProb => {
    if (alternatives === undefined || Number.isNaN(logProb)) return -1;
    next += alternatives.k;
    return next - alternatives.k;
  });
}

/** The draw of a segment's token; undefined where no model drew it or its alternatives were not recorded. */
export function choiceAt(grown: Grown, segment: number, token: number): Choice | undefined {
  const { alternatives } = grown.columns;
  const start = alternativeStarts(grown.columns)[token] ?? -1;
  if (alternatives === undefined || start < 0) return undefined;
  const drawn = drawnAt(grown, segment, token);
  const { k, ids, logProbs } = alternatives;
  const listed = Array.from(ids.subarray(start, start + k), (id, i): Likely => {
    const paths = drawn.get(id)?.paths ?? [];
    drawn.delete(id);
    return { id, probability: Math.exp(logProbs[start + i]!), paths };
  });
  const unlikely = [...drawn.values()].sort((a, b) => b.probability - a.probability);
  const likely = [...listed, ...unlikely];
  return { likely, rest: Math.max(0, 1 - likely.reduce((sum, { probability }) => sum + probability, 0)) };
}

/** By id, what was drawn there after the same tokens: by the segment itself, and by those that continue the same segment. */
function drawnAt({ tree, columns }: Grown, segment: number, token: number): Map<number, Likely> {
  const { parent, start } = tree.segments[segment]!;
  const offset = token - start;
  const { ids, samplerLogProbs } = columns;
  const through = pathsThrough(tree);
  const drawn = new Map<number, Likely>();
  tree.segments.forEach((other, index) => {
    const at = other.start + offset;
    if (other.parent !== parent || offset >= other.count || Number.isNaN(samplerLogProbs[at])) return;
    for (let i = 0; i < offset; i++) if (ids[other.start + i] !== ids[start + i]) return;
    const id = ids[at]!;
    const paths = [...(drawn.get(id)?.paths ?? []), ...through[index]!].sort((a, b) => a - b);
    drawn.set(id, { id, probability: Math.exp(samplerLogProbs[at]!), paths });
  });
  return drawn;
}

/**
 * The segment whose first tokens a question measured: under rule `paper` the turn after the tool result, under `upstream` the one
 * before it. Undefined where a tree lacks it.
 */
export function windowSegment(tree: Tree, { rule, segment, path }: Decision): number | undefined {
  if (rule === 'upstream') return tree.segments[segment]?.parent;
  const after = pathsThrough(tree).findIndex(
    (paths, index) => tree.segments[index]!.parent === segment && paths.includes(path),
  );
  return after < 0 ? undefined : after;
}

/** The questions that measured a segment's token. */
export const questionsAt = (tree: Tree, segment: number, token: number): Decision[] =>
  tree.decisions.filter(
    decision =>
      windowSegment(tree, decision) === segment &&
      token - tree.segments[segment]!.start < decision.windowTokens,
  );

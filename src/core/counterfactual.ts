/**
 * What would have happened: a stored trajectory cut at a point, and trees that were grown on from such a point beside the training.
 * Knows nothing of policies, tools, files or of how a tree grows.
 */
import { segmentsOf, type Grown } from './tree.ts';
import { type Segment, type ToolCall, type Tree, refusal } from './types.ts';

/** A place on a stored trajectory. */
export interface BranchPoint {
  path: number;
  /** A segment of the path. */
  segment: number;
  /** Only inside a turn of the policy: how many of its tokens are kept; 0 draws the turn again. */
  token?: number;
}

/** A counterfactual as it is told: everything but the numbers of its tokens. */
export interface Counterfactual {
  /** `<tree>~<n>`: names it in its run. */
  id: string;
  /** Says so wherever it is read: nothing was learned from it. */
  trained: false;
  /** ISO 8601. */
  at: string;
  /** The tree that it leaves, and where. */
  of: { tree: string } & BranchPoint;
  /** Where the tool's result is not the stored one: the last segment of the prefix is another, by whose doing. */
  result?: 'edited' | 'called again';
  /** Leading segments of `tree` that were there before the policy went on. */
  prefix: number;
  /** What it was drawn with: `initial`, or the name of a checkpoint, and the step and SHA-256 of its weights. */
  weights: { checkpoint: string; step: number; hash: string };
  temperature: number;
  seed: number;
  seconds: number;
  /** Of the program, by name. */
  versions: Record<string, string>;
  /** The kept segments as one chain, then what was grown from its end; judged, without credit. */
  tree: Tree;
}

/** Whether a tree's id is that of a counterfactual. */
export const isCounterfactual = (id: string): boolean => /^[\w.-]+~\d+$/.test(id);

/** A stored trajectory up to a point. Its token ids are those that were sampled: nothing is encoded again. */
export interface Prefix {
  /** A chain from the prompt on; `start` counts in the columns below. */
  segments: Segment[];
  /** [token] of the segments. */
  ids: number[];
  logProbs: number[];
  entropies: number[];
  /** First tokens of the turn that is drawn on; absent where a new turn begins. */
  begun?: { ids: number[]; logProbs: number[]; entropies: number[] };
  /** The call that the chain ends with and that waits for a result. */
  call?: Pick<ToolCall, 'tool' | 'argument'>;
}

/** Cuts a path there. Throws a FailureError that says where it can be cut instead. */
export function prefixOf({ tree, columns }: Grown, { path, segment, token }: BranchPoint): Prefix {
  if (!tree.paths[path])
    throw refusal(
      `Tree ${tree.id} has no trajectory ${path}.`,
      `Name one from 0 to ${tree.paths.length - 1}.`,
    );
  const walked = segmentsOf(tree, path);
  const place = walked.indexOf(segment);
  const here = tree.segments[segment];
  if (place < 0 || !here)
    throw refusal(
      `Segment ${segment} is not on trajectory ${path} of tree ${tree.id}.`,
      `Its segments are ${walked.join(', ')}.`,
    );
  if (token !== undefined) {
    if (here.kind !== 'model' || token >= here.count)
      throw refusal(
        `Segment ${segment} of tree ${tree.id} cannot be cut after ${token} tokens: it is ${here.kind === 'model' ? `a turn of ${here.count}` : `of kind ${here.kind}`}.`,
        here.kind === 'model'
          ? `Keep 0 to ${here.count - 1} of them.`
          : 'Only turns of the policy can be cut; leave the token out.',
      );
    const begun = token === 0 ? {} : { begun: numbersOf(columns, here.start, token) };
    return { ...chain({ tree, columns }, walked.slice(0, place)), ...begun };
  }
  if (here.kind === 'prompt' || here.kind === 'tool')
    return chain({ tree, columns }, walked.slice(0, place + 1));
  const call = tree.segments[walked[place + 1] ?? -1]?.call;
  if (!call || call.outcome === 'refused')
    throw refusal(
      `Nothing can follow segment ${segment} of tree ${tree.id}: ${call ? 'its call was beyond the limit' : 'the trajectory ends with it'}.`,
      'Draw the turn again from its first token (token 0), or from a later one.',
    );
  const { tool, argument } = call;
  return { ...chain({ tree, columns }, walked.slice(0, place + 1)), call: { tool, argument } };
}

/** The segments as a tree of their own, each following the one before. */
function chain({ tree, columns }: Grown, indices: readonly number[]): Prefix {
  const prefix: Prefix = { segments: [], ids: [], logProbs: [], entropies: [] };
  for (const index of indices)
    addSegment(
      prefix,
      tree.segments[index]!,
      numbersOf(columns, tree.segments[index]!.start, tree.segments[index]!.count),
    );
  return prefix;
}

function addSegment(
  prefix: Prefix,
  segment: Segment,
  { ids, logProbs, entropies }: NonNullable<Prefix['begun']>,
): void {
  prefix.segments.push({
    ...segment,
    parent: prefix.segments.length - 1,
    start: prefix.ids.length,
    count: ids.length,
  });
  prefix.ids.push(...ids);
  prefix.logProbs.push(...logProbs);
  prefix.entropies.push(...entropies);
}

function numbersOf(
  { ids, samplerLogProbs, entropies }: Grown['columns'],
  start: number,
  count: number,
): NonNullable<Prefix['begun']> {
  const cut = (column: Int32Array | Float32Array): number[] => [...column.subarray(start, start + count)];
  return { ids: cut(ids), logProbs: cut(samplerLogProbs), entropies: cut(entropies) };
}

/** Whether a tool's result stands at the prefix's end, or a call that waits for one: only there can a result be given. */
export const takesResult = ({ segments, call, begun }: Prefix): boolean =>
  !begun && (call !== undefined || segments.at(-1)?.kind === 'tool');

/** Tokens of the prefix after the prompt, without those of the turn that is drawn on. */
export const responseOf = ({ segments }: Prefix): number =>
  segments.reduce((sum, { kind, count }) => (kind === 'prompt' ? sum : sum + count), 0);

/** The prefix before a result that shall be another one; itself where a call waits for it. */
export function withoutResult(prefix: Prefix): Prefix {
  const last = prefix.segments.at(-1);
  if (prefix.call || !last?.call) return prefix;
  const { tool, argument } = last.call;
  return {
    segments: prefix.segments.slice(0, -1),
    ids: prefix.ids.slice(0, last.start),
    logProbs: prefix.logProbs.slice(0, last.start),
    entropies: prefix.entropies.slice(0, last.start),
    call: { tool, argument },
  };
}

/** The prefix with a result for the call that it ends with. */
export function withResult(
  prefix: Prefix,
  { ids, text, ...answered }: { ids: ArrayLike<number>; text: string } & Omit<ToolCall, 'tool' | 'argument'>,
): Prefix {
  if (!prefix.call) throw new Error('A result was given where no call waits for one.');
  const { call, ...rest } = prefix;
  const longer = {
    segments: [...rest.segments],
    ids: [...rest.ids],
    logProbs: [...rest.logProbs],
    entropies: [...rest.entropies],
  };
  const turn = rest.segments.filter(({ kind }) => kind === 'model').length;
  const nothing = Array.from(ids, () => NaN);
  addSegment(
    longer,
    { parent: -1, kind: 'tool', start: 0, count: 0, text, turn, call: { ...call, ...answered } },
    { ids: Array.from(ids), logProbs: nothing, entropies: nothing },
  );
  return longer;
}

/** How the samples' rewards compare with what the original trajectory earned; absent numbers were not judged. */
export interface Difference {
  /** [sample] */
  rewards: number[];
  mean?: number;
  original?: number;
  /** Mean of the samples less the original: what the point is worth beyond what was made of it. */
  difference?: number;
}

export function differenceOf({ tree, of }: Pick<Counterfactual, 'tree' | 'of'>, original: Tree): Difference {
  const rewards = tree.paths.flatMap(({ reward }) => (reward ? [reward.total] : []));
  const mean = rewards.length === 0 ? undefined : rewards.reduce((sum, r) => sum + r, 0) / rewards.length;
  const before = original.paths[of.path]?.reward?.total;
  return {
    rewards,
    ...(mean !== undefined && { mean }),
    ...(before !== undefined && { original: before }),
    ...(mean !== undefined && before !== undefined && { difference: mean - before }),
  };
}

/** What weights are called in a sentence, given `initial` or the name of a checkpoint. */
export const weightsName = (checkpoint: string): string =>
  checkpoint === 'initial' ? 'the initial policy' : checkpoint;

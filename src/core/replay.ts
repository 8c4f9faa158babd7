/**
 * A tree and the same tree drawn once more: which trajectories came out the same, where the others part, and what each parting hangs on.
 * Knows nothing of policies, tools, files or of how a tree is drawn.
 */
import { divergence } from './divergence.ts';
import { textOf, type Pieces } from './pieces.ts';
import { payloadOf } from './tags.ts';
import { segmentsOf, type Grown } from './tree.ts';
import type { Decision, Path, Reward, Segment, StopReason, ToolCall, Tree } from './types.ts';

/** One tree against its replay. */
export interface Replay {
  tree: string;
  /** Trajectories of the stored tree, in its order, then those that only the replay has. */
  paths: PathReplay[];
  /** Branching questions of the stored tree, and how many of them the replay answered alike. */
  decisions: { stored: number; same: number };
}

/** One trajectory; paired with the one that its random numbers were drawn for, whatever was grown beside it. */
export interface PathReplay {
  /** In the stored tree; absent where only the replay has it. */
  path?: number;
  /** In the replay; absent where only the stored tree has it. */
  again?: number;
  /** Tokens that both have before they part; all of them where they do not. */
  shared: number;
  /** Of those, drawn by the policy and measured both times. */
  compared: number;
  /** Largest |Δ log p| (nats, sampler) of those; 0 where all are equal to the bit. */
  largestDifference: number;
  /** Absent where tokens, decisions and reward are the same. */
  cause?: Cause;
  /** Only where their tokens differ. */
  parting?: Parting;
}

/** Where the tokens of a trajectory begin to differ. */
export interface Parting {
  /** The first token of the trajectory that differs, or that one side does not have. */
  token: number;
  /** The stored tree's segment that it is in, the model turns before that, and the token's number in it. */
  segment: number;
  turn: number;
  tokenOfSegment: number;
  /** Text around the place: what both have before it, and how each goes on. */
  before: string;
  stored: string;
  again: string;
}

/** What a difference hangs on, with the numbers or words of both sides. */
export type Cause =
  /** A tool's answer to the same call. */
  | { kind: 'tool'; tool: string; argument: string; stored: Answer; again: Answer }
  /** The policy drew another token after the same ones; log-probabilities and entropy at that token, where they were measured. */
  | { kind: 'sampler'; stored: Drawn; again: Drawn }
  /** One side ends, or goes on in another way, after the same tokens. */
  | { kind: 'end'; stored: string; again: string }
  /** A branching question was answered otherwise, or asked on one side only. */
  | { kind: 'decision'; stored?: Decision; again?: Decision }
  /** The group had other trajectories by then, so that this one has no counterpart. */
  | { kind: 'group'; stored: number; again: number }
  | { kind: 'reward'; stored?: Reward; again?: Reward };

export interface Answer {
  outcome: ToolCall['outcome'];
  text: string;
}

export interface Drawn {
  logProb?: number;
  entropy?: number;
}

/** Names a tree that was drawn again, so that it is not taken for a stored one. */
export const replayedId = (tree: string, count: number): string => `${tree} replay ${count}`;

export const isReplayed = (id: string): boolean => / replay \d+$/.test(id);

/** `pieces` make the texts around a parting. */
export function compareReplay(stored: Grown, again: Grown, pieces: Pieces): Replay {
  const keys = [keysOf(stored.tree), keysOf(again.tree)] as const;
  const sides = { stored, again, pieces };
  const paired = keys[0].map((key, path) => {
    const counterpart = keys[1].indexOf(key);
    return counterpart < 0
      ? unpaired(sides, keys, { path })
      : comparePaths(sides, { path, again: counterpart });
  });
  const added = keys[1].flatMap((key, path) =>
    keys[0].includes(key) ? [] : [unpaired(sides, keys, { again: path })],
  );
  const same = sameDecisions(stored.tree, again.tree, keys);
  return {
    tree: stored.tree.id,
    paths: [...paired, ...added],
    decisions: { stored: stored.tree.decisions.length, same },
  };
}

export const isIdentical = ({ paths }: Replay): boolean => paths.every(({ cause }) => !cause);

interface Sides {
  stored: Grown;
  again: Grown;
  pieces: Pieces;
}

/**
 * [path] its name by how it came about, as the scheduler names it for its random numbers: where two trees agree in it, the same numbers
 * were drawn.
 */
function keysOf(tree: Tree): string[] {
  const keys: string[] = [];
  tree.paths.forEach((path, index) => keys.push(keyOf(tree, path, index, keys)));
  return keys;
}

function keyOf(tree: Tree, { from }: Path, index: number, earlier: readonly string[]): string {
  if (!from) return String(index);
  const asked = tree.decisions.filter(({ path, segment }) => path === from.path && segment === from.segment);
  return `${earlier[from.path]}/${turnsAt(tree, from.segment)}.${asked.findIndex(({ child }) => child === index)}`;
}

/** Model turns up to the end of a segment. */
const turnsAt = ({ segments }: Tree, segment: number): number => {
  const { kind, turn } = segments[segment]!;
  return kind === 'model' ? turn + 1 : turn;
};

function comparePaths(sides: Sides, pair: { path: number; again: number }): PathReplay {
  const one = walk(sides.stored, pair.path);
  const other = walk(sides.again, pair.again);
  const at = divergence(one.ids, other.ids);
  const shared = at ?? one.ids.length;
  const found = { ...pair, shared, ...numbersOf(sides, one, other, shared) };
  if (at !== undefined)
    return { ...found, cause: causeAt(sides, one, other, at), parting: partingAt(sides, one, other, at) };
  const cause = otherDecision(sides, pair) ?? otherReward(sides, pair);
  return cause ? { ...found, cause } : found;
}

/** A path's tokens in reading order. */
interface Walk {
  ids: number[];
  /** [token] index in the tree's columns. */
  places: number[];
  /** [token] its segment. */
  owners: number[];
  /** Segments from the prompt on. */
  segments: number[];
}

function walk({ tree, columns }: Grown, path: number): Walk {
  const walked: Walk = { ids: [], places: [], owners: [], segments: segmentsOf(tree, path) };
  for (const index of walked.segments) {
    const { start, count } = tree.segments[index]!;
    for (let token = start; token < start + count; token++) {
      walked.ids.push(columns.ids[token]!);
      walked.places.push(token);
      walked.owners.push(index);
    }
  }
  return walked;
}

function numbersOf(
  { stored, again }: Sides,
  one: Walk,
  other: Walk,
  shared: number,
): Pick<PathReplay, 'compared' | 'largestDifference'> {
  let [compared, largestDifference] = [0, 0];
  for (let token = 0; token < shared; token++) {
    const before = stored.columns.samplerLogProbs[one.places[token]!]!;
    const now = again.columns.samplerLogProbs[other.places[token]!]!;
    if (Number.isNaN(before) || Number.isNaN(now)) continue;
    compared++;
    largestDifference = Math.max(largestDifference, Math.abs(now - before));
  }
  return { compared, largestDifference };
}

/** Tokens of text that are shown around a parting. */
const SHOWN_BEFORE = 24;
const SHOWN_AFTER = 40;

function partingAt({ stored, pieces }: Sides, one: Walk, other: Walk, at: number): Parting {
  const owner = one.owners[at] ?? one.segments.at(-1)!;
  const text = ({ ids }: Walk, from: number, to: number): string =>
    textOf(pieces, ids.slice(Math.max(0, from), to));
  return {
    token: at,
    segment: owner,
    turn: stored.tree.segments[owner]!.turn,
    tokenOfSegment: at - Math.max(0, one.owners.indexOf(owner)),
    before: text(one, at - SHOWN_BEFORE, at),
    stored: text(one, at, at + SHOWN_AFTER),
    again: text(other, at, at + SHOWN_AFTER),
  };
}

function causeAt({ stored, again }: Sides, one: Walk, other: Walk, at: number): Cause {
  const [before, now] = [segmentAt(stored, one, at), segmentAt(again, other, at)];
  if (before?.call && now?.call) {
    const { tool, argument } = before.call;
    return { kind: 'tool', tool, argument, stored: answerOf(before), again: answerOf(now) };
  }
  if (before?.kind === 'model' && now?.kind === 'model')
    return { kind: 'sampler', stored: drawnAt(stored, one, at), again: drawnAt(again, other, at) };
  return {
    kind: 'end',
    stored: goingOn(before, endAt(stored, one, at)),
    again: goingOn(now, endAt(again, other, at)),
  };
}

const segmentAt = ({ tree }: Grown, { owners }: Walk, at: number): Segment | undefined =>
  owners[at] === undefined ? undefined : tree.segments[owners[at]];

/** Why the turn before the token ended. */
const endAt = ({ tree }: Grown, { owners, segments }: Walk, at: number): StopReason | undefined =>
  tree.segments[owners[at - 1] ?? segments.at(-1)!]?.stop;

const answerOf = ({ call, text }: Segment): Answer => ({ outcome: call!.outcome, text: payloadOf(text) });

function drawnAt({ columns }: Grown, { places }: Walk, at: number): Drawn {
  const [logProb, entropy] = [columns.samplerLogProbs[places[at]!]!, columns.entropies[places[at]!]!];
  return { ...(!Number.isNaN(logProb) && { logProb }), ...(!Number.isNaN(entropy) && { entropy }) };
}

function goingOn(segment: Segment | undefined, ended: StopReason | undefined): string {
  const stop = ended === undefined ? '' : `: its turn stopped by ${ended}`;
  if (segment === undefined) return `ends${stop}`;
  if (segment.kind === 'model') return 'goes on with its turn';
  return segment.kind === 'tool'
    ? `goes on with a result of ${segment.call?.tool ?? 'a tool'}`
    : `is ended${stop}`;
}

/** The first question about a path that was not answered alike. */
function otherDecision({ stored, again }: Sides, pair: { path: number; again: number }): Cause | undefined {
  const [before, now] = [askedOf(stored.tree, pair.path), askedOf(again.tree, pair.again)];
  for (let i = 0; i < Math.max(before.length, now.length); i++)
    if (before[i]?.outcome !== now[i]?.outcome)
      return {
        kind: 'decision',
        ...(before[i] && { stored: before[i]! }),
        ...(now[i] && { again: now[i]! }),
      };
  return undefined;
}

const askedOf = ({ decisions }: Tree, path: number): Decision[] =>
  decisions.filter(decision => decision.path === path);

function otherReward({ stored, again }: Sides, pair: { path: number; again: number }): Cause | undefined {
  const [before, now] = [stored.tree.paths[pair.path]!.reward, again.tree.paths[pair.again]!.reward];
  if (before?.total === now?.total && before?.correct === now?.correct) return undefined;
  return { kind: 'reward', ...(before && { stored: before }), ...(now && { again: now }) };
}

type Keys = readonly [readonly string[], readonly string[]];

/** A trajectory that only one side has: because of the question that made it, or because the group was filled up otherwise. */
function unpaired(
  { stored, again }: Sides,
  keys: Keys,
  only: { path: number } | { again: number },
): PathReplay {
  const isStored = 'path' in only;
  const [own, other] = isStored ? [stored.tree, again.tree] : [again.tree, stored.tree];
  const made = own.decisions.find(({ child }) => child === (isStored ? only.path : only.again));
  const nothing = { shared: 0, compared: 0, largestDifference: 0 };
  if (!made) return { ...only, ...nothing, cause: groupCause(stored.tree, again.tree) };
  const [ownKeys, otherKeys] = isStored ? keys : [keys[1], keys[0]];
  const counterpart = otherKeys.indexOf(ownKeys[made.path]!);
  const asked = counterpart < 0 ? undefined : likeQuestion(other, counterpart, own, made);
  const [before, now] = isStored ? [made, asked] : [asked, made];
  const cause: Cause = { kind: 'decision', ...(before && { stored: before }), ...(now && { again: now }) };
  return { ...only, ...nothing, cause };
}

const groupCause = (stored: Tree, again: Tree): Cause => ({
  kind: 'group',
  stored: stored.paths.length,
  again: again.paths.length,
});

/** The same try of a path after the same turn. */
function likeQuestion(tree: Tree, path: number, other: Tree, question: Decision): Decision | undefined {
  const after = turnsAt(other, question.segment);
  const tries = askedOf(other, question.path).filter(({ segment }) => turnsAt(other, segment) === after);
  return askedOf(tree, path).filter(({ segment }) => turnsAt(tree, segment) === after)[
    tries.indexOf(question)
  ];
}

/** How many questions of the stored tree the replay answered alike. */
function sameDecisions(stored: Tree, again: Tree, [before, now]: Keys): number {
  return stored.decisions.filter(decision => {
    const counterpart = now.indexOf(before[decision.path]!);
    const like = counterpart < 0 ? undefined : likeQuestion(again, counterpart, stored, decision);
    return like?.outcome === decision.outcome;
  }).length;
}

/**
 * Plans how one tree grows, round by round, under both rules: plan → do → apply. Pure: knows nothing of models, tokens'
 * values, tools or time; what was sampled is reported to it, and random numbers are handed in.
 */
import { decide, type BranchSettings } from './branching.ts';
import type { Decision, Path, PathOrigin, Segment, StopReason, ToolCall } from './types.ts';

export interface GrowthRules extends BranchSettings {
  /** Paper N and M: trajectories started from the prompt, and in all. Equal numbers are plain GRPO: no questions. */
  initial: number;
  total: number;
  /** One source has at most beamSize − 1 children per question. */
  beamSize: number;
  /** Paper k: tokens of a preview. */
  window: number;
  /** Executed calls of a trajectory. */
  callLimit: number;
  /** By tool: executed calls of a trajectory; tools that are not named have only callLimit. */
  toolLimits?: Readonly<Record<string, number>>;
  /** What a call beyond a limit leads to: the trajectory's end, or a message in the place of a result. Absent for the end. */
  onLimit?: 'end' | 'message';
  maxResponseTokens: number;
  /** 0 for all that are left. */
  maxTurnTokens: number;
}

/** A path that grows, or has ended. */
export interface Tip {
  /** Names the path by how it came about, whatever was grown beside it. */
  key: string;
  origin: PathOrigin;
  from?: { path: number; segment: number };
  /** Its last segment. */
  segment: number;
  /** Model turns done. */
  turns: number;
  calls: number;
  /** Tokens after the prompt. */
  response: number;
  /** H_0; absent before the first turn that counts for it. */
  initialEntropy?: number;
  /** Window of the current turn's preview, or of the last turn. */
  window?: Window;
  /** False where a tool result waits for its branching question; a child is not asked again at its own boundary. */
  isAsked: boolean;
  /** Paper l: how many questions in a row, its ancestors' included, were answered with a branch up to here. */
  consecutive: number;
  /** A call that waits for its result. */
  call?: Call;
  /** Absent while it grows. */
  stop?: StopReason;
}

export interface Call {
  tool: string;
  argument: string;
  /** Only for a call beyond its limit of so many: nothing is executed, and a message takes the place of the result. */
  limit?: number;
}

/** Entropy score of a turn's first tokens, and how many there were. */
export interface Window {
  entropy: number;
  tokens: number;
}

/** How far a tree has grown. Never changed: `apply` returns a new one. */
export interface Growth {
  rules: GrowthRules;
  phase: 'preview' | 'turn' | 'call' | 'done';
  round: number;
  segments: readonly Segment[];
  /** [segment] path that grew it. */
  growers: readonly number[];
  tips: readonly Tip[];
  decisions: readonly Decision[];
  /** upstream's l: rounds in a row, up to this one, in which the tree got a new trajectory; and how many it had before this one. */
  consecutive: number;
  tipsBefore: number;
}

/** What is to be done next; every item of it must be reported, in any order. */
export type Plan =
  /** Draw at most so many tokens of each path's next turn, and stop there. */
  | { phase: 'preview'; samples: { path: number; maxTokens: number }[] }
  /** Draw each path's turn to its end, what a preview drew included in maxTokens. */
  | { phase: 'turn'; samples: { path: number; maxTokens: number }[] }
  /** Call tools; a result may add at most `room` tokens. */
  | { phase: 'call'; calls: (Call & { path: number; room: number })[] }
  | { phase: 'done' };

/** A whole turn as sampled. */
export interface Turn {
  path: number;
  tokens: number;
  text: string;
  window: Window;
  end: { type: 'call'; tool: string; argument: string } | { type: 'answer' } | { type: 'length' };
}

export interface Answer {
  path: number;
  tokens: number;
  text: string;
  call: ToolCall;
}

export type Report =
  | { phase: 'preview'; windows: { path: number; window: Window }[] }
  | { phase: 'turn'; turns: Turn[] }
  | { phase: 'call'; answers: Answer[] };

/** U in [0, 1) for the attempt-th try of a path (by its key) to branch after its so-many-th turn. */
export type Draw = (key: string, turn: number, attempt: number) => number;

/** A tree that consists of its prompt. */
export function plant(rules: GrowthRules, prompt: { tokens: number; text: string }): Growth {
  const root: Segment = {
    parent: -1,
    kind: 'prompt',
    start: 0,
    count: prompt.tokens,
    text: prompt.text,
    turn: 0,
  };
  return graft(rules, [root]);
}

/** A tree that consists of a chain of segments, with as many paths as start that go on from its end. */
export function graft(rules: GrowthRules, segments: readonly Segment[]): Growth {
  const end = {
    segment: segments.length - 1,
    turns: segments.filter(({ kind }) => kind === 'model').length,
    calls: segments.filter(({ call }) => call && call.outcome !== 'refused').length,
    response: segments.reduce((sum, { kind, count }) => (kind === 'prompt' ? sum : sum + count), 0),
  };
  const tips = Array.from({ length: rules.initial }, (_, path) => ({
    ...fromPrompt(path, 'initial'),
    ...end,
  }));
  return {
    rules,
    phase: 'turn',
    round: 0,
    segments,
    growers: segments.map(() => 0),
    tips,
    decisions: [],
    consecutive: 0,
    tipsBefore: tips.length,
  };
}

export function plan(growth: Growth): Plan {
  const { phase, rules, tips } = growth;
  const open = openPaths(growth);
  switch (phase) {
    case 'preview': {
      const samples = open
        .filter(path => !tips[path]!.isAsked)
        .map(path => ({ path, maxTokens: Math.min(rules.window, turnRoom(rules, tips[path]!)) }));
      return { phase, samples };
    }
    case 'turn':
      return { phase, samples: open.map(path => ({ path, maxTokens: turnRoom(rules, tips[path]!) })) };
    case 'call': {
      const calls = open.flatMap(path => {
        const { call, response } = tips[path]!;
        return call ? [{ path, ...call, room: rules.maxResponseTokens - response }] : [];
      });
      return { phase, calls };
    }
    case 'done':
      return { phase };
  }
}

/** The tree after what was planned has been done. Reports count in the order of paths, however they arrived. */
export function apply(growth: Growth, report: Report, draw: Draw): Growth {
  if (report.phase !== growth.phase)
    throw new Error(
      `The tree waits for its ${growth.phase} phase, but a ${report.phase} phase was reported.`,
    );
  const next = draft(growth);
  switch (report.phase) {
    case 'preview':
      for (const { path, window } of byPath(report.windows)) next.tips[path]!.window = window;
      for (const { path } of byPath(report.windows)) ask(next, path, draw);
      next.phase = 'turn';
      return next;
    case 'turn':
      for (const turn of byPath(report.turns)) endTurn(next, turn, draw);
      if (next.tips.some(tip => tip.stop === undefined && tip.call)) next.phase = 'call';
      else endRound(next, draw);
      return next;
    case 'call':
      for (const answer of byPath(report.answers)) addResult(next, answer);
      endRound(next, draw);
      return next;
  }
}

/** Paths of a tree that is done. */
export const pathsOf = ({ tips }: Growth): Path[] =>
  tips.map(({ segment, origin, from, calls, stop }, path) => {
    if (stop === undefined) throw new Error(`Path ${path} has not ended yet.`);
    return { leaf: segment, origin, ...(from && { from }), calls, stop };
  });

/** Index of the first token that a new segment would have. */
const tokenCount = (segments: readonly Segment[]): number => {
  const last = segments.at(-1)!;
  return last.start + last.count;
};

/** A growth that may be written to. */
interface Draft extends Growth {
  segments: Segment[];
  growers: number[];
  tips: Tip[];
  decisions: Decision[];
}

const draft = (growth: Growth): Draft => ({
  ...growth,
  segments: [...growth.segments],
  growers: [...growth.growers],
  tips: growth.tips.map(tip => ({ ...tip })),
  decisions: [...growth.decisions],
});

const fromPrompt = (path: number, origin: PathOrigin): Tip => ({
  key: String(path),
  origin,
  segment: 0,
  turns: 0,
  calls: 0,
  response: 0,
  isAsked: true,
  consecutive: 0,
});

const openPaths = ({ tips }: Growth): number[] =>
  tips.flatMap((tip, path) => (tip.stop === undefined ? [path] : []));

const byPath = <T extends { path: number }>(items: readonly T[]): T[] =>
  [...items].sort((a, b) => a.path - b.path);

/** Tokens that the path's next turn may have. */
function turnRoom(rules: GrowthRules, tip: Tip): number {
  const left = rules.maxResponseTokens - tip.response;
  return rules.maxTurnTokens > 0 ? Math.min(left, rules.maxTurnTokens) : left;
}

const asksQuestions = ({ initial, total }: GrowthRules): boolean => initial < total;

/** Adds a segment below a path's last one. */
function addSegment(
  next: Draft,
  path: number,
  added: Pick<Segment, 'kind' | 'text' | 'stop' | 'entropy' | 'call'> & { count: number },
): void {
  const tip = next.tips[path]!;
  next.segments.push({ parent: tip.segment, start: tokenCount(next.segments), turn: tip.turns, ...added });
  next.growers.push(path);
  tip.segment = next.segments.length - 1;
  tip.response += added.count;
}

/** Closes a turn: its segment, and whether the path calls, ends, or is ended. */
function endTurn(next: Draft, turn: Turn, draw: Draw): void {
  const { rules } = next;
  const tip = next.tips[turn.path]!;
  tip.window = turn.window;
  // Under rule `paper` a question that no preview was paid for is recorded with the turn's own first tokens.
  if (rules.rule === 'paper' && !tip.isAsked) ask(next, turn.path, draw);
  tip.initialEntropy ??= turn.window.entropy;
  const isFull = tip.response + turn.tokens >= rules.maxResponseTokens;
  const limit = turn.end.type === 'call' ? limitReached(next, tip, turn.end.tool) : undefined;
  const isSpent = limit !== undefined && rules.onLimit !== 'message';
  const stop = stopOf(turn, { isSpent, isFull });
  addSegment(next, turn.path, {
    kind: 'model',
    count: turn.tokens,
    text: turn.text,
    stop,
    entropy: turn.window.entropy,
  });
  tip.turns++;
  if (stop !== 'call') {
    tip.stop = stop;
    if (stop === 'call-limit' && !isFull) addSegment(next, turn.path, { kind: 'forced', count: 1, text: '' });
    return;
  }
  if (turn.end.type !== 'call') throw new Error('A turn that stopped for a call has no call.');
  const { tool, argument } = turn.end;
  if (limit === undefined) tip.calls++;
  tip.call = limit === undefined ? { tool, argument } : { tool, argument, limit };
}

function stopOf({ end }: Turn, { isSpent, isFull }: { isSpent: boolean; isFull: boolean }): StopReason {
  if (end.type === 'answer') return 'answer';
  if (end.type === 'length') return isFull ? 'length' : 'turn-length';
  if (isSpent) return 'call-limit';
  if (end.argument === '') return 'empty-call';
  return isFull ? 'length' : 'call';
}

/** The limit that a further call of the tool would break; undefined where it may be called. */
function limitReached({ rules, segments }: Draft, { calls, segment }: Tip, tool: string): number | undefined {
  if (calls >= rules.callLimit) return rules.callLimit;
  const limit = Object.hasOwn(rules.toolLimits ?? {}, tool) ? rules.toolLimits?.[tool] : undefined;
  if (limit === undefined) return undefined;
  let made = 0;
  for (let at = segment; at >= 0; at = segments[at]!.parent) {
    const { call } = segments[at]!;
    if (call?.tool === tool && call.outcome !== 'refused') made++;
  }
  return made >= limit ? limit : undefined;
}

/** Appends a tool's result; a path without room for a further token ends here. */
function addResult(next: Draft, { path, tokens, text, call }: Answer): void {
  const tip = next.tips[path]!;
  if (tokens > next.rules.maxResponseTokens - tip.response)
    throw new Error(`A result of ${tokens} tokens does not fit on path ${path}.`);
  addSegment(next, path, { kind: 'tool', count: tokens, text, call });
  // A message brings nothing that the policy could be unsure about: the question belongs to results of tools.
  tip.isAsked = tip.call?.limit !== undefined || !asksQuestions(next.rules);
  delete tip.call;
  if (tip.response >= next.rules.maxResponseTokens) tip.stop = 'length';
}

/** Between two rounds: upstream branches here, with the entropy from before the result; then groups are filled up. */
function endRound(next: Draft, draw: Draw): void {
  const { rules } = next;
  if (rules.rule === 'upstream')
    for (const path of openPaths(next)) if (!next.tips[path]!.isAsked) ask(next, path, draw);
  next.round++;
  if (openPaths(next).length === 0) {
    const missing = rules.total - next.tips.length;
    const filled = rules.rule === 'upstream' ? Math.min(1, missing) : missing;
    for (let i = 0; i < filled; i++) next.tips.push(fromPrompt(next.tips.length, 'fill'));
  }
  countRound(next);
  const open = openPaths(next);
  const isPreviewed =
    rules.rule === 'paper' && next.tips.length < rules.total && open.some(path => !next.tips[path]!.isAsked);
  next.phase = open.length === 0 ? 'done' : isPreviewed ? 'preview' : 'turn';
}

/**
 * The released code's counter: a tree that got a trajectory, by a branch or from the prompt, counts one more. upstream: it is
 * reset only in rounds in which some tree of the rank got one; with many trees to a rank that is nearly every round, and here
 * trees do not wait for each other, so that it is every round.
 */
function countRound(next: Draft): void {
  next.consecutive = next.tips.length > next.tipsBefore ? next.consecutive + 1 : 0;
  next.tipsBefore = next.tips.length;
}

/** Asks a path's branching question at its last tool result: one decision per try, children as they are decided. */
function ask(next: Draft, path: number, draw: Draw): void {
  const { rules, tips } = next;
  const tip = tips[path]!;
  const { window, initialEntropy } = tip;
  if (!window || initialEntropy === undefined)
    throw new Error(`Path ${path} is asked to branch before it has an entropy to compare.`);
  tip.isAsked = true;
  const consecutive = rules.penalty === 'upstream' ? next.consecutive : tip.consecutive;
  tip.consecutive = 0;
  for (let attempt = 0; attempt < rules.beamSize - 1; attempt++) {
    const question = {
      segment: tip.segment,
      path,
      round: next.round,
      initialEntropy,
      entropy: window.entropy,
      windowTokens: window.tokens,
      made: tips.length,
      total: rules.total,
    };
    const decision = decide(question, rules, () => draw(tip.key, tip.turns, attempt), consecutive);
    const isBranch = decision.outcome === 'branch';
    if (isBranch) tip.consecutive = consecutive + 1;
    next.decisions.push(isBranch ? { ...decision, child: tips.length } : decision);
    if (isBranch) tips.push(childOf(next, path, attempt));
    // A spent budget, and a threshold that was not passed, answer all further tries too.
    else if (decision.outcome === 'budget' || rules.gate === 'threshold') return;
  }
}

/** A copy of a path at its last tool result. Upstream: its baseline is its own next turn; paper: its trajectory's first. */
function childOf({ rules, tips }: Draft, path: number, attempt: number): Tip {
  const { segment, turns, calls, response, initialEntropy, key, consecutive } = tips[path]!;
  return {
    key: `${key}/${turns}.${attempt}`,
    origin: 'branch',
    from: { path, segment },
    segment,
    turns,
    calls,
    response,
    ...(rules.rule === 'paper' && initialEntropy !== undefined && { initialEntropy }),
    isAsked: true,
    consecutive,
  };
}

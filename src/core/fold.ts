/** Facts in, the state of a run out, one batch after the other. Knows nothing of files, clocks or views. */
import type { EvaluationSummary, Event, EventOf, StepSummary } from './events.ts';
import { PackedStep } from './stepColumns.ts';
import type { Decision, Failure, ToolCall } from './types.ts';

/** `starting`: no fact yet. Whether a worker still owns a `running` run is not in its facts: ask the lock. */
export type RunStatus = 'starting' | 'running' | 'paused' | 'finished' | 'stopped' | 'failed';

/** A segment of a tree that grows: its numbers without its text. */
export type LiveSegment = Omit<EventOf<'segment-grown'>, 'seq' | 'at' | 'step' | 'type' | 'tree'>;

/** A tree of the step that is being grown. */
export interface LiveTree {
  id: string;
  /** In order of growth. */
  segments: LiveSegment[];
  /** By tool segment: how its call was answered. */
  calls: Record<number, Omit<ToolCall, 'argument'>>;
  decisions: Decision[];
  /** [path] rewards, once judged. */
  rewards?: readonly number[];
  failure?: Failure;
}

/** A tree that was judged. */
export interface FinishedTree {
  id: string;
  step: number;
  task: string;
  paths: number;
  /** [path] total rewards. */
  rewards: readonly number[];
  /** Questions answered with a child, and with no by the gate; absent in imported runs, which tell of none. */
  branches?: number;
  refused?: number;
  /** Where it lies in trees.jsonl, and its columns in tokens.bin; absent where it is not kept. */
  span?: { offset: number; length: number };
  tokens?: { offset: number; count: number };
}

/** What one step left, and when it began and ended (ISO 8601). */
export interface FinishedStep {
  step: number;
  at: string;
  summary: StepSummary;
}

export interface RunState {
  status: RunStatus;
  /** Absent before the first fact. */
  run?: Pick<
    EventOf<'run-started'>,
    'run' | 'source' | 'tasks' | 'tools' | 'device' | 'parameters' | 'seed' | 'at'
  >;
  /** Last step that began; 0 before the first. */
  step: number;
  /** Steps planned; 0 where not yet told. */
  steps: number;
  /** Ascending by step. */
  summaries: FinishedStep[];
  evaluations: { step: number; at: string; checkpoint?: string; summary: EvaluationSummary }[];
  checkpoints: { step: number; at: string; folder: string; hash: string }[];
  /** In order of their lines. */
  trees: FinishedTree[];
  /** The step that began and has not finished; absent between steps. */
  live?: { step: number; at: string; tasks: readonly string[]; trees: LiveTree[] };
  warnings: { step: number; at: string; failure: Failure }[];
  /** Only with status `failed`. */
  failure?: Failure;
  /** The last fact's number and time; absent before the first. */
  last?: { seq: number; at: string };
}

/** What the facts of whole steps fold to, where those of single trees were left unread (TREE_FACTS): all but the finished trees. */
export type RunOutline = Omit<RunState, 'trees'>;

export const emptyState = (): RunState => ({
  status: 'starting',
  step: 0,
  steps: 0,
  summaries: [],
  evaluations: [],
  checkpoints: [],
  trees: [],
  warnings: [],
});

export const fold = (events: Iterable<Event>): RunState => foldInto(emptyState(), events);

/** Takes later facts into the state, in place, and returns it. Facts that were taken already (by `seq`) are skipped. */
export function foldInto(state: RunState, events: Iterable<Event>): RunState {
  for (const event of events) {
    if (state.last !== undefined && event.seq <= state.last.seq) continue;
    take(state, event);
    state.last = { seq: event.seq, at: event.at };
  }
  return state;
}

function take(state: RunState, event: Event): void {
  switch (event.type) {
    case 'run-started':
      return start(state, event);
    case 'step-started':
      state.step = event.step;
      state.live = { step: event.step, at: event.at, tasks: event.tasks, trees: [] };
      return;
    case 'tasks-added':
      if (state.live?.step === event.step) state.live.tasks = [...state.live.tasks, ...event.tasks];
      return;
    case 'segment-grown':
    case 'tool-answered':
    case 'branch-decided':
    case 'tree-failed':
      return grow(liveTree(state, event), event);
    case 'tree-finished':
      return finishTree(state, event);
    case 'step-finished':
      state.step = event.step;
      state.summaries.push(finishedStep(event));
      delete state.live;
      return;
    case 'checkpoint-saved':
      state.checkpoints.push({ step: event.step, at: event.at, folder: event.folder, hash: event.hash });
      return;
    case 'evaluated':
      state.evaluations.push({
        step: event.step,
        at: event.at,
        summary: event.summary,
        ...(event.checkpoint !== undefined && { checkpoint: event.checkpoint }),
      });
      return;
    case 'paused':
      state.status = 'paused';
      return;
    case 'resumed':
      return resume(state, event.step);
    case 'warned':
      state.warnings.push({ step: event.step, at: event.at, failure: event.failure });
      return;
    case 'run-ended':
      state.status = event.outcome;
      if (event.failure !== undefined) state.failure = event.failure;
      delete state.live;
      return;
    default:
      // A fact of a newer minor format: readers skip what they do not know.
      event satisfies never;
  }
}

/** One whose numbers lie in columns is kept as it came, so that they are unpacked only where somebody asks for them. */
const finishedStep = (event: EventOf<'step-finished'>): FinishedStep =>
  event instanceof PackedStep ? event : { step: event.step, at: event.at, summary: event.summary };

function start(state: RunState, event: EventOf<'run-started'>): void {
  const { run, source, tasks, tools, device, parameters, seed, at } = event;
  state.status = 'running';
  state.steps = event.steps;
  state.run = {
    ...{ run, tools, at },
    ...(source !== undefined && { source }),
    ...(tasks !== undefined && { tasks }),
    ...(device !== undefined && { device }),
    ...(parameters !== undefined && { parameters }),
    ...(seed !== undefined && { seed }),
  };
}

/** A run that goes on from a checkpoint does the steps after it again: what was told of them no longer counts. */
function resume(state: RunState, step: number): void {
  const counts = (fact: { step: number }): boolean => fact.step <= step;
  state.status = 'running';
  delete state.failure;
  state.summaries = state.summaries.filter(counts);
  state.evaluations = state.evaluations.filter(counts);
  state.checkpoints = state.checkpoints.filter(counts);
  state.trees = state.trees.filter(counts);
  state.warnings = state.warnings.filter(counts);
  if (state.live !== undefined && !counts(state.live)) delete state.live;
  state.step = Math.min(state.step, step);
}

type Growth =
  EventOf<'segment-grown'> | EventOf<'tool-answered'> | EventOf<'branch-decided'> | EventOf<'tree-failed'>;

function grow(tree: LiveTree, event: Growth): void {
  switch (event.type) {
    case 'segment-grown': {
      const { segment, parent, kind, tokens, turn, path, origin, entropy, stop } = event;
      tree.segments.push({
        segment,
        parent,
        kind,
        tokens,
        turn,
        path,
        origin,
        ...(entropy !== undefined && { entropy }),
        ...(stop !== undefined && { stop }),
      });
      return;
    }
    case 'tool-answered':
      tree.calls[event.segment] = event.call;
      return;
    case 'branch-decided':
      tree.decisions.push(event.decision);
      return;
    case 'tree-failed':
      tree.failure = event.failure;
  }
}

/** The tree that an event speaks of, made where it is new. Facts that come without their step's start make the step too. */
function liveTree(state: RunState, event: { tree: string; step: number; at: string }): LiveTree {
  if (state.live?.step !== event.step) state.live = { step: event.step, at: event.at, tasks: [], trees: [] };
  const known = state.live.trees.find(({ id }) => id === event.tree);
  if (known !== undefined) return known;
  const tree: LiveTree = { id: event.tree, segments: [], calls: {}, decisions: [] };
  state.live.trees.push(tree);
  return tree;
}

function finishTree(state: RunState, event: EventOf<'tree-finished'>): void {
  const live = liveTree(state, event);
  live.rewards = event.rewards;
  const answered = (outcome: Decision['outcome']): number =>
    live.decisions.filter(decision => decision.outcome === outcome).length;
  state.trees.push({
    id: event.tree,
    step: event.step,
    task: event.task,
    paths: event.paths,
    rewards: event.rewards,
    ...(state.run?.source === undefined && {
      branches: answered('branch'),
      refused: answered('refuse'),
    }),
    ...(event.span && { span: event.span }),
    ...(event.tokens && { tokens: event.tokens }),
  });
}

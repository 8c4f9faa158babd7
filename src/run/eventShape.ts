/** A journal line checked at the rim. Knows every type of event and nothing of files. */
import type {
  EvaluationSummary,
  Event,
  EventType,
  Fact,
  MeasuredSummary,
  StepSummary,
} from '../core/events.ts';
import type { Failure, StopReason, ToolOutcome } from '../core/types.ts';
import type { Shape } from './shape.ts';
import { count, joined, list, number, oneOf, orNull, optional, record, table, text } from './shape.ts';
import { answeredCall, decision, pathOrigin, segmentKind, stopReason, tokenSpan } from './treeShape.ts';

const failure = record<Failure>({
  where: oneOf('config', 'policy', 'tool', 'reward', 'store', 'bug'),
  message: text,
  fix: optional(text),
});

const stops: Shape<Partial<Record<StopReason, number>>> = table(count);
const outcomes: Shape<Partial<Record<ToolOutcome, number>>> = table(count);

const stepSummary = record<StepSummary>({
  tasks: count,
  trajectories: count,
  reward: record<StepSummary['reward']>({
    mean: number,
    std: number,
    p10: number,
    p90: number,
    parts: table(number),
  }),
  accuracy: optional(number),
  entropy: record<StepSummary['entropy']>({
    all: optional(number),
    initial: optional(number),
    afterTool: optional(number),
    byTurn: optional(list(orNull(number))),
  }),
  branches: optional(
    record<MeasuredSummary['branches']>({
      asked: count,
      taken: count,
      refused: count,
      noBudget: count,
      filled: count,
    }),
  ),
  toolCalls: record<StepSummary['toolCalls']>({
    total: count,
    byTool: table(count),
    errors: optional(count),
    latencyP50Ms: optional(number),
    latencyP95Ms: optional(number),
    byOutcome: optional(outcomes),
    latencyP95MsByTool: optional(table(number)),
  }),
  groups: record<StepSummary['groups']>({
    allRight: count,
    mixed: count,
    allWrong: count,
    flat: optional(count),
  }),
  tokens: optional(
    record<MeasuredSummary['tokens']>({ sampled: count, unique: count, expanded: count, trained: count }),
  ),
  responseTokens: optional(
    record<MeasuredSummary['responseTokens']>({
      mean: number,
      max: number,
      p10: optional(number),
      p90: optional(number),
    }),
  ),
  turns: optional(record<NonNullable<StepSummary['turns']>>({ mean: number, max: number })),
  stops,
  loss: optional(number),
  gradientNorm: optional(number),
  kl: optional(number),
  approximateKl: optional(number),
  clipFraction: optional(number),
  clipFractions: optional(
    record<NonNullable<StepSummary['clipFractions']>>({ high: number, low: number, dual: number }),
  ),
  skippedUpdates: optional(count),
  filter: optional(
    record<NonNullable<StepSummary['filter']>>({ rounds: count, kept: count, dropped: count }),
  ),
  probes: optional(record<NonNullable<StepSummary['probes']>>({ made: count, calls: count, tokens: count })),
  mismatch: optional(
    record<NonNullable<StepSummary['mismatch']>>({
      mean: number,
      max: number,
      p99: optional(number),
      correlation: optional(number),
    }),
  ),
  seconds: optional(record<MeasuredSummary['seconds']>({ total: number, rollout: number, learn: number })),
  memory: optional(record<NonNullable<StepSummary['memory']>>({ worker: number, engine: optional(number) })),
});

const interval: Shape<[number, number]> = (value, place, name) => {
  const [low, high] = list(number)(value, place, name);
  const here = joined(place, name);
  return [number(low, here, 0), number(high, here, 1)];
};

export const evaluationSummary = record<EvaluationSummary>({
  id: text,
  dataset: text,
  tasks: count,
  samples: count,
  accuracy: number,
  interval,
  greedyAccuracy: optional(number),
  reward: number,
  toolCallsPerTrajectory: number,
  byAbility: table(number),
  seconds: number,
});

/** A fact without its stamp and type, which every event has. */
type Body<T extends EventType> = Omit<Extract<Fact, { type: T }>, 'type'>;

const SHAPES: { readonly [T in EventType]: Shape<Body<T>> } = {
  'run-started': record<Body<'run-started'>>({
    format: record<{ major: number; minor: number }>({ major: count, minor: count }),
    run: text,
    steps: count,
    source: optional(text),
    tasks: optional(count),
    tools: table(text),
    device: optional(text),
    parameters: optional(count),
    seed: optional(number),
  }),
  'step-started': record<Body<'step-started'>>({ tasks: list(text) }),
  'tasks-added': record<Body<'tasks-added'>>({ tasks: list(text), round: count }),
  'segment-grown': record<Body<'segment-grown'>>({
    tree: text,
    segment: count,
    parent: number,
    kind: segmentKind,
    tokens: count,
    turn: count,
    path: count,
    origin: pathOrigin,
    entropy: optional(number),
    stop: optional(stopReason),
  }),
  'tool-answered': record<Body<'tool-answered'>>({ tree: text, segment: count, call: answeredCall }),
  'branch-decided': record<Body<'branch-decided'>>({ tree: text, decision }),
  'tree-finished': record<Body<'tree-finished'>>({
    tree: text,
    task: text,
    paths: count,
    rewards: list(number),
    span: optional(record<{ offset: number; length: number }>({ offset: count, length: count })),
    tokens: optional(tokenSpan),
  }),
  'tree-failed': record<Body<'tree-failed'>>({ tree: text, failure }),
  'step-finished': record<Body<'step-finished'>>({ summary: stepSummary }),
  'checkpoint-saved': record<Body<'checkpoint-saved'>>({
    folder: text,
    hash: text,
    seconds: optional(number),
  }),
  evaluated: record<Body<'evaluated'>>({ summary: evaluationSummary, checkpoint: optional(text) }),
  paused: record<Body<'paused'>>({ reason: text }),
  resumed: record<Body<'resumed'>>({ from: text }),
  warned: record<Body<'warned'>>({ failure }),
  'run-ended': record<Body<'run-ended'>>({
    outcome: oneOf('finished', 'stopped', 'failed'),
    failure: optional(failure),
  }),
};

const anyEvent = record<{ seq: number; at: string; step: number; type: string }>({
  seq: count,
  at: text,
  step: count,
  type: text,
});

/**
 * The event, or undefined for a type that this version does not know. Throws a FailureError where a known one is wrong.
 * `seq` is checked in both cases, so that a reader can count unknown events too.
 */
export function eventOf(value: unknown, place: string): { seq: number; event?: Event } {
  const { seq, type } = anyEvent(value, place);
  if (!Object.hasOwn(SHAPES, type)) return { seq };
  // The stamp was checked by anyEvent and the rest by the shape of its type.
  return { seq, event: SHAPES[type as EventType](value, place) as Event };
}

/** A tree line checked at the rim: fields by type, and indexes by what they point at. Knows nothing of files. */
import type {
  Credit,
  Decision,
  Path,
  PathOrigin,
  Probe,
  Reward,
  Rule,
  Segment,
  SegmentKind,
  StopReason,
  TaskSummary,
  ToolCall,
  ToolOutcome,
  Tree,
} from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { ALTERNATIVE_BYTES, TOKEN_BYTES } from './layout.ts';
import type { Shape } from './shape.ts';
import {
  count,
  integer,
  joined,
  list,
  number,
  oneOf,
  optional,
  orNull,
  record,
  table,
  text,
  yes,
} from './shape.ts';

/** Where a tree's token columns lie in tokens.bin. */
export interface TokenSpan {
  /** Byte offset. */
  offset: number;
  /** Tokens; their columns take TOKEN_BYTES each. */
  count: number;
  /** Alternatives behind the columns, k for each of so many drawn tokens; absent where none were recorded. */
  alternatives?: { k: number; drawn: number };
  /** CRC-32 of all these bytes; absent in trees written by others. */
  crc?: number;
}

/** Length of all that a tree has in tokens.bin. */
export const tokenBytes = ({ count, alternatives }: TokenSpan): number =>
  count * TOKEN_BYTES + (alternatives ? alternatives.k * alternatives.drawn * ALTERNATIVE_BYTES : 0);

/** One line of trees.jsonl. */
export type TreeLine = Tree & { tokens: TokenSpan };

export const segmentKind = oneOf<SegmentKind>('prompt', 'model', 'tool', 'forced');
export const stopReason = oneOf<StopReason>(
  'call',
  'answer',
  'length',
  'turn-length',
  'call-limit',
  'empty-call',
);
export const pathOrigin = oneOf<PathOrigin>('initial', 'branch', 'fill');
const toolOutcome = oneOf<ToolOutcome>('ok', 'error', 'timed-out', 'too-large', 'refused', 'failed');
const rule = oneOf<Rule>('paper', 'upstream');

export const tokenSpan = record<TokenSpan>({
  offset: count,
  count,
  alternatives: optional(record<NonNullable<TokenSpan['alternatives']>>({ k: count, drawn: count })),
  crc: optional(count),
});
export const answeredCall = record<Omit<ToolCall, 'argument'>>({
  tool: text,
  outcome: toolOutcome,
  latencyMs: number,
  shared: yes,
});
const call = record<ToolCall>({
  tool: text,
  argument: text,
  outcome: toolOutcome,
  latencyMs: number,
  shared: yes,
});

const segment = record<Segment>({
  parent: integer,
  kind: segmentKind,
  start: count,
  count,
  text,
  turn: count,
  stop: optional(stopReason),
  entropy: optional(number),
  call: optional(call),
  asked: optional(record<NonNullable<Segment['asked']>>({ tool: text, argument: text })),
});

export const decision = record<Decision>({
  segment: count,
  path: count,
  round: count,
  rule,
  gate: oneOf('bernoulli', 'threshold'),
  initialEntropy: number,
  entropy: number,
  entropyDelta: number,
  windowTokens: count,
  branchProbability: number,
  entropyWeight: number,
  penalty: optional(
    record<NonNullable<Decision['penalty']>>({ form: rule, consecutive: count, factor: number }),
  ),
  probability: number,
  draw: optional(number),
  threshold: optional(number),
  made: count,
  total: count,
  outcome: oneOf('branch', 'refuse', 'budget', 'length'),
  child: optional(count),
});

const reward = record<Reward>({
  total: number,
  parts: table(number),
  correct: yes,
  answer: optional(text),
  reason: text,
});

const path = record<Path>({
  leaf: count,
  origin: pathOrigin,
  from: optional(record<NonNullable<Path['from']>>({ path: count, segment: count })),
  calls: count,
  stop: optional(stopReason),
  reward: optional(reward),
});

const credit = record<Credit>({
  soft: list(number),
  hard: list(orNull(number)),
  steps: optional(list(list(number))),
  used: oneOf('soft', 'hard', 'step'),
});

const fields = record<TreeLine>({
  imported: optional(record<NonNullable<Tree['imported']>>({ source: text, hasTokens: yes })),
  id: text,
  step: count,
  task: record<TaskSummary>({ id: text, question: text, references: list(text), ability: text }),
  rule,
  initial: count,
  total: count,
  segments: list(segment),
  paths: list(path),
  decisions: list(decision),
  probe: optional(
    record<Probe>({
      form: rule,
      rootEntropy: number,
      turnEntropy: number,
      share: number,
      tokens: count,
      calls: list(answeredCall),
    }),
  ),
  isDropped: optional(yes),
  credit: optional(credit),
  tokens: tokenSpan,
});

/** A tree whose fields have their types and whose indexes point into it. */
export const treeLine: Shape<TreeLine> = (value, place, name) => {
  const tree = fields(value, place, name);
  const { segments, paths, decisions, tokens } = tree;
  const need = (isTrue: boolean, where: string, sentence: string): void => {
    if (isTrue) return;
    const message = `${joined(place, name)}.${where} ${sentence}.`;
    throw new FailureError({ where: 'store', message });
  };
  need(segments.length > 0, 'segments', 'is empty');
  segments.forEach(({ parent, start, count }, i) => {
    need(
      parent < i && parent >= (i === 0 ? -1 : 0),
      `segments[${i}].parent`,
      `is ${parent}, which is no earlier segment`,
    );
    need(start + count <= tokens.count, `segments[${i}]`, `ends after the tree’s ${tokens.count} tokens`);
  });
  paths.forEach(({ leaf, from }, i) => {
    need(leaf < segments.length, `paths[${i}].leaf`, `is ${leaf}, which is no segment`);
    const isInside = !from || (from.path < paths.length && from.segment < segments.length);
    need(isInside, `paths[${i}].from`, 'points outside the tree');
  });
  decisions.forEach((decision, i) => {
    const isInside = decision.segment < segments.length && decision.path < paths.length;
    need(isInside, `decisions[${i}]`, 'points outside the tree');
    const isChild = decision.child === undefined || decision.child < paths.length;
    need(isChild, `decisions[${i}].child`, 'is no path of the tree');
  });
  if (tree.credit) {
    need(tree.credit.soft.length === paths.length, 'credit.soft', 'has not one entry per path');
    need(tree.credit.hard.length === segments.length, 'credit.hard', 'has not one entry per segment');
    const { steps } = tree.credit;
    need(!steps || steps.length === segments.length, 'credit.steps', 'has not one entry per segment');
  }
  return tree;
};

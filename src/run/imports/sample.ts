/** A foreign rollout in our own words, and the tree of those that began with the same prompt. Knows nothing of files or of who wrote it. */
import { createHash } from 'node:crypto';
import type { Path, Reward, Segment, StopReason, ToolCall } from '../../core/types.ts';
import type { TreeLine } from '../treeShape.ts';

/** What one party said after the prompt. */
export interface Piece {
  kind: 'model' | 'tool';
  text: string;
  /** Only of tool pieces, where it is known what was asked. */
  asked?: Pick<ToolCall, 'tool' | 'argument'>;
  /** Absent where its writer did not log them. */
  tokens?: number;
}

/** One rollout as a row of a foreign file tells it. */
export interface Sample {
  /** Rollouts of a step with the same key began with the same prompt. */
  group: string;
  prompt: { text: string; tokens?: number };
  question: string;
  references: readonly string[];
  /** The dataset's or the environment's name; '' where the row has none. */
  ability: string;
  pieces: readonly Piece[];
  /** Absent where it was not judged. */
  reward?: Reward;
  stop?: StopReason;
}

/** What a list and a step's numbers need of a rollout, so that its text can be forgotten. */
export interface SampleFacts {
  group: string;
  task: string;
  question: string;
  reward?: number;
  parts: Readonly<Record<string, number>>;
  correct: boolean;
  /** [call] its tool. */
  calls: readonly string[];
  turns: number;
  /** Of prompt and response, and of these drawn by the policy; absent where a piece has none. */
  tokens?: { prompt: number; response: number; drawn: number };
  stop?: StopReason;
}

const QUESTION_LENGTH = 300;

/** Short names of texts, the same for the same text in every step and window. */
export const nameOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** A part of a long text keeps the whole in memory until it is copied. */
const copyOf = (part: string): string => Buffer.from(part).toString();

const callsOf = ({ pieces }: Sample): string[] => pieces.flatMap(({ asked }) => asked?.tool ?? []);

export function factsOf(sample: Sample): SampleFacts {
  const { group, question, reward, stop, pieces } = sample;
  const tokens = tokensOf(sample);
  return {
    group: nameOf(group),
    task: nameOf(sample.prompt.text),
    question: copyOf(question.slice(0, QUESTION_LENGTH)),
    parts: reward?.parts ?? {},
    correct: reward?.correct ?? false,
    calls: callsOf(sample).map(copyOf),
    turns: pieces.filter(({ kind }) => kind === 'model').length,
    ...(reward && { reward: reward.total }),
    ...(tokens && { tokens }),
    ...(stop && { stop }),
  };
}

function tokensOf({ prompt, pieces }: Sample): SampleFacts['tokens'] {
  if (prompt.tokens === undefined || pieces.some(({ tokens }) => tokens === undefined)) return undefined;
  const total = (counted: readonly Piece[]): number =>
    counted.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  return {
    prompt: prompt.tokens,
    response: total(pieces),
    drawn: total(pieces.filter(({ kind }) => kind === 'model')),
  };
}

/** The tree of rollouts with the same prompt: each is a chain of its own from there, for who left whom was not logged. */
export function treeOf(
  place: { id: string; step: number; source: string },
  samples: readonly Sample[],
): TreeLine {
  const first = samples[0]!;
  const hasTokens = samples.every(sample => tokensOf(sample) !== undefined);
  const segments: Segment[] = [];
  let start = 0;
  const add = (segment: Omit<Segment, 'start' | 'count'>, tokens = 0): number => {
    const count = hasTokens ? tokens : 0;
    segments.push({ ...segment, start, count });
    start += count;
    return segments.length - 1;
  };
  add({ parent: -1, kind: 'prompt', text: first.prompt.text, turn: 0 }, first.prompt.tokens);
  const paths = samples.map((sample): Path => {
    let leaf = 0;
    let turn = 0;
    sample.pieces.forEach(({ kind, text, asked, tokens }, index) => {
      const isCall = kind === 'model' && sample.pieces[index + 1]?.asked !== undefined;
      const isLast = index === sample.pieces.length - 1;
      const stop = isCall ? 'call' : isLast && kind === 'model' ? sample.stop : undefined;
      leaf = add({ parent: leaf, kind, text, turn, ...(asked && { asked }), ...(stop && { stop }) }, tokens);
      if (kind === 'model') turn++;
    });
    const { reward, stop } = sample;
    const path: Path = { leaf, origin: 'initial', calls: callsOf(sample).length };
    return { ...path, ...(stop && { stop }), ...(reward && { reward }) };
  });
  return {
    imported: { source: place.source, hasTokens },
    id: place.id,
    step: place.step,
    task: {
      id: nameOf(first.prompt.text),
      question: first.question,
      references: first.references,
      ability: first.ability,
    },
    rule: 'paper',
    initial: paths.length,
    total: paths.length,
    segments,
    paths,
    decisions: [],
    tokens: { offset: 0, count: start },
  };
}

/** Lays one trajectory out as a text document and says where each token stands in it. Knows nothing of VS Code or files. */
import { isCounterfactual } from '../core/counterfactual.ts';
import { change, counted, plain } from '../core/figures.ts';
import type { Pieces } from '../core/pieces.ts';
import { textOf, textOffsets } from '../core/pieces.ts';
import { isReplayed } from '../core/replay.ts';
import { isInLoss } from '../core/segmentCredit.ts';
import { segmentsOf } from '../core/tree.ts';
import type { Decision, Segment, SegmentKind, StopReason, TokenColumns, Tree } from '../core/types.ts';
import { visible, wrap, wrappedRange, type Wrapped } from '../core/wrap.ts';

/** Longest line, in UTF-16 units. */
export const LINE_WIDTH = 200;

/** A segment's place: its heading's line, the lines of its text (last included; below first where it has none), its tokens. */
export interface SegmentPlace {
  segment: number;
  kind: SegmentKind;
  heading: number;
  firstLine: number;
  lastLine: number;
  /** Half-open range in `tokens`. */
  from: number;
  to: number;
}

export interface Fold {
  firstLine: number;
  lastLine: number;
  what: 'turn' | 'segment' | 'think';
}

export interface TrajectoryText {
  text: string;
  /** [line] offset of its first character. */
  lineStarts: number[];
  /** [token] index in the tree's columns, in reading order. */
  tokens: Int32Array;
  /** [token] half-open range in `text`; empty for a token that only continues a character. */
  starts: Uint32Array;
  ends: Uint32Array;
  segments: SegmentPlace[];
  /** Lines that tell of a branching question. */
  questions: { line: number; decision: Decision }[];
  folds: Fold[];
}

/** The ids of a tree's tokens, and the bytes that they stand for. */
export interface Words {
  ids: TokenColumns['ids'];
  pieces: Pieces;
}

/**
 * Throws where the tree has no such path. Headings and added line feeds belong to no token. Without words (the tree still
 * grows, or its run has no vocabulary) the text is that of the segments, as far as there is one, and has no tokens. `above` are further
 * lines of its head.
 */
export function layOut(
  tree: Tree,
  path: number,
  words: Words | undefined,
  { isGrowing = false, above = [] }: { isGrowing?: boolean; above?: readonly string[] } = {},
): TrajectoryText {
  const indices = segmentsOf(tree, path);
  const total = indices.reduce((sum, index) => sum + tree.segments[index]!.count, 0);
  const page = makePage(words === undefined ? 0 : total);
  for (const line of [...headLines(tree, path, indices, isGrowing), ...above]) page.line(line);
  const questions: TrajectoryText['questions'] = [];
  const segments = indices.map(index => {
    page.line('');
    const heading = page.line(segmentHeading(tree, path, index));
    const place =
      words === undefined
        ? page.plain(tree.segments[index]!, isGrowing)
        : page.segment(tree.segments[index]!, words);
    for (const decision of tree.decisions.filter(({ segment }) => segment === index))
      questions.push({ line: page.line(decisionLine(decision)), decision });
    if (tree.paths[path]!.from?.segment === index)
      page.line(`── here path ${path} left path ${tree.paths[path]!.from.path} ──`);
    return { segment: index, kind: tree.segments[index]!.kind, heading, ...place };
  });
  const text = page.finish();
  return { ...text, segments, questions, folds: foldsOf(text.text, text.lineStarts, segments) };
}

/** A growing document: lines, and the tokens' places in it. */
function makePage(count: number) {
  const parts: string[] = [];
  const lineStarts = [0];
  const tokens = new Int32Array(count);
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  let length = 0;
  let next = 0;
  const write = (text: string): void => {
    for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', feed + 1))
      lineStarts.push(length + feed + 1);
    parts.push(text);
    length += text.length;
  };
  /** Writes a whole line and returns its number. */
  const line = (text: string): number => {
    write(`${visible(text).replaceAll('\n', '␊')}\n`);
    return lineStarts.length - 2;
  };
  type Span = Omit<SegmentPlace, 'segment' | 'kind' | 'heading'>;
  const block = (wrapped: Wrapped, from: number): Span => {
    const firstLine = lineStarts.length - 1;
    if (wrapped.text !== '') write(`${wrapped.text}\n`);
    return { firstLine, lastLine: lineStarts.length - 2, from, to: next };
  };
  const segment = ({ start, count }: Segment, { ids, pieces }: Words): Span => {
    const own = ids.subarray(start, start + count);
    const offsets = textOffsets(pieces, own);
    const wrapped = wrap(visible(textOf(pieces, own)), LINE_WIDTH);
    const from = next;
    for (let i = 0; i < count; i++, next++) {
      const [first, last] = wrappedRange(wrapped, offsets[i]!, offsets[i + 1]!);
      tokens[next] = start + i;
      starts[next] = length + first;
      ends[next] = length + last;
    }
    return block(wrapped, from);
  };
  const plain = ({ text, count }: Segment, isGrowing: boolean): Span => {
    const why = isGrowing ? 'their text is written when the tree is done' : 'without text';
    const stand = text === '' && count > 0 ? `(${counted(count, 'token')}, ${why})` : text;
    return block(wrap(visible(stand), LINE_WIDTH), next);
  };
  return { line, segment, plain, finish: () => ({ text: parts.join(''), lineStarts, tokens, starts, ends }) };
}

function headLines(tree: Tree, path: number, indices: readonly number[], isGrowing: boolean): string[] {
  const { reward, calls, stop, origin } = tree.paths[path]!;
  const onOthers = new Set(tree.paths.flatMap((_, other) => (other === path ? [] : segmentsOf(tree, other))));
  const tokens = indices.reduce((sum, index) => sum + tree.segments[index]!.count, 0);
  const shared = indices.reduce(
    (sum, index) => sum + (onOthers.has(index) ? tree.segments[index]!.count : 0),
    0,
  );
  const scored =
    reward === undefined
      ? 'not judged'
      : `reward ${plain(reward.total, 2)} (${reward.correct ? 'right' : 'wrong'})`;
  const soft = tree.credit?.soft[path];
  const sizes = lacksTokens(tree) ? 'tokens not logged' : `${counted(tokens, 'token')} (${shared} shared)`;
  const counts = `${sizes} · ${counted(calls, 'tool call')}`;
  if (isGrowing)
    return [
      `# Tree ${tree.id} · trajectory ${path} of ${tree.paths.length} so far (${origin}) · growing · ${scored} · ${counts}`,
      `# Task ${tree.task.id} · this document follows the tree while it grows`,
    ];
  const lines = [
    ...notTrained(tree.id),
    `# Tree ${tree.id} · trajectory ${path} of ${tree.paths.length} (${origin}) · ${scored} · advantage ${soft === undefined && tree.imported ? 'not logged' : signed(soft)} · ${counts} · ${endOf(stop)}`,
    `# Task ${tree.task.id}${tree.task.ability && ` (${tree.task.ability})`} · accepted: ${tree.task.references.join(' | ') || 'not logged'}${reward?.answer === undefined ? '' : ` · answered: ${reward.answer}`}`,
  ];
  return reward === undefined ? lines : [...lines, `# ${reward.reason}`];
}

/** Says so of what was not drawn in training. */
function notTrained(tree: string): string[] {
  if (isCounterfactual(tree))
    return ['# A counterfactual, drawn beside the training: nothing of it was trained on'];
  return isReplayed(tree) ? ['# Drawn again to be compared: nothing of it was stored or trained on'] : [];
}

/** Whether its counts of tokens say nothing. */
const lacksTokens = ({ imported }: Tree): boolean => imported?.hasTokens === false;

function segmentHeading(tree: Tree, path: number, index: number): string {
  const segment = tree.segments[index]!;
  const parts = [lacksTokens(tree) ? 'tokens not logged' : counted(segment.count, 'token')];
  if (segment.kind === 'model') parts.unshift(`turn ${segment.turn + 1}`, 'model');
  else if (segment.call !== undefined)
    parts.unshift('tool', segment.call.tool, segment.call.outcome, latency(segment));
  else if (segment.asked !== undefined) parts.unshift('tool', segment.asked.tool);
  else parts.unshift(segment.kind);
  if (segment.entropy !== undefined) parts.push(`H ${plain(segment.entropy, 2)}`);
  if (tree.imported !== undefined && tree.credit === undefined) parts.push('advantage not logged');
  else if (isInLoss(tree, index)) parts.push(`A ${signed(tree.credit?.soft[path])}`);
  else parts.push('not trained');
  if (segment.stop !== undefined) parts.push(`ended by ${segment.stop}`);
  return `── ${parts.join(' · ')} ──`;
}

/** Why a trajectory ended, in words. */
export const endOf = (stop: StopReason | undefined): string =>
  stop === undefined ? 'its end is not logged' : `ended by ${stop}`;

/** What a tool's answer took, in words: a shared answer took no time of its own. */
export const latency = ({ call }: Segment): string =>
  call === undefined ? '' : call.shared ? 'shared answer' : `${Math.round(call.latencyMs)} ms`;

const OUTCOMES: Record<Decision['outcome'], (decision: Decision) => string> = {
  branch: ({ child }) => `branched: path ${child ?? '?'}`,
  refuse: () => 'refused',
  budget: ({ made, total }) => `no budget: ${made} of ${total} made`,
  length: () => 'no tokens left for a branch',
};

/** Every number that decided a branching question, and the answer. */
function decisionLine(decision: Decision): string {
  const { initialEntropy, entropy, entropyDelta, probability, draw, threshold, windowTokens } = decision;
  const gate =
    draw !== undefined
      ? `draw ${plain(draw, 2)}`
      : threshold !== undefined
        ? `τ ${plain(threshold, 2)}`
        : 'not drawn';
  const question = `path ${decision.path} asked · H₀ ${plain(initialEntropy, 2)} · Hₜ ${plain(entropy, 2)} of ${counted(windowTokens, 'token')} · ΔH ${signed(entropyDelta)}`;
  return `── branching: ${question} · P ${plain(probability, 2)} · ${gate} · ${OUTCOMES[decision.outcome](decision)} ──`;
}

/** Two decimals with a sign (U+2212 for minus); an en dash for what was not measured. */
export const signed = (value: number | null | undefined): string =>
  value === undefined || value === null || Number.isNaN(value) ? '–' : change(value, 2);

function foldsOf(text: string, lineStarts: readonly number[], segments: readonly SegmentPlace[]): Fold[] {
  const folds: Fold[] = [];
  segments.forEach((place, i) => {
    folds.push({ firstLine: place.heading, lastLine: place.lastLine, what: 'segment' });
    if (place.kind !== 'model') return;
    folds.push(...thinkFolds(text, lineStarts, place));
    // A turn folds with the answers to its calls: its range replaces the segment's, which starts on the same line.
    const after = segments.slice(i + 1);
    const end = after.findIndex(({ kind }) => kind === 'model');
    const last = (end < 0 ? after : after.slice(0, end)).at(-1);
    if (last !== undefined)
      folds.splice(
        folds.findIndex(fold => fold.firstLine === place.heading),
        1,
        { firstLine: place.heading, lastLine: last.lastLine, what: 'turn' },
      );
  });
  return folds.filter(({ firstLine, lastLine }) => lastLine > firstLine);
}

function thinkFolds(
  text: string,
  lineStarts: readonly number[],
  { firstLine, lastLine }: SegmentPlace,
): Fold[] {
  const start = lineStarts[firstLine] ?? text.length;
  const own = text.slice(start, lineStarts[lastLine + 1]);
  return [...own.matchAll(/<think>[^]*?(?:<\/think>|$)/g)].map(found => ({
    firstLine: lineOf(lineStarts, start + found.index),
    lastLine: lineOf(lineStarts, start + found.index + found[0].trimEnd().length),
    what: 'think',
  }));
}

/** The line that an offset stands on. */
export const lineOf = (lineStarts: readonly number[], offset: number): number =>
  lastAtMost(lineStarts, offset);

/** The token that stands at an offset; undefined on headings and added line feeds. */
export function tokenAt({ starts, ends }: TrajectoryText, offset: number): number | undefined {
  for (let token = lastAtMost(starts, offset); token >= 0; token--) {
    if (offset < ends[token]!) return token;
    // Tokens without characters of their own may stand between the offset and the token that holds it.
    if (ends[token]! > starts[token]!) return undefined;
  }
  return undefined;
}

/** Index of the last of the ascending numbers that is at most the limit; -1 where none is. */
function lastAtMost(ascending: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

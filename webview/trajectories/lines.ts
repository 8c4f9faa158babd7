/** One trajectory as lines of a transcript. Knows nothing of the DOM. */
import { verdict } from '../../src/core/explain.ts';
import { counted } from '../../src/core/figures.ts';
import { advantageOf, isInLoss } from '../../src/core/segmentCredit.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import type { Segment, SegmentKind, Tree } from '../../src/core/types.ts';
import { visible, wrap } from '../../src/core/wrap.ts';
import { number, signed } from '../shared/format.ts';

/** `facts` are the numbers of a heading; all other lines are their text alone. */
export interface Line {
  kind: 'heading' | 'text' | 'decision' | 'blank';
  segment: number;
  role: SegmentKind;
  text: string;
  facts?: string;
  /** True where the loss does not see the segment. */
  isDim: boolean;
}

/** `width` is the longest line, in characters. */
export function transcript(tree: Tree, path: number, width: number): Line[] {
  return segmentsOf(tree, path).flatMap((index): Line[] => {
    const segment = tree.segments[index]!;
    const common = { segment: index, role: segment.kind, isDim: !isInLoss(tree, index) };
    const text = visible(segment.text).replace(/\n$/, '');
    const lines = text === '' ? [] : wrap(text, width).text.split('\n');
    const asked = tree.decisions.filter(decision => decision.segment === index);
    return [
      { ...common, kind: 'heading', text: nameOf(segment), facts: factsOf(tree, path, index) },
      ...lines.map((line): Line => ({ ...common, kind: 'text', text: line })),
      ...asked.map((decision): Line => ({
        ...common,
        kind: 'decision',
        text: `${decision.outcome === 'branch' ? '↳' : '⊘'} trajectory ${decision.path} asked: ${verdict(decision)}${decision.child === undefined ? '' : `, trajectory ${decision.child}`}`,
      })),
      { ...common, kind: 'blank', text: '' },
    ];
  });
}

function nameOf({ kind, turn, call, asked }: Segment): string {
  if (kind === 'model') return `Model, turn ${turn + 1}`;
  if (kind === 'tool') return `Tool ${(call ?? asked)?.tool ?? ''}`.trim();
  return kind === 'prompt' ? 'Prompt' : 'Forced text';
}

function factsOf(tree: Tree, path: number, index: number): string {
  const { count, entropy, stop, call } = tree.segments[index]!;
  const parts = [tree.imported?.hasTokens === false ? 'tokens not logged' : counted(count, 'token')];
  if (call !== undefined)
    parts.push(call.outcome, call.shared ? 'shared answer' : `${number(Math.round(call.latencyMs))} ms`);
  if (entropy !== undefined) parts.push(`H ${number(entropy)}`);
  const advantage = advantageOf(tree, path, index, 'used');
  if (tree.imported !== undefined && tree.credit === undefined) parts.push('advantage not logged');
  else if (!isInLoss(tree, index)) parts.push('not trained');
  else if (advantage !== undefined) parts.push(`A ${signed(advantage)}`);
  if (stop !== undefined) parts.push(`ended by ${stop}`);
  return parts.join(' · ');
}

/** What a screen reader is told of a line. */
export const labelOf = ({ text, facts, kind }: Line): string =>
  kind === 'heading' ? `${text}, ${facts ?? ''}` : kind === 'blank' ? 'blank' : text;

/** The next heading after a line, or the last before it; the line itself where there is none. */
export function nextHeading(lines: readonly Line[], from: number, direction: 1 | -1): number {
  for (let at = from + direction; at >= 0 && at < lines.length; at += direction)
    if (lines[at]!.kind === 'heading') return at;
  return from;
}

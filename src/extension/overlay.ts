/** Which tint a token gets under an overlay, and what a token's numbers are called. Knows nothing of VS Code or colours. */
import { counted, plain } from '../core/figures.ts';
import { changeAt, type PathChange } from '../core/likelihood.ts';
import { advantageOf, isInLoss, type CreditChoice } from '../core/segmentCredit.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
import { changeTint, turnChange } from './changeText.ts';
import type { SegmentPlace, TrajectoryText } from './trajectoryText.ts';
import { latency, signed } from './trajectoryText.ts';
import { meanOf } from '../core/mean.ts';

export const OVERLAYS = ['entropy', 'advantage', 'log-prob', 'mismatch', 'mask', 'none'] as const;
export type Overlay = (typeof OVERLAYS)[number];

/** Faintest first within an overlay. The sign of an advantage is also in its underline, so that it does not hang on colour alone. */
export const TINTS = [
  'entropy1',
  'entropy2',
  'entropy3',
  'entropy4',
  'logProb1',
  'logProb2',
  'logProb3',
  'logProb4',
  'mismatch1',
  'mismatch2',
  'mismatch3',
  'mismatch4',
  'plus1',
  'minus1',
  'plus2',
  'minus2',
  'trained',
] as const;
export type Tint = (typeof TINTS)[number];

/** One trajectory with everything that its document, lenses, hovers and tints are made from. */
export interface Trajectory {
  tree: Tree;
  path: number;
  columns: TokenColumns;
  layout: TrajectoryText;
  /** Only of a text that shows what became likelier; its tints are then these. */
  change?: PathChange;
}

/** Where each of the four tints begins; below the first a token has none. Entropy is in nats. */
const ENTROPY_LEVELS = [0.1, 0.5, 1, 2] as const;
/** −log p of the token that was drawn, at the sampling temperature: p below 90, 50, 20 and 5 %. */
const LOG_PROB_LEVELS = [-Math.log(0.9), -Math.log(0.5), -Math.log(0.2), -Math.log(0.05)] as const;
/** |log p by the trainer − log p by the sampler|. */
const MISMATCH_LEVELS = [0.001, 0.01, 0.1, 0.5] as const;

/** What the tints of an overlay mean, in a line. */
export const LEGENDS: Record<Overlay, string> = {
  entropy: 'four steps from 0.1, 0.5, 1 and 2 nats',
  advantage: 'solid underline where positive, wavy where negative, stronger from 1',
  'log-prob': 'four steps where the drawn token had p below 90, 50, 20 and 5 %',
  mismatch: 'four steps where trainer and sampler differ by .001, .01, .1 and .5 in log p',
  mask: 'dotted underline where the loss sees the token',
  none: 'no tint',
};

/** |A| in group standard deviations from which the stronger tint is used. */
const STRONG_ADVANTAGE = 1;

type Levels = readonly [number, number, number, number];

/** Tint of one token under the overlays that measure tokens, not segments. */
const TOKEN_TINTS: Partial<Record<Overlay, (columns: TokenColumns, at: number) => Tint | undefined>> = {
  entropy: ({ entropies }, at) => levelTint('entropy', entropies[at]!, ENTROPY_LEVELS),
  'log-prob': ({ samplerLogProbs }, at) => levelTint('logProb', -samplerLogProbs[at]!, LOG_PROB_LEVELS),
  mismatch: ({ samplerLogProbs, trainerLogProbs }, at) =>
    levelTint('mismatch', Math.abs(trainerLogProbs[at]! - samplerLogProbs[at]!), MISMATCH_LEVELS),
};

/** No tint below the first level, and for what was not measured. */
function levelTint(
  name: 'entropy' | 'logProb' | 'mismatch',
  value: number,
  levels: Levels,
): Tint | undefined {
  if (value >= levels[3]) return `${name}4`;
  if (value >= levels[2]) return `${name}3`;
  if (value >= levels[1]) return `${name}2`;
  return value >= levels[0] ? `${name}1` : undefined;
}

const advantageTint = (advantage: number | undefined): Tint | undefined => {
  if (advantage === undefined || advantage === 0) return undefined;
  const isStrong = Math.abs(advantage) >= STRONG_ADVANTAGE;
  return advantage > 0 ? (isStrong ? 'plus2' : 'plus1') : isStrong ? 'minus2' : 'minus1';
};

/** A run of neighbouring tokens with one tint: half-open offsets into the text. */
export interface TintedRun {
  tint: Tint;
  start: number;
  end: number;
}

/** Half-open offsets. */
export interface Stretch {
  from: number;
  to: number;
}

/** Runs inside the stretch, in reading order. Tokens without text are left out. */
export function tintedRuns(
  trajectory: Trajectory,
  overlay: Overlay,
  choice: CreditChoice,
  { from, to }: Stretch,
): TintedRun[] {
  const { tree, path, columns, layout } = trajectory;
  const runs: TintedRun[] = [];
  const { change } = trajectory;
  if (overlay === 'none' && !change) return runs;
  const ofToken = TOKEN_TINTS[overlay];
  for (const place of layout.segments) {
    if (place.to === place.from || !overlaps(layout, place, { from, to })) continue;
    const ofSegment = segmentTint(tree, path, place.segment, overlay, choice);
    for (let token = place.from; token < place.to; token++) {
      const start = layout.starts[token]!;
      const end = layout.ends[token]!;
      if (start === end || end <= from || start >= to) continue;
      const tint = change
        ? changeTint(changeAt(change, token))
        : ofToken === undefined
          ? ofSegment
          : ofToken(columns, layout.tokens[token]!);
      if (tint === undefined) continue;
      const last = runs.at(-1);
      // Neighbours join, also over a line feed that was added between them.
      if (last?.tint === tint && start - last.end <= 1 && token > place.from) last.end = end;
      else runs.push({ tint, start, end });
    }
  }
  return runs;
}

const overlaps = ({ starts, ends }: TrajectoryText, place: SegmentPlace, { from, to }: Stretch): boolean =>
  starts[place.from]! < to && ends[place.to - 1]! > from;

function segmentTint(
  tree: Tree,
  path: number,
  segment: number,
  overlay: Overlay,
  choice: CreditChoice,
): Tint | undefined {
  if (overlay === 'advantage') return advantageTint(advantageOf(tree, path, segment, choice));
  return overlay === 'mask' && isInLoss(tree, segment) ? 'trained' : undefined;
}

/** Text that is not trained: half-open offsets, one per segment. */
export const untrainedRanges = ({ tree, layout }: Trajectory): [number, number][] =>
  layout.segments
    .filter(({ segment, from, to }) => to > from && !isInLoss(tree, segment))
    .map(({ from, to }) => [layout.starts[from]!, layout.ends[to - 1]!]);

/** The tokens of highest entropy, at most `limit`, none below the second level, highest first. */
export function mostUncertain({ columns, layout }: Trajectory, limit: number): number[] {
  const entropyAt = (token: number): number => columns.entropies[layout.tokens[token]!]!;
  return Array.from(layout.tokens.keys())
    .filter(token => entropyAt(token) >= ENTROPY_LEVELS[1])
    .sort((a, b) => entropyAt(b) - entropyAt(a))
    .slice(0, limit);
}

/** Marks in the overview ruler. */
const RULER_MARKS = 50;
const marked = new WeakMap<Trajectory, number[]>();

/** Those that the overview ruler marks, and between which a reader goes; found once per trajectory. */
export function uncertainTokens(trajectory: Trajectory): readonly number[] {
  const known = marked.get(trajectory) ?? mostUncertain(trajectory, RULER_MARKS);
  marked.set(trajectory, known);
  return known;
}

/** Ranges of one editor over all kinds of decoration: VS Code slows down with thousands. */
export const MOST_DECORATIONS = 1000;

/** Everything that is decorated in one editor. */
export interface Decorations {
  tints: TintedRun[];
  /** Text that the loss does not see. */
  untrained: [number, number][];
  /** Tokens with a mark in the overview ruler. */
  marks: readonly number[];
  /** Lines of the branching questions that made a trajectory. */
  forks: readonly number[];
}

/**
 * What to decorate where `seen` is in sight and `near` is around it; one place is left for the mark of a comparison. Where
 * the tints around are too many only what is in sight is tinted, and then its faintest tints are left out first.
 */
export function decorationsIn(
  trajectory: Trajectory,
  overlay: Overlay,
  choice: CreditChoice,
  { seen, near }: { seen: Stretch; near: Stretch },
): Decorations {
  const marks = uncertainTokens(trajectory);
  const forks = trajectory.layout.questions.flatMap(({ line, decision }) =>
    decision.outcome === 'branch' ? [line] : [],
  );
  const most = MOST_DECORATIONS - 1 - marks.length - forks.length;
  const untrained = untrainedRanges(trajectory)
    .filter(([start, end]) => start < near.to && end > near.from)
    .slice(0, most);
  const room = most - untrained.length;
  const around = tintedRuns(trajectory, overlay, choice, near);
  const tints =
    around.length <= room ? around : strongest(tintedRuns(trajectory, overlay, choice, seen), room);
  return { tints, untrained, marks, forks };
}

/** At most `limit` of the runs, in their order. */
function strongest(runs: TintedRun[], limit: number): TintedRun[] {
  if (runs.length <= limit) return runs;
  const strength = ({ tint }: TintedRun): number => TINTS.indexOf(tint);
  return runs
    .toSorted((a, b) => strength(b) - strength(a))
    .slice(0, limit)
    .sort((a, b) => a.start - b.start);
}

/** One line about a segment: what its text does not say itself. */
export function segmentLens(trajectory: Trajectory, place: SegmentPlace, choice: CreditChoice): string {
  const { tree, path, columns, layout, change } = trajectory;
  const segment = tree.segments[place.segment]!;
  const indices = layout.tokens.subarray(place.from, place.to);
  if (segment.call !== undefined)
    return `${segment.call.tool} ${segment.call.outcome} · ${latency(segment)} · ${counted(segment.count, 'token')}`;
  const parts = [tree.imported?.hasTokens === false ? 'tokens not logged' : counted(segment.count, 'token')];
  if (segment.asked !== undefined) parts.unshift(segment.asked.tool);
  if (segment.kind === 'model') parts.unshift(`turn ${segment.turn + 1}`);
  const changed = change && turnChange(tree, path, change, place.segment);
  if (changed !== undefined) parts.push(changed);
  const entropies = measured(indices, columns.entropies);
  if (entropies.length > 0)
    parts.push(
      `H mean ${plain(meanOf(entropies), 2)}, highest ${plain(
        entropies.reduce((a, b) => Math.max(a, b)),
        2,
      )}`,
    );
  const gaps = Array.from(indices, at =>
    Math.abs(columns.trainerLogProbs[at]! - columns.samplerLogProbs[at]!),
  ).filter(value => !Number.isNaN(value));
  if (gaps.length > 0) parts.push(`|Δ log p| ${meanOf(gaps).toExponential(1)}`);
  if (isInLoss(tree, place.segment))
    parts.push(
      `A ${signed(advantageOf(tree, path, place.segment, choice))} (${choice === 'used' ? (tree.credit?.used ?? 'none') : choice})`,
    );
  return parts.join(' · ');
}

const measured = (indices: Int32Array, column: Float32Array): number[] =>
  Array.from(indices, index => column[index]!).filter(value => !Number.isNaN(value));

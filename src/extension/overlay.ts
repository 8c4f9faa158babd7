/** Which tint a token gets under an overlay, and what a token's numbers are called. Knows nothing of VS Code or colours. */
import { pathsThrough } from '../core/tree.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
import type { SegmentPlace, TrajectoryText } from './trajectoryText.ts';
import { counted, isTrained, latency, signed } from './trajectoryText.ts';

export const OVERLAYS = ['entropy', 'advantage', 'mask', 'none'] as const;
export type Overlay = (typeof OVERLAYS)[number];

/** Whose advantage the overlay and the lenses show: what the update used, or one of both kinds. */
export type CreditChoice = 'used' | 'soft' | 'hard';

/** The nine tints. The sign of an advantage is also in its underline, so that it does not hang on colour alone. */
export const TINTS = [
  'entropy1',
  'entropy2',
  'entropy3',
  'entropy4',
  'plus1',
  'plus2',
  'minus1',
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
}

/** Entropy in nats at which each of the four tints begins; below the first a token is as good as certain. */
export const ENTROPY_LEVELS = [0.1, 0.5, 1, 2] as const;

/** |A| in group standard deviations from which the stronger tint is used. */
export const STRONG_ADVANTAGE = 1;

/** Advantage of a segment on a path; undefined where it has none (not trained, or no credit was given). */
export function advantageOf(
  tree: Tree,
  path: number,
  segment: number,
  choice: CreditChoice,
): number | undefined {
  const { credit } = tree;
  if (credit === undefined || !isTrained(tree, segment)) return undefined;
  switch (choice === 'used' ? credit.used : choice) {
    case 'soft':
      return credit.soft[path];
    case 'hard':
      return credit.hard[segment] ?? undefined;
    case 'step': {
      const place = pathsThrough(tree)[segment]!.indexOf(path);
      return credit.soft[path]! + (credit.steps?.[segment]?.[place] ?? 0);
    }
  }
}

const entropyTint = (entropy: number): Tint | undefined => {
  const level = ENTROPY_LEVELS.filter(limit => entropy >= limit).length;
  return level === 0 ? undefined : TINTS[level - 1];
};

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

/** What to tint, and where: half-open offsets, and at most `limit` runs. */
export interface TintWindow {
  from: number;
  to: number;
  limit: number;
}

/** Runs inside the window, in reading order. Tokens without text are left out. */
export function tintedRuns(
  trajectory: Trajectory,
  overlay: Overlay,
  choice: CreditChoice,
  window: TintWindow,
): TintedRun[] {
  const { tree, path, columns, layout } = trajectory;
  const runs: TintedRun[] = [];
  if (overlay === 'none') return runs;
  for (const place of layout.segments) {
    const ofSegment =
      overlay === 'advantage'
        ? advantageTint(advantageOf(tree, path, place.segment, choice))
        : isTrained(tree, place.segment)
          ? 'trained'
          : undefined;
    for (let token = place.from; token < place.to; token++) {
      const start = layout.starts[token]!;
      const end = layout.ends[token]!;
      const tint = overlay === 'entropy' ? entropyTint(columns.entropies[layout.tokens[token]!]!) : ofSegment;
      if (tint === undefined || start === end || end <= window.from || start >= window.to) continue;
      const last = runs.at(-1);
      // Neighbours join, also over a line feed that was added between them.
      if (last?.tint === tint && start - last.end <= 1 && token > place.from) last.end = end;
      else if (runs.length === window.limit) return runs;
      else runs.push({ tint, start, end });
    }
  }
  return runs;
}

/** Text that is not trained: half-open offsets, one per segment. */
export const untrainedRanges = ({ tree, layout }: Trajectory): [number, number][] =>
  layout.segments
    .filter(({ segment, from, to }) => to > from && !isTrained(tree, segment))
    .map(({ from, to }) => [layout.starts[from]!, layout.ends[to - 1]!]);

/** The tokens of highest entropy, at most `limit`, none below the second level, highest first. */
export function mostUncertain({ columns, layout }: Trajectory, limit: number): number[] {
  const entropyAt = (token: number): number => columns.entropies[layout.tokens[token]!]!;
  return Array.from(layout.tokens.keys())
    .filter(token => entropyAt(token) >= ENTROPY_LEVELS[1])
    .sort((a, b) => entropyAt(b) - entropyAt(a))
    .slice(0, limit);
}

/** One line about a segment: what its text does not say itself. */
export function segmentLens(trajectory: Trajectory, place: SegmentPlace, choice: CreditChoice): string {
  const { tree, path, columns, layout } = trajectory;
  const segment = tree.segments[place.segment]!;
  const indices = layout.tokens.subarray(place.from, place.to);
  if (segment.call !== undefined)
    return `${segment.call.tool} ${segment.call.outcome} · ${latency(segment)} · ${counted(segment.count, 'token')}`;
  const parts = [counted(segment.count, 'token')];
  if (segment.kind === 'model') parts.unshift(`turn ${segment.turn + 1}`);
  const entropies = measured(indices, columns.entropies);
  if (entropies.length > 0)
    parts.push(`H mean ${mean(entropies).toFixed(2)}, highest ${Math.max(...entropies).toFixed(2)}`);
  const gaps = measured(
    indices,
    columns.trainerLogProbs.map((trainer, i) => Math.abs(trainer - columns.samplerLogProbs[i]!)),
  );
  if (gaps.length > 0) parts.push(`|Δ log p| ${mean(gaps).toExponential(1)}`);
  if (isTrained(tree, place.segment))
    parts.push(
      `A ${signed(advantageOf(tree, path, place.segment, choice))} (${choice === 'used' ? (tree.credit?.used ?? 'none') : choice})`,
    );
  return parts.join(' · ');
}

const measured = (indices: Int32Array, column: Float32Array): number[] =>
  Array.from(indices, index => column[index]!).filter(value => !Number.isNaN(value));

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Name and value of everything that was measured for a token. */
export function tokenFacts(
  { tree, path, columns, layout }: Trajectory,
  token: number,
  bytes: Uint8Array,
): [string, string][] {
  const at = layout.tokens[token]!;
  const place = layout.segments.find(({ from, to }) => token >= from && token < to)!;
  const number = (value: number, digits: number): string =>
    Number.isNaN(value) ? 'not measured' : value.toFixed(digits).replace('-', '−');
  const sampler = columns.samplerLogProbs[at]!;
  const trainer = columns.trainerLogProbs[at]!;
  return [
    ['Token', `${columns.ids[at]}, number ${token} of the trajectory`],
    ['Bytes', Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(' ')],
    [
      'Entropy',
      Number.isNaN(columns.entropies[at]!) ? 'not measured' : `${number(columns.entropies[at]!, 4)} nats`,
    ],
    ['Log-probability, sampler', number(sampler, 5)],
    ['Log-probability, trainer', number(trainer, 5)],
    ['Trainer − sampler', number(trainer - sampler, 6)],
    ['Advantage, soft', signed(advantageOf(tree, path, place.segment, 'soft'))],
    ['Advantage, hard', signed(advantageOf(tree, path, place.segment, 'hard'))],
    ['Trained', isTrained(tree, place.segment) ? 'yes' : 'no'],
  ];
}

/** Name and value of everything that is known of one token, for its hover. Knows nothing of VS Code or files. */
import { questionsAt } from '../core/alternatives.ts';
import { type Bounds, clippedLoss, type ClipForm } from '../core/clip.ts';
import { verdict } from '../core/explain.ts';
import { counted, decimal, plain } from '../core/figures.ts';
import { advantageOf, isInLoss } from '../core/segmentCredit.ts';
import { pathsThrough } from '../core/tree.ts';
import type { Decision } from '../core/types.ts';
import { changeFacts } from './changeText.ts';
import type { Trajectory } from './overlay.ts';
import { signed } from './trajectoryText.ts';

/** What the run's configuration says about the update: the part of `algorithm` that clipping depends on. */
export interface ClipSettings {
  ratio: 'token' | 'sequence';
  clip: ClipForm;
  clipLow: number;
  clipHigh: number;
  dualClip: number;
  updatesPerStep: number;
}

const NOT_MEASURED = 'not measured';
const NOT_RECORDED = 'not recorded';

const fixed = (value: number, digits: number): string =>
  Number.isNaN(value) ? NOT_MEASURED : plain(value, digits);

/** `settings` is absent where the run's configuration is not known. */
export function tokenFacts(
  trajectory: Trajectory,
  token: number,
  bytes: Uint8Array,
  settings?: ClipSettings,
): [string, string][] {
  const { tree, path, columns, layout } = trajectory;
  const at = layout.tokens[token]!;
  const { segment } = layout.segments.find(({ from, to }) => token >= from && token < to)!;
  const sampler = columns.samplerLogProbs[at]!;
  const trainer = columns.trainerLogProbs[at]!;
  const trained = isInLoss(tree, segment);
  const facts: [string, string][] = [
    ['Token', `${columns.ids[at]} · ${hexOf(bytes)} · number ${token} of the trajectory`],
    [
      'Entropy',
      Number.isNaN(columns.entropies[at]!) ? NOT_MEASURED : `${decimal(columns.entropies[at], 4)} nats`,
    ],
    ['Log-probability, sampler', withShare(sampler)],
    ['Log-probability, trainer', withShare(trainer)],
    ['Trainer − sampler', apart(trainer - sampler)],
    [
      'Advantage',
      `soft ${signed(advantageOf(tree, path, segment, 'soft'))}, hard ${signed(advantageOf(tree, path, segment, 'hard'))}`,
    ],
    ['Mask', trained ? '1, trained' : '0, not trained'],
  ];
  if (trajectory.change) facts.splice(1, 0, ...changeFacts(trajectory.change, token));
  if (trained && settings !== undefined) facts.push(...clipFacts(trajectory, token, segment, settings));
  const through = pathsThrough(tree)[segment]!.length;
  facts.push([
    'Prefix weight',
    `${through}: ${counted(through, 'trajectory', 'trajectories')} of ${tree.paths.length} pass here`,
  ]);
  const number = at - tree.segments[segment]!.start + 1;
  facts.push(
    ...questionsAt(tree, segment, at).map(
      asked => ['Branching', measuredFor(asked, number)] as [string, string],
    ),
  );
  if (columns.alternatives === undefined) facts.push(['Alternatives', NOT_RECORDED]);
  return facts;
}

/** `token 3 of 10 that Hₜ .52 was measured on: P .56 ≥ draw .40 → branched`. */
const measuredFor = (asked: Decision, number: number): string =>
  `token ${number} of ${asked.windowTokens} that Hₜ ${plain(asked.entropy, 2)} was measured on: ${verdict(asked)}`;

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(' ');

/** `0.250000, ratio 1.28403`. */
const apart = (difference: number): string =>
  Number.isNaN(difference)
    ? NOT_MEASURED
    : `${fixed(difference, 6)}, ratio ${fixed(Math.exp(difference), 5)}`;

/** `−0.69315 (50.0 %)`. */
const withShare = (logProb: number): string =>
  Number.isNaN(logProb)
    ? NOT_MEASURED
    : `${fixed(logProb, 5)} (${(100 * Math.exp(logProb)).toPrecision(3)} %)`;

/**
 * The update compares the weights as they are with those from before the step's first update, so that under a single update its
 * ratio is exactly 1. What further updates compared was not recorded; the recorded ratio, trainer to sampler, then stands in.
 */
function clipFacts(
  trajectory: Trajectory,
  token: number,
  segment: number,
  settings: ClipSettings,
): [string, string][] {
  const advantage = advantageOf(trajectory.tree, trajectory.path, segment, 'used');
  const isSingle = settings.updatesPerStep === 1;
  const update: [string, string] = [
    'Ratio in the update',
    isSingle
      ? '1, the step has a single update'
      : `1 in the first of ${settings.updatesPerStep}, then ${NOT_RECORDED}`,
  ];
  if (advantage === undefined) return [update, ['Clip branch', 'none: no advantage']];
  const ratio = isSingle ? 1 : recordedRatio(trajectory, token, settings.ratio);
  if (Number.isNaN(ratio)) return [update, ['Clip branch', NOT_RECORDED]];
  const branch = clipBranch(advantage, ratio, settings);
  return [
    update,
    ['Clip branch', isSingle ? branch : `${branch} (at trainer ÷ sampler, ${fixed(ratio, 5)})`],
  ];
}

/** Trainer to sampler, of the token or (GSPO) of the trajectory's trained tokens in the mean of their logarithms. */
function recordedRatio(
  { tree, columns, layout }: Trajectory,
  token: number,
  level: 'token' | 'sequence',
): number {
  const log = (at: number): number => columns.trainerLogProbs[at]! - columns.samplerLogProbs[at]!;
  if (level === 'token') return Math.exp(log(layout.tokens[token]!));
  const logs = layout.segments
    .filter(({ segment }) => isInLoss(tree, segment))
    .flatMap(({ from, to }) => Array.from(layout.tokens.subarray(from, to), log))
    .filter(value => !Number.isNaN(value));
  return Math.exp(logs.reduce((sum, value) => sum + value, 0) / logs.length);
}

/** Which side of the minimum the objective takes at a ratio, with what it comes to. */
export function clipBranch(advantage: number, ratio: number, bounds: Bounds): string {
  const inside = `[${plain(1 - bounds.clipLow, 2)}, ${plain(1 + bounds.clipHigh, 2)}]`;
  if (bounds.clip === 'cispo') {
    const { clip } = clippedLoss(advantage, ratio, bounds);
    return clip === 'none' ? `weight r, inside ${inside}` : `weight clipped ${clip}, outside ${inside}`;
  }
  const { clip, loss, derivative } = clippedLoss(advantage, ratio, bounds);
  const value = signed(-loss);
  if (clip === 'none') return `free: A·r = ${value}, bounds ${inside}`;
  const gradient = derivative === 0 ? 'no gradient' : 'gradient kept';
  if (clip === 'dual') return `dual clip: A·${bounds.dualClip} = ${value}, ${gradient}`;
  return `clipped ${clip}: A·clamp(r) = ${value}, bounds ${inside}, ${gradient}`;
}

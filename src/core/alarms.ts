/**
 * What looks wrong in a run's numbers, as sentences with the step to look at. Hints, never verdicts: a rule speaks only of how the
 * last steps are now. Those that compare with how a run began say nothing of a young one; a tool that fails and answers that are cut
 * are told from the first step on. Knows nothing of views or clocks.
 */
import type { StepSummary } from './events.ts';
import { decimal, plain } from './figures.ts';
import type { FinishedStep, RunOutline } from './fold.ts';
import { glance } from './stepColumns.ts';
import { quantile } from './summary.ts';

export type AlarmKind =
  | 'not-finite'
  | 'entropy-collapse'
  | 'entropy-explosion'
  | 'gradient-explosion'
  | 'mismatch'
  | 'slow-tool'
  | 'failing-tool'
  | 'no-variance'
  | 'truncation'
  | 'divergence'
  | 'silence';

export interface Alarm {
  kind: AlarmKind;
  /** The evidence: the first step at which it was so, as far as it has been so ever since. */
  step: number;
  sentence: string;
}

/** Steps that stand for "how it began", and for "how it is now". */
const BEGINNING = 10;
const NOW = 5;
/** A share of the start's entropy below which a policy hardly explores. */
const COLLAPSED = 0.25;
const EXPLODED = 2;
/** Nats that entropy must have risen by, so that a rise from next to nothing is none. */
const RISEN = 0.3;
const GRADIENT_FACTOR = 10;
const MISMATCH_FACTOR = 3;
/** |Δ log p| below which a mismatch is rounding. */
const MISMATCH_FLOOR = 0.005;
const SLOW_FACTOR = 5;
const SLOW_MS = 1000;
const FAILING_SHARE = 0.3;
const FLAT_SHARE = 0.7;
const TRUNCATED_SHARE = 0.5;
/** Steps in which updates that were skipped are worth a word. */
const RECENT = 20;

type Rule = (steps: readonly FinishedStep[]) => Alarm | undefined;

/** What looks wrong now, the worst first. */
export function alarms({ summaries, evaluations }: Pick<RunOutline, 'summaries' | 'evaluations'>): Alarm[] {
  const found = RULES.map(rule => rule(summaries));
  return [...found, divergence(summaries, evaluations)].filter(alarm => alarm !== undefined);
}

/**
 * A step that takes much longer than the others. `quietSeconds`: since the last fact of a run that is live.
 */
export function silence(state: RunOutline, quietSeconds: number): Alarm | undefined {
  if (state.status !== 'running' || !state.live) return undefined;
  const usual = quantile(
    state.summaries.slice(-RECENT).flatMap(({ summary }) => summary.seconds?.total ?? []),
    0.5,
  );
  if (Number.isNaN(usual) || quietSeconds < Math.max(60, SLOW_FACTOR * usual)) return undefined;
  return {
    kind: 'silence',
    step: state.live.step,
    sentence: `Nothing was told of step ${state.live.step} for ${Math.round(quietSeconds / 60)} min; a step takes ${seconds(usual)} otherwise. A tool may be stuck.`,
  };
}

const seconds = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
const percent = (share: number): string => `${Math.round(100 * share)} %`;
const nats = (value: number): string => decimal(value, 2);

type Measure = (summary: StepSummary) => number | undefined;

/** Median of what was measured in these steps; NaN for nothing. */
const median = (steps: readonly FinishedStep[], measure: Measure): number =>
  quantile(
    steps.map(step => measure(glance(step))).filter(value => value !== undefined),
    0.5,
  );

/** First step of the last stretch of steps that are all so; those without a number do not end it. */
function since(steps: readonly FinishedStep[], measure: Measure, isSo: (value: number) => boolean): number {
  let first = steps.at(-1)!.step;
  for (let i = steps.length - 1; i >= 0; i--) {
    const value = measure(glance(steps[i]!));
    if (value === undefined) continue;
    if (!isSo(value)) break;
    first = steps[i]!.step;
  }
  return first;
}

const isYoung = (steps: readonly FinishedStep[]): boolean => steps.length < BEGINNING + NOW;

const notFinite: Rule = steps => {
  const recent = steps.slice(-RECENT).filter(({ summary }) => (summary.skippedUpdates ?? 0) > 0);
  const last = recent.at(-1);
  if (!last) return undefined;
  const many =
    recent.length === 1 ? 'An update was' : `In ${recent.length} of the last ${RECENT} steps updates were`;
  return {
    kind: 'not-finite',
    step: last.step,
    sentence: `${many} skipped because the gradient was not finite, last at step ${last.step}.`,
  };
};

const entropyOf: Measure = ({ entropy }) => entropy.all;

const entropyCollapse: Rule = steps => {
  const began = median(steps.slice(0, BEGINNING), entropyOf);
  const now = median(steps.slice(-NOW), entropyOf);
  const isSo = (value: number): boolean => value < COLLAPSED * began;
  if (isYoung(steps) || !isSo(now)) return undefined;
  const step = since(steps, entropyOf, isSo);
  return {
    kind: 'entropy-collapse',
    step,
    sentence: `Entropy fell from ${nats(began)} to ${nats(now)} nats (since step ${step}): the policy hardly explores any more.`,
  };
};

const entropyExplosion: Rule = steps => {
  const began = median(steps.slice(0, BEGINNING), entropyOf);
  const now = median(steps.slice(-NOW), entropyOf);
  const isSo = (value: number): boolean => value > EXPLODED * began && value > began + RISEN;
  if (isYoung(steps) || !isSo(now)) return undefined;
  const step = since(steps, entropyOf, isSo);
  return {
    kind: 'entropy-explosion',
    step,
    sentence: `Entropy rose from ${nats(began)} to ${nats(now)} nats (since step ${step}): answers may turn into noise.`,
  };
};

const gradientExplosion: Rule = steps => {
  const norm: Measure = ({ gradientNorm }) => gradientNorm;
  const before = median(steps.slice(-NOW - 50, -NOW), norm);
  const now = median(steps.slice(-NOW), norm);
  const isSo = (value: number): boolean => value > GRADIENT_FACTOR * before;
  if (isYoung(steps) || !(before > 0) || !isSo(now)) return undefined;
  const step = since(steps, norm, isSo);
  return {
    kind: 'gradient-explosion',
    step,
    sentence: `The gradient’s norm is ${Math.round(now / before)} times what it was (since step ${step}).`,
  };
};

const mismatchSlope: Rule = steps => {
  const mean: Measure = ({ mismatch }) => mismatch?.mean;
  const began = median(steps.slice(0, BEGINNING), mean);
  const now = median(steps.slice(-NOW), mean);
  const isSo = (value: number): boolean => value > MISMATCH_FACTOR * began && value > MISMATCH_FLOOR;
  if (isYoung(steps) || !isSo(now)) return undefined;
  const step = since(steps, mean, isSo);
  const factor = began > 0 ? `${decimal(now / began, 1)} times what it was` : plain(now);
  return {
    kind: 'mismatch',
    step,
    sentence: `Sampler and trainer drift apart: mean |Δ log p| is ${factor} (since step ${step}).`,
  };
};

const slowTool: Rule = steps => {
  const tools = Object.keys(steps.at(-1)?.summary.toolCalls.latencyP95MsByTool ?? {});
  if (isYoung(steps)) return undefined;
  for (const tool of tools) {
    const latency: Measure = ({ toolCalls }) => toolCalls.latencyP95MsByTool?.[tool];
    const before = median(steps.slice(0, -NOW).slice(-50), latency);
    const now = median(steps.slice(-NOW), latency);
    const isSo = (value: number): boolean => value > SLOW_FACTOR * before && value > SLOW_MS;
    if (!isSo(now)) continue;
    const step = since(steps, latency, isSo);
    return {
      kind: 'slow-tool',
      step,
      sentence: `Calls of ${tool} now take ${seconds(now / 1000)} (95th percentile), before ${seconds(before / 1000)} (since step ${step}).`,
    };
  }
  return undefined;
};

/** The policy's own mistakes, such as a program that raises, are errors too, but no fault of the tool. */
const lostCalls: Measure = ({ toolCalls: { byOutcome, total } }) => {
  if (!byOutcome || total === 0) return undefined;
  return ((byOutcome['timed-out'] ?? 0) + (byOutcome.failed ?? 0)) / total;
};

const failingTool: Rule = steps => {
  const now = median(steps.slice(-NOW), lostCalls);
  const isSo = (share: number): boolean => share >= FAILING_SHARE;
  if (!isSo(now)) return undefined;
  const step = since(steps, lostCalls, isSo);
  return {
    kind: 'failing-tool',
    step,
    sentence: `${percent(now)} of the tool calls time out or fail (since step ${step}): a tool may be stuck.`,
  };
};

const noVariance: Rule = steps => {
  const share: Measure = ({ groups: { flat, allRight, mixed, allWrong } }) =>
    (flat ?? allRight + allWrong) / (allRight + mixed + allWrong);
  const recent = steps.slice(-NOW);
  const now = median(recent, share);
  const isSo = (value: number): boolean => value >= FLAT_SHARE;
  if (steps.length < NOW || !isSo(now)) return undefined;
  const right = recent.reduce((sum, { summary }) => sum + summary.groups.allRight, 0);
  const wrong = recent.reduce((sum, { summary }) => sum + summary.groups.allWrong, 0);
  const step = since(steps, share, isSo);
  const side =
    right > wrong
      ? 'most are all right: harder tasks would help'
      : 'most are all wrong: easier tasks would help';
  return {
    kind: 'no-variance',
    step,
    sentence: `${percent(now)} of the groups teach nothing, for none of their trajectories has an advantage (since step ${step}); ${side}.`,
  };
};

const truncation: Rule = steps => {
  const share: Measure = ({ stops, trajectories }) =>
    ((stops.length ?? 0) + (stops['turn-length'] ?? 0)) / trajectories;
  const now = median(steps.slice(-NOW), share);
  const isSo = (value: number): boolean => value >= TRUNCATED_SHARE;
  if (!isSo(now)) return undefined;
  const step = since(steps, share, isSo);
  const ofTurns = median(
    steps.slice(-NOW),
    ({ stops, trajectories }) => (stops['turn-length'] ?? 0) / trajectories,
  );
  const key = ofTurns > now / 2 ? 'rollout.maxTurnTokens' : 'rollout.maxResponseTokens';
  return {
    kind: 'truncation',
    step,
    sentence: `${percent(now)} of the trajectories are cut for their length (since step ${step}): raise ${key}.`,
  };
};

/**
 * Training goes on rising while held-out accuracy has fallen: the last interval lies below that of the best. The best of many is mostly
 * luck: compared with its value alone, every other policy that stays as it is would be told of after 20 evaluations.
 */
function divergence(
  steps: readonly FinishedStep[],
  evaluations: RunOutline['evaluations'],
): Alarm | undefined {
  const [last, ...others] = evaluations.toSorted((a, b) => b.step - a.step);
  const earlier = others.filter(
    ({ summary: { dataset, tasks } }) => dataset === last!.summary.dataset && tasks === last!.summary.tasks,
  );
  if (!last || earlier.length === 0) return undefined;
  const best = earlier.reduce((most, one) => (one.summary.accuracy > most.summary.accuracy ? one : most));
  const reward: Measure = summary => summary.reward.mean;
  const around = (step: number): number =>
    median(steps.filter(one => one.step <= Math.max(step, NOW)).slice(-NOW), reward);
  const isLower = last.summary.interval[1] < best.summary.interval[0];
  if (!isLower || !(around(last.step) > around(best.step))) return undefined;
  return {
    kind: 'divergence',
    step: last.step,
    sentence: `Held-out accuracy fell from ${percent(best.summary.accuracy)} at step ${best.step} to ${percent(last.summary.accuracy)} at step ${last.step} while the training reward rose: the policy may exploit the reward.`,
  };
}

const RULES: readonly Rule[] = [
  notFinite,
  entropyCollapse,
  entropyExplosion,
  gradientExplosion,
  mismatchSlope,
  failingTool,
  slowTool,
  noVariance,
  truncation,
];

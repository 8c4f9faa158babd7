/** What finished runs of several configs came to, side by side. Reads run folders; knows nothing of how runs are started. */
import { estimate, SHARE, type Estimate, type Range } from '../core/bootstrap.ts';
import { measuredOf, type TaskOutcome, type TrajectoryOutcome } from '../core/evaluation.ts';
import type { StepSummary } from '../core/events.ts';
import { fold, type RunState } from '../core/fold.ts';
import { streamKey } from '../core/random.ts';
import { SMOOTHED_STEPS } from '../core/runComparison.ts';
import { crossing, meanHeight, type Curve } from '../core/runCurves.ts';
import { FailureError } from '../core/types.ts';
import { hasEvaluation, readEvaluation } from '../run/evaluations.ts';
import { openRun } from '../run/reader.ts';
import { meanOf } from '../core/mean.ts';

/** How right the policy was after so many tool calls of training. */
export interface CurvePoint {
  step: number;
  toolCalls: number;
  accuracy: number;
}

/** One finished run. */
export interface MeasuredRun {
  config: string;
  seed: number;
  folder: string;
  /** [task] its name; one entry where nothing was held out. */
  tasks: string[];
  /** [task] mean over the final evaluation's samples; where nothing was held out one entry, of the last training steps. */
  accuracies: number[];
  rewards: number[];
  /** Of one greedy trajectory per task; absent where none was drawn. */
  greedy?: number;
  trajectories: number;
  /** Unique tool calls of training, probes included. */
  toolCalls: number;
  /** Accuracy in training, and of evaluations where there are enough to draw a line through; both ascending by step. */
  training: CurvePoint[];
  heldOut?: CurvePoint[];
}

/** One config over its seeds. */
export interface ConfigResult {
  config: string;
  seeds: number[];
  runs: string[];
  accuracy: Estimate;
  reward: Estimate;
  toolCalls: Estimate;
  /** Mean over seeds; absent where it was not measured. */
  greedy?: number;
  /** Of one run. */
  trajectories: number;
  /** Accuracy less the baseline's, by the same seeds and tasks. */
  versusBaseline: Estimate;
  /** Mean height of the seeds' curves up to the calls that all runs made, by the same seeds less the baseline's. */
  atEqualCalls: Estimate;
  atEqualCallsVersusBaseline: Estimate;
  /** Calls until the curve reached the target; [seed], null where it never did. */
  callsToTarget: (number | null)[];
  /** The same on the mean of the seeds' curves, and as a share of the baseline's; absent where the mean never did. */
  meanCallsToTarget?: number;
  shareOfBaseline?: number;
}

export interface Comparison {
  baseline: string;
  /** Accuracy at which so much of the baseline's rise is done, on the mean of its seeds' curves; see REACHED. */
  target: number;
  /** Tool calls that every run made. */
  equalCalls: number;
  /** What the curves are made of. */
  curve: 'held-out' | 'training';
  /** Tasks that not all runs were evaluated on: only curves and greedy accuracies speak of them. */
  left: number;
  /** Points of every seed's curve. */
  curves: Record<string, Record<number, CurvePoint[]>>;
  results: ConfigResult[];
}

/**
 * Share of the baseline's rise that counts as its end. Its last point itself is as much luck as rise: of two configs that end alike, one
 * reaches the other's last point or never does by chance.
 */
export const REACHED = 0.95;

/** The numbers of a run that has finished. */
export async function measureRun(folder: string, config: string): Promise<MeasuredRun> {
  const run = openRun(folder);
  const { seed, steps, rollout } = run.manifest.config;
  const state = fold(await run.events());
  const summaries = state.summaries.map(({ summary }) => summary);
  const last = await outcomesOf(folder, `step-${steps}`);
  const perTask = (of: (trajectory: TrajectoryOutcome) => number): number[] =>
    last!.map(({ trajectories }) => meanOf(measuredOf(trajectories).map(of)));
  const ended = summaries.slice(-SMOOTHED_STEPS);
  const points = heldOutCurve(state, summaries);
  const greedy = last?.flatMap(({ trajectories }) => trajectories.filter(({ greedy }) => greedy)) ?? [];
  return {
    config,
    seed,
    folder,
    tasks: last ? last.map(({ task }) => task) : ['training'],
    accuracies: last
      ? perTask(({ correct }) => Number(correct))
      : [meanOf(ended.flatMap(({ accuracy }) => accuracy ?? []))],
    rewards: last ? perTask(({ reward }) => reward) : [meanOf(ended.map(({ reward }) => reward.mean))],
    ...(greedy.length > 0 && { greedy: meanOf(greedy.map(({ correct }) => Number(correct))) }),
    trajectories: steps * rollout.tasksPerStep * rollout.groupSize,
    toolCalls: callsUntil(summaries, summaries.length),
    training: trainingCurve(summaries),
    ...(points.length > 2 && { heldOut: points }),
  };
}

/** [task]; undefined where the run was not evaluated so. */
const outcomesOf = async (folder: string, id: string): Promise<TaskOutcome[] | undefined> =>
  hasEvaluation(folder, id) ? (await readEvaluation(folder, id)).outcomes : undefined;

/** Accuracy of the run's own evaluations. */
const heldOutCurve = ({ evaluations }: RunState, summaries: readonly StepSummary[]): CurvePoint[] =>
  evaluations
    .filter(({ step, summary }) => summary.id === `step-${step}`)
    .map(({ step, summary }) => ({
      step,
      toolCalls: callsUntil(summaries, step),
      accuracy: summary.accuracy,
    }))
    .sort((a, b) => a.step - b.step);

/** Mean accuracy of the last few steps at every step. */
const trainingCurve = (summaries: readonly StepSummary[]): CurvePoint[] =>
  summaries.map((_, index) => ({
    step: index + 1,
    toolCalls: callsUntil(summaries, index + 1),
    accuracy: meanOf(
      summaries
        .slice(Math.max(0, index + 1 - SMOOTHED_STEPS), index + 1)
        .flatMap(({ accuracy }) => accuracy ?? []),
    ),
  }));

const callsUntil = (summaries: readonly StepSummary[], step: number): number =>
  summaries.slice(0, step).reduce((sum, { toolCalls }) => sum + toolCalls.total, 0);

/**
 * Sets the runs side by side, by the tasks and the kind of curve that all of them have; every config needs the same seeds. Throws a
 * FailureError where they have no task in common.
 */
export function compareRuns(measured: readonly MeasuredRun[], baseline: string): Comparison {
  const { runs, left } = onCommonTasks(measured);
  const isHeldOut = measured.every(({ heldOut }) => heldOut);
  const curve = (run: MeasuredRun): CurvePoint[] => (isHeldOut ? run.heldOut! : run.training);
  const names = [...new Set(runs.map(({ config }) => config))];
  const of = (name: string): Curved[] =>
    runs
      .filter(({ config }) => config === name)
      .sort((a, b) => a.seed - b.seed)
      .map(run => ({ ...run, curve: curve(run) }));
  const target = targetOf(meanCurve(of(baseline)));
  const equalCalls = Math.min(...runs.map(({ toolCalls }) => toolCalls));
  const results = names.map(name => resultOf(of(name), of(baseline), { target, equalCalls }));
  const own = results.find(({ config }) => config === baseline)!.meanCallsToTarget;
  for (const result of results)
    if (own !== undefined && own > 0 && result.meanCallsToTarget !== undefined)
      result.shareOfBaseline = result.meanCallsToTarget / own;
  const curves = names.map(name => [
    name,
    Object.fromEntries(of(name).map(({ seed, curve }) => [seed, curve])),
  ]);
  return {
    baseline,
    target,
    equalCalls,
    curve: isHeldOut ? 'held-out' : 'training',
    left,
    curves: Object.fromEntries(curves) as Comparison['curves'],
    results,
  };
}

function targetOf(curve: readonly CurvePoint[]): number {
  const [begin, end] = [curve[0]!.accuracy, curve.at(-1)!.accuracy];
  return end > begin ? begin + REACHED * (end - begin) : end;
}

/** Differences go by task, so that every run must speak of the same ones, in the same order. */
function onCommonTasks(measured: readonly MeasuredRun[]): { runs: MeasuredRun[]; left: number } {
  const [first, ...others] = measured.map(({ tasks }) => new Set(tasks));
  const common = [...first!].filter(task => others.every(tasks => tasks.has(task)));
  if (common.length === 0)
    throw new FailureError({
      where: 'config',
      message: 'The runs were evaluated on different tasks, none of which all of them have.',
      fix: 'Compare runs with the same data.heldOut.',
    });
  const all = new Set(measured.flatMap(({ tasks }) => tasks));
  const runs = measured.map(run => {
    const places = common.map(task => run.tasks.indexOf(task));
    const chosen = (values: readonly number[]): number[] => places.map(place => values[place]!);
    return { ...run, tasks: common, accuracies: chosen(run.accuracies), rewards: chosen(run.rewards) };
  });
  return { runs, left: all.size - common.length };
}

/** A run with the curve that it is compared by. */
type Curved = MeasuredRun & { curve: CurvePoint[] };

/** Of a share, and of the difference of two. */
const DIFFERENCE: Range = [-1, 1];

function resultOf(
  own: readonly Curved[],
  baseline: readonly Curved[],
  { target, equalCalls }: Pick<Comparison, 'target' | 'equalCalls'>,
): ConfigResult {
  const { config, trajectories } = own[0]!;
  const of = (name: string, values: number[][], range?: Range): Estimate =>
    estimate(values, streamKey('comparison', config, name), range);
  const greedy = own.flatMap(run => (run.greedy === undefined ? [] : [run.greedy]));
  const callsToTarget = own.map(({ curve }) => callsToReach(curve, target));
  const onMean = callsToReach(meanCurve(own), target);
  const heights = (runs: readonly Curved[]): number[] =>
    runs.map(({ curve }) => meanHeight(lineOf(curve), equalCalls));
  const [height, baseHeight] = [heights(own), heights(baseline)];
  return {
    config,
    seeds: own.map(({ seed }) => seed),
    runs: own.map(({ folder }) => folder),
    accuracy: of(
      'accuracy',
      own.map(({ accuracies }) => accuracies),
      SHARE,
    ),
    reward: of(
      'reward',
      own.map(({ rewards }) => rewards),
    ),
    toolCalls: of(
      'calls',
      own.map(({ toolCalls }) => [toolCalls]),
    ),
    ...(greedy.length > 0 && { greedy: meanOf(greedy) }),
    trajectories,
    versusBaseline: of(
      'difference',
      own.map(({ accuracies }, i) =>
        accuracies.map((accuracy, task) => accuracy - baseline[i]!.accuracies[task]!),
      ),
      DIFFERENCE,
    ),
    atEqualCalls: of(
      'equal calls',
      height.map(each => [each]),
      SHARE,
    ),
    atEqualCallsVersusBaseline: of(
      'difference at equal calls',
      height.map((each, i) => [each - baseHeight[i]!]),
      DIFFERENCE,
    ),
    callsToTarget,
    ...(onMean !== null && { meanCallsToTarget: onMean }),
  };
}

/** Means over seeds of calls and accuracy, at the steps that all of them measured. */
function meanCurve(runs: readonly Curved[]): CurvePoint[] {
  const [first, ...others] = runs.map(({ curve }) => curve);
  return first!.flatMap(point => {
    const points = [point, ...others.flatMap(curve => curve.filter(({ step }) => step === point.step))];
    if (points.length < runs.length) return [];
    return [
      {
        step: point.step,
        toolCalls: meanOf(points.map(({ toolCalls }) => toolCalls)),
        accuracy: meanOf(points.map(({ accuracy }) => accuracy)),
      },
    ];
  });
}

const lineOf = (curve: readonly CurvePoint[]): Curve => ({
  xs: curve.map(({ toolCalls }) => toolCalls),
  ys: curve.map(({ accuracy }) => accuracy),
});

/** Calls at which the line through the points first meets the target; null where it never does. */
export const callsToReach = (curve: readonly CurvePoint[], target: number): number | null =>
  crossing(lineOf(curve), target);

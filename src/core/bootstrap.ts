/** How far a mean over seeds and tasks may be from what more of both would give. Knows nothing of what was measured. */
import { below, type StreamKey } from './random.ts';
import { meanOf } from './mean.ts';

/** A mean with its 95 % interval. */
export interface Estimate {
  mean: number;
  interval: [number, number];
}

/** Values of a table [seed][task]. */
type Values = readonly (readonly number[])[];

/** What no value can be below or above, so that no interval is shown beyond it. */
export type Range = readonly [least: number, most: number];

/** Of shares: accuracies, pass@k. */
export const SHARE: Range = [0, 1];

const RESAMPLES = 1000;

/**
 * The mean of `values` [seed][task] with its 95 % interval: of one seed the percentiles of the bootstrap distribution over tasks
 * (Efron; see `atBound` for its ends), of several seeds Student's t (see `spreadOf`), because few seeds drawn again are never further apart than they were: the
 * bootstrap's interval of three would hold the truth in 72 of 100 cases. Throws where there are no values or seeds differ in their
 * number of tasks.
 */
export function estimate(values: Values, key: StreamKey, range: Range = [-Infinity, Infinity]): Estimate {
  const tasks = values[0]?.length ?? 0;
  if (tasks === 0 || values.some(row => row.length !== tasks))
    throw new Error(`A table of ${values.map(row => row.length).join(', ') || 'no'} values has no mean.`);
  const mean = meanOf(values.flat());
  if (values.length === 1)
    return { mean, interval: atBound(values[0]!, range) ?? resampled(values[0]!, key) };
  const { error, freedom } = spreadOf(values);
  const half = studentQuantile(freedom) * error;
  return { mean, interval: [Math.max(range[0], mean - half), Math.min(range[1], mean + half)] };
}

/** Shares of which not one was seen are smaller than so, with 97.5 % certainty, though what is drawn again from none is none. */
const UNSEEN = 0.025;

/**
 * The exact (Clopper–Pearson) interval where all values lie at one end of their range: all tasks right, or all wrong. Undefined elsewhere.
 */
function atBound(values: readonly number[], [least, most]: Range): [number, number] | undefined {
  // One value alone may be a mean of many, of which nothing is known here.
  if (values.length === 1) return undefined;
  const reach = (most - least) * (1 - UNSEEN ** (1 / values.length));
  if (values.every(value => value === least)) return [least, least + reach];
  return values.every(value => value === most) ? [most - reach, most] : undefined;
}

function resampled(values: readonly number[], key: StreamKey): [number, number] {
  const means = Array.from({ length: RESAMPLES }, (_, resample) => {
    // Numbers of a stream are spaced so that intervals told by earlier versions stay what they were.
    const at = resample * (1 + values.length) + 1;
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[below(key, at + i, values.length)]!;
    return sum / values.length;
  }).sort((a, b) => a - b);
  return [means[Math.floor(0.025 * RESAMPLES)]!, means[Math.ceil(0.975 * RESAMPLES) - 1]!];
}

/**
 * Standard error of the mean of a table whose seeds and tasks are both drawn at random, and its degrees of freedom. Every seed was
 * measured on the same tasks, so by the two-way analysis of variance Var = (MS_seeds + MS_tasks − MS_rest) / n, with
 * Satterthwaite's degrees of freedom; an effect that the rest alone explains is left out.
 */
function spreadOf(values: Values): { error: number; freedom: number } {
  const [seeds, tasks] = [values.length, values[0]!.length];
  const mean = meanOf(values.flat());
  const bySeed = values.map(meanOf);
  const byTask = values[0]!.map((_, task) => meanOf(values.map(row => row[task]!)));
  const square = (distances: readonly number[]): number =>
    distances.reduce((sum, each) => sum + each ** 2, 0);
  const of = { seeds: seeds - 1, tasks: tasks - 1 };
  const seedSquare = (tasks * square(bySeed.map(each => each - mean))) / of.seeds;
  if (tasks === 1) return { error: Math.sqrt(seedSquare / seeds), freedom: of.seeds };
  const taskSquare = (seeds * square(byTask.map(each => each - mean))) / of.tasks;
  const left = values.flatMap((row, seed) =>
    row.map((value, task) => value - bySeed[seed]! - byTask[task]! + mean),
  );
  const rest = square(left) / (of.seeds * of.tasks);
  const error = (variance: number): number => Math.sqrt(variance / (seeds * tasks));
  if (seedSquare <= rest) return { error: error(Math.max(taskSquare, rest)), freedom: of.tasks };
  if (taskSquare <= rest) return { error: error(seedSquare), freedom: of.seeds };
  const variance = seedSquare + taskSquare - rest;
  const parts = seedSquare ** 2 / of.seeds + taskSquare ** 2 / of.tasks + rest ** 2 / (of.seeds * of.tasks);
  return { error: error(variance), freedom: Math.max(1, variance ** 2 / parts) };
}

/** Exact quantiles for 1 to 5 degrees of freedom; beyond them the expansion below is right to a thousandth. */
const EXACT = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706];
const NORMAL = 1.959964;

/** 97.5 % quantile of Student's t, also for degrees of freedom between whole numbers. */
export function studentQuantile(freedom: number): number {
  if (freedom <= EXACT.length) {
    const below = Math.max(1, Math.floor(freedom));
    const [low, high] = [EXACT[below - 1]!, EXACT[Math.min(EXACT.length, below + 1) - 1]!];
    // Nearly linear in 1/ν; what is left makes the interval wider.
    const share = (1 / below - 1 / freedom) / (1 / below - 1 / (below + 1));
    return low + Math.max(0, share) * (high - low);
  }
  const z = NORMAL;
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  );
}

/** How far a mean over seeds and tasks may be from what more of both would give. Knows nothing of what was measured. */
import { below, type StreamKey } from './random.ts';

/** A mean with its 95 % interval. */
export interface Estimate {
  mean: number;
  interval: [number, number];
}

const RESAMPLES = 1000;

/**
 * The mean of `values` [seed][task] with the percentiles of its bootstrap distribution (Efron). Seeds and tasks are both drawn
 * again, the same tasks under every seed, because every seed was measured on the same ones (Owen's pigeonhole bootstrap). Throws
 * where there are no values or seeds differ in their number of tasks.
 */
export function estimate(values: readonly (readonly number[])[], key: StreamKey): Estimate {
  const seeds = values.length;
  const tasks = values[0]?.length ?? 0;
  if (tasks === 0 || values.some(row => row.length !== tasks))
    throw new Error(`A table of ${values.map(row => row.length).join(', ') || 'no'} values has no mean.`);
  const chosen = new Int32Array(tasks);
  const means = Array.from({ length: RESAMPLES }, (_, resample) => {
    const at = resample * (seeds + tasks);
    for (let i = 0; i < tasks; i++) chosen[i] = below(key, at + seeds + i, tasks);
    let sum = 0;
    for (let i = 0; i < seeds; i++) {
      const row = values[below(key, at + i, seeds)]!;
      for (const task of chosen) sum += row[task]!;
    }
    return sum / (seeds * tasks);
  }).sort((a, b) => a - b);
  return {
    mean: values.flat().reduce((sum, value) => sum + value, 0) / (seeds * tasks),
    interval: [means[Math.floor(0.025 * RESAMPLES)]!, means[Math.ceil(0.975 * RESAMPLES) - 1]!],
  };
}

/** Whether a number rises or falls of late, beyond its noise. Knows nothing of what it is. */
import { meanOf } from './mean.ts';

export type Trend = 'rising' | 'falling';

/** What stands behind a value; the word is for whoever does not see it. */
export const TREND_SIGNS: Readonly<Record<Trend, string>> = { rising: '▲', falling: '▼' };

/** Values that are looked at, and how many there must be. */
export const TREND_STEPS = 10;
const LEAST = 6;
/** So many standard errors: of a number that only wavers about one in twelve is said to have a trend. */
const ERRORS = 2;

/**
 * The newer half of the last values against the older half; undefined where they are few, or the means are no further apart than their
 * noise explains (Welch's t).
 */
export function trendOf(values: readonly number[]): Trend | undefined {
  const recent = values.slice(-TREND_STEPS);
  if (recent.length < LEAST || !recent.every(Number.isFinite)) return undefined;
  const half = Math.floor(recent.length / 2);
  const [older, newer] = [recent.slice(0, half), recent.slice(-half)];
  const difference = meanOf(newer) - meanOf(older);
  if (Math.abs(difference) <= ERRORS * Math.sqrt(squaredError(older) + squaredError(newer))) return undefined;
  return difference > 0 ? 'rising' : 'falling';
}

/** Variance of the mean. */
function squaredError(values: readonly number[]): number {
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1) / values.length;
}

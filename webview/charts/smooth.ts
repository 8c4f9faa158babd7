/** Exponential moving average. Knows nothing of charts. */

/**
 * s_n = Σ_k w^(n−k)·y_k ÷ Σ_k w^(n−k): without the pull towards 0 of a plain average that starts at 0. What was not measured
 * stays so and is passed over.
 *
 * @param weight w in [0, 1): how much of the average before is kept.
 */
export function smooth(values: ArrayLike<number>, weight: number): number[] {
  let sum = 0;
  let weights = 0;
  return Array.from(values, value => {
    if (Number.isNaN(value)) return NaN;
    sum = weight * sum + value;
    weights = weight * weights + 1;
    return sum / weights;
  });
}

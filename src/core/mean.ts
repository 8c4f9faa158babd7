/** The mean, for all who take one. Knows nothing of what is averaged. */

/** Added up in their order, so that the same values give the same bits; NaN of none. */
export function meanOf(values: readonly number[] | Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

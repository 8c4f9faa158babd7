/** Splits a group's budget between trajectories from the prompt and branches, by entropy (AEPO's pre-monitoring). Knows nothing of how entropies are measured. */

/** β of both forms in the released code. */
const BUDGET_WEIGHT = 0.5;

/**
 * Paper: m = k·σ(β·(H_root − H̄_tool)), not rounded. The more uncertain the prompt is compared with what follows tool results,
 * the more trajectories start from it.
 */
export const rootShare = (
  total: number,
  rootEntropy: number,
  toolEntropy: number,
  weight = BUDGET_WEIGHT,
): number => total / (1 + Math.exp(-weight * (rootEntropy - toolEntropy)));

/**
 * Trajectories that start from the prompt, of `total`: 1 to total. `upstream`: ⌊k·σ(…)⌋ + 1, so that equal entropies give k/2 + 1;
 * `paper`: rounded to the nearest, because the paper does not say how its m becomes a whole number.
 */
export function initialOf(form: 'paper' | 'upstream', total: number, share: number): number {
  const whole = form === 'upstream' ? Math.floor(share) + 1 : Math.round(share);
  return Math.min(total, Math.max(1, whole));
}

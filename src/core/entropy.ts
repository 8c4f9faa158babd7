/** Entropy of a turn's first tokens as one number. Knows nothing of where the distributions come from or what follows. */
import type { Rule } from './types.ts';

/** Log-probabilities per token that rule `upstream` looks at; the engine adds the drawn token's where it is not among them. */
export const TOP_LOG_PROBS = 10;

/** −Σ e^ℓ·ℓ in nats; entries of probability 0 (ℓ = −∞) add nothing (upstream: they make the score NaN). */
export function entropyOf(logProbs: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < logProbs.length; i++) {
    const logProb = logProbs[i]!;
    if (logProb > -Infinity) sum -= Math.exp(logProb) * logProb;
  }
  return sum;
}

export interface EntropyForm {
  /** Paper k: only so many first tokens count. */
  window: number;
  aggregate: 'mean' | 'sum';
  /** What the aggregate is divided by: ln|V|, or 1 for no normaliser. */
  divisor: number;
}

/** H of a turn from its tokens' entropies; 0 for no token. */
export function entropyScore(
  entropies: ArrayLike<number>,
  { window, aggregate, divisor }: EntropyForm,
): number {
  const tokens = Math.min(window, entropies.length);
  if (tokens === 0) return 0;
  let sum = 0;
  for (let i = 0; i < tokens; i++) sum += entropies[i]!;
  return sum / divisor / (aggregate === 'mean' ? tokens : 1);
}

/**
 * How a rule scores: the paper's full-vocabulary entropies as a mean without normaliser, so that a short turn scores like a
 * long one; upstream: the sum over at most 20 tokens of truncated entropies, divided by ln|V|.
 */
export const entropyForm = (rule: Rule, window: number, vocabularySize: number): EntropyForm =>
  rule === 'paper'
    ? { window, aggregate: 'mean', divisor: 1 }
    : { window, aggregate: 'sum', divisor: Math.log(vocabularySize) };

/** The loss of one term under a probability ratio, and its derivative, for every form of clipping. Knows nothing of tokens or batches. */

/**
 * What happens to a term whose ratio left its bounds. `ppo`: no gradient. `gradient-preserving-upper` (AEPO's balanced
 * clipping): the value of `ppo`, but above the upper bound the gradient goes on with factor 1 + ε_high.
 * `gradient-preserving` (GPPO): the same below the lower bound too, with factor 1 − ε_low. `cispo`: the bounded ratio is a
 * constant weight of the likelihood, so that every token keeps a gradient.
 */
export type ClipForm = 'ppo' | 'gradient-preserving-upper' | 'gradient-preserving' | 'cispo';

/** Which bound a term ran into. */
export type Clip = 'none' | 'high' | 'low' | 'dual';

export interface Bounds {
  /** `ppo` where absent. */
  clip?: ClipForm;
  /** ε_low and ε_high of the clipped ratio. */
  clipLow: number;
  clipHigh: number;
  /** c of the dual clip (≥ 1); Infinity for none. Not used by `cispo`. */
  dualClip: number;
}

export interface TermLoss {
  loss: number;
  /** By the term's log p. */
  derivative: number;
  clip: Clip;
}

/**
 * Surrogate of one term: ℓ = max(−A·r, −A·clamp(r, 1−ε_low, 1+ε_high)), and at most −A·c where A < 0; under `cispo`
 * ℓ = −A·sg(clamp(r))·log p, the only form that reads `logProb`. Upstream: verl core_algos.py; AEPO replaces the upper
 * bound by (1+ε_high)·r/sg(r), which is the derivative here.
 */
export function clippedLoss(advantage: number, ratio: number, bounds: Bounds, logProb = 0): TermLoss {
  const { clip = 'ppo' } = bounds;
  const inside = Math.min(Math.max(ratio, 1 - bounds.clipLow), 1 + bounds.clipHigh);
  if (clip === 'cispo') return weightedLikelihood(advantage, inside, ratio, logProb);
  const free = -advantage * ratio;
  const bounded = -advantage * inside;
  if (bounded > free) {
    const side = advantage > 0 ? 'high' : 'low';
    const isPreserved =
      clip === 'gradient-preserving' || (clip === 'gradient-preserving-upper' && side === 'high');
    return { loss: bounded, derivative: isPreserved ? bounded : 0, clip: side };
  }
  if (advantage < 0 && free > -advantage * bounds.dualClip)
    return { loss: -advantage * bounds.dualClip, derivative: 0, clip: 'dual' };
  return { loss: free, derivative: free, clip: 'none' };
}

function weightedLikelihood(advantage: number, weight: number, ratio: number, logProb: number): TermLoss {
  const clip = ratio > weight ? 'high' : ratio < weight ? 'low' : 'none';
  return { loss: -advantage * weight * logProb, derivative: -advantage * weight, clip };
}

/** From new log-probabilities to the loss and its derivative per token. Knows nothing of how either is computed or used. */

/** How a batch's terms become a loss. Names follow algorithm notes §2.4; upstream: verl core_algos.py. */
export interface ObjectiveSettings {
  /** `policy`: clipped policy gradient; `likelihood`: −Σ weight·log p (supervised fine-tuning). */
  kind: 'policy' | 'likelihood';
  /** ε_low and ε_high of the clipped ratio. */
  clipLow: number;
  clipHigh: number;
  /** c of the dual clip (≥ 1); Infinity for none. */
  dualClip: number;
  /** Weight of the k3 KL to the reference policy; 0 for none. */
  klWeight: number;
  /** Weight of the entropy bonus; 0 for none. */
  entropyWeight: number;
}

/** Sums over a batch. Fractions are over its terms (or tokens) and weighted as the loss is. */
export interface ObjectiveReport {
  loss: number;
  policyLoss: number;
  kl: number;
  /** Mean entropy (nats) of the trained tokens. */
  entropy: number;
  /** Share of terms whose ratio was clipped above, below, and by the dual clip. */
  clipFractionHigh: number;
  clipFractionLow: number;
  dualClipFraction: number;
  /** Mean of log p_old − log p_new over terms. */
  approximateKl: number;
  trainedTokens: number;
  terms: number;
}

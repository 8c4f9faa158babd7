/** Packs trees into what an engine computes on: every token once, in depth-first order. Knows nothing of engines. */

/**
 * One tree as arrays, tokens in depth-first order so that a subtree is one interval. Query token i sees key token j iff
 * j <= i < subtreeEnd[j]: that is ancestry plus causality. A token is trained iff it has terms. Trees are never split.
 */
export interface PackedTree {
  /** [token] vocabulary id. */
  ids: Int32Array;
  /** [token] position on its paths, from 0 (RoPE position). */
  positions: Int32Array;
  /** [token] first index after the subtree that hangs below the token's segment. */
  subtreeEnd: Int32Array;
  /** [token] index of the token before it on its paths, whose hidden state predicts it; -1 for the first. */
  previous: Int32Array;
  /** [token + 1] the terms of token i are termStart[i] .. termStart[i + 1] - 1. */
  termStart: Int32Array;
  /** [term] advantage of the trajectory (soft) or of the segment (hard). */
  termAdvantage: Float32Array;
  /** [term] weight in the loss; over a whole mini-batch of token-mean they add to 1. */
  termWeight: Float32Array;
  /** [term] trajectory within the tree that the term belongs to, for sequence-level ratios; -1 for hard credit. */
  termPath: Int32Array;
  /** [token] log-probability before the first update; absent in a step's first update, where it is the current one. */
  oldLogProbs?: Float32Array;
  /** [token] log-probability under the reference policy; only where the KL weight is not 0. */
  referenceLogProbs?: Float32Array;
}

/** One mini-batch: one optimiser update. */
export interface Batch {
  trees: readonly PackedTree[];
  /** Sampling temperature: log-probabilities are of softmax(logits / temperature). */
  temperature: number;
}

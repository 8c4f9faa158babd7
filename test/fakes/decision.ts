/** A branching question whose numbers are those of the paper's rule, and whose gate said no. */
import type { Decision } from '../../src/core/types.ts';

export const refused: Decision = {
  segment: 2,
  path: 0,
  round: 0,
  rule: 'paper',
  gate: 'threshold',
  initialEntropy: 0.21,
  entropy: 0.53,
  entropyDelta: 0.32,
  windowTokens: 10,
  branchProbability: 0.3,
  entropyWeight: 0.5,
  probability: 0.46,
  threshold: 0.5,
  made: 4,
  total: 8,
  outcome: 'refuse',
};

/** The axes of an algorithm and the names of points on them. Knows nothing of how an axis is computed. */
import type { ClipForm } from './clip.ts';
import { amount, choice, count, CREDIT, MILLION, type KeyOf } from './configSpecs.ts';
import type { Rule } from './types.ts';

/** Named points on the axes; every key overrides its preset. */
export type Preset =
  | 'arpo'
  | 'arpo-upstream'
  | 'aepo'
  | 'aepo-upstream'
  | 'grpo'
  | 'dapo'
  | 'reinforce++'
  | 'reinforce++-baseline'
  | 'rloo'
  | 'gppo'
  | 'cispo'
  | 'gspo'
  | 'gigpo'
  | 'dr-grpo';

export const PRESET_MEANINGS: Readonly<Record<Preset, string>> = {
  arpo: 'ARPO as published: baseline entropy inherited by branches, entropy measured after the tool result.',
  'arpo-upstream': 'ARPO as its released code runs, quirks included.',
  aepo: 'AEPO on ARPO’s published branching: budget by entropy, damped branching, balanced clipping, advantages by entropy.',
  'aepo-upstream':
    'AEPO as its released code runs with all its parts switched on; the released scripts leave the budget fixed.',
  grpo: 'GRPO: all trajectories start from the prompt, none branches.',
  dapo: 'DAPO: GRPO with a higher upper clip, groups without variance replaced, and overlong answers penalised.',
  'reinforce++': 'Reinforce++: rewards whitened over the step, without groups.',
  'reinforce++-baseline': 'Reinforce++ with its groups’ means taken off before rewards are whitened.',
  rloo: 'RLOO: a reward is compared with the mean of the others in its group.',
  gppo: 'GPPO: GRPO whose clipped tokens keep a bounded gradient, above and below.',
  cispo:
    'CISPO: the ratio, bounded above, is a constant weight of the likelihood, so that no token loses its gradient.',
  gspo: 'GSPO: GRPO with one ratio per trajectory and very tight clips.',
  gigpo: 'GiGPO: GRPO that also compares turns which began in the same state.',
  'dr-grpo': 'Dr. GRPO: GRPO without the division by standard deviation and by length.',
};

export interface AlgorithmConfig {
  /** How advantages reach tokens. */
  credit: 'soft' | 'hard' | 'step';
  /** ω and γ of credit `step`. */
  stepWeight: number;
  stepDiscount: number;
  /** Advantage = (R − baseline) / scale. */
  baseline: 'group-mean' | 'leave-one-out' | 'batch-mean' | 'none';
  scale: 'group-std' | 'batch-std' | 'none';
  /** AEPO's z, and its weight a. */
  entropyAdvantage: 'none' | Rule;
  entropyAdvantageWeight: number;
  /** What the clip compares. */
  ratio: 'token' | 'sequence';
  clip: ClipForm;
  clipLow: number;
  clipHigh: number;
  /** 0 for none. */
  dualClip: number;
  klWeight: number;
  entropyBonus: number;
  aggregation: 'token-mean' | 'seq-mean-token-sum' | 'seq-mean-token-mean' | 'seq-mean-token-sum-norm';
  /** Share of maxResponseTokens over which the penalty of a long answer rises to overlongPenalty; 0 for none. */
  overlongShare: number;
  overlongPenalty: number;
  filter: 'none' | 'mixed';
  /** Bound of the filter: rounds of further tasks in one step. */
  resampleRounds: number;
  /** How many of the group start from the prompt, and its β. */
  budget: 'fixed' | Rule;
  budgetWeight: number;
  /** Tokens of the probe that measures the prompt. */
  probeTokens: number;
  branchPenalty: 'none' | Rule;
  penaltyRate: number;
  /** Optimiser updates per step: the step's tasks are split into as many mini-batches. */
  updatesPerStep: number;
}

/** Parts of the paper on AEPO by what they are about, not by their titles. */
const PRE_MONITORING = 'AEPO, entropy pre-monitoring';
const DAMPING = 'AEPO, branch penalty';
const BALANCED = 'AEPO, entropy-balanced optimisation';

const HOW_ADVANTAGES: Pick<Keys, 'credit' | 'stepWeight' | 'stepDiscount' | 'baseline' | 'scale'> = {
  credit: {
    ...choice('soft', 'How an advantage reaches a shared prefix.', {
      soft: 'Every trajectory credits its own copy of the prefix.',
      hard: 'A segment gets the mean advantage of the trajectories through it.',
      step: 'As soft, plus a comparison of the turns that began in the same state (GiGPO).',
    }),
    section: CREDIT,
  },
  stepWeight: {
    ...amount(1, 0, 1000, 'Weight of the comparison of turns; only used by credit `step`.'),
    symbol: 'ω',
  },
  stepDiscount: {
    ...amount(
      0.95,
      0,
      1,
      'What a turn’s return loses by every turn that follows; only used by credit `step`.',
    ),
    symbol: 'γ',
  },
  baseline: choice('group-mean', 'What a reward is compared with.', {
    'group-mean': 'The mean of its group (GRPO).',
    'leave-one-out': 'The mean of the others in its group (RLOO).',
    'batch-mean': 'The mean of all trajectories of the step.',
    none: 'Nothing.',
  }),
  scale: choice('group-std', 'What a reward’s distance from its baseline is divided by.', {
    'group-std': 'The group’s standard deviation (GRPO).',
    'batch-std': 'Whitened over all trained tokens of the step (Reinforce++).',
    none: 'Nothing (Dr. GRPO).',
  }),
};

const HOW_LOSSES: Pick<
  Keys,
  'ratio' | 'clip' | 'clipLow' | 'clipHigh' | 'dualClip' | 'klWeight' | 'entropyBonus' | 'aggregation'
> = {
  ratio: choice('token', 'Which probability ratio is clipped.', {
    token: 'Each token’s own.',
    sequence: 'The trajectory’s: exp of the mean log-ratio of its tokens (GSPO).',
  }),
  clip: {
    ...choice('ppo', 'What becomes of a token whose ratio left its bounds.', {
      ppo: 'It has no gradient.',
      'gradient-preserving-upper': 'Above, its gradient goes on with factor 1 + clipHigh (AEPO).',
      'gradient-preserving': 'Above and below, its gradient goes on at the bound (GPPO).',
      cispo: 'Every token’s likelihood is weighted by its bounded ratio, held constant (CISPO).',
    }),
    section: BALANCED,
  },
  clipLow: {
    ...amount(0.2, 0, 1, 'Lower clip of the probability ratio: 1 − clipLow.'),
    symbol: 'ε_low',
  },
  clipHigh: {
    ...amount(0.2, 0, 100, 'Upper clip of the probability ratio: 1 + clipHigh.'),
    symbol: 'ε_high',
  },
  dualClip: {
    ...amount(
      3,
      0,
      1000,
      'Bound of the loss at negative advantages, as a factor above 1; 0 for none. Not used by clip `cispo`.',
    ),
    symbol: 'c',
  },
  klWeight: amount(0, 0, 1000, 'Weight of the divergence from the policy at the start (k3 estimator).'),
  entropyBonus: amount(0, 0, 1000, 'Weight of the mean token entropy that is subtracted from the loss.'),
  aggregation: choice('token-mean', 'How token losses become one number.', {
    'token-mean': 'Mean over all trained tokens of the mini-batch.',
    'seq-mean-token-sum': 'Sum over a trajectory’s tokens, mean over trajectories.',
    'seq-mean-token-mean': 'Mean over a trajectory’s tokens, mean over trajectories.',
    'seq-mean-token-sum-norm':
      'Sum over a trajectory’s tokens divided by maxResponseTokens, mean over trajectories (Dr. GRPO).',
  }),
};

const HOW_GROUPS: Pick<Keys, 'overlongShare' | 'overlongPenalty' | 'filter' | 'resampleRounds'> = {
  overlongShare: amount(
    0,
    0,
    1,
    'Last share of maxResponseTokens over which a trajectory’s reward falls (DAPO uses 0.2); 0 for no penalty.',
  ),
  overlongPenalty: amount(1, 0, 100, 'What a trajectory of maxResponseTokens loses of its reward.'),
  filter: choice('none', 'Which groups are learned from.', {
    none: 'All; those without variance have no advantage.',
    mixed:
      'Those with different rewards; further tasks take the place of the others (DAPO’s dynamic sampling).',
  }),
  resampleRounds: count(
    3,
    0,
    1000,
    'How often in one step further tasks take the place of dropped groups; only used by filter `mixed`.',
  ),
};

const HOW_BRANCHES: Pick<
  Keys,
  | 'entropyAdvantage'
  | 'entropyAdvantageWeight'
  | 'budget'
  | 'budgetWeight'
  | 'probeTokens'
  | 'branchPenalty'
  | 'penaltyRate'
> = {
  entropyAdvantage: {
    ...choice('none', 'Whether an advantage grows with the entropy of its token: A·(1 + a·z).', {
      none: 'It does not.',
      upstream: 'z by mean and standard deviation over the trained tokens of the mini-batch, as released.',
      paper:
        'z over the trained tokens of the group; that the paper means these statistics is an assumption.',
    }),
    section: BALANCED,
  },
  entropyAdvantageWeight: {
    ...amount(0.2, 0, 100, 'How much; only used where entropyAdvantage is not `none`.'),
    symbol: 'a',
    section: BALANCED,
  },
  budget: {
    ...choice('fixed', 'How many trajectories of a group start from the prompt.', {
      fixed: '`rollout.initialRollouts`.',
      upstream:
        '⌊k·σ(β·ΔH)⌋ + 1 of k, by a probe’s entropies: of the prompt, less the mean of all turns; as released.',
      paper:
        'k·σ(β·ΔH) with the mean of the turns after tool results; that it is rounded to the nearest is an assumption.',
    }),
    section: PRE_MONITORING,
  },
  budgetWeight: {
    ...amount(0.5, 0, 1000, 'Weight of the difference of entropies; only used where budget is not `fixed`.'),
    symbol: 'β',
    section: PRE_MONITORING,
  },
  probeTokens: count(
    50,
    1,
    MILLION,
    'Tokens at most that measure the prompt’s entropy; only used where budget is not `fixed`.',
  ),
  branchPenalty: {
    ...choice('none', 'Whether branching again and again becomes less likely.', {
      none: 'It does not.',
      upstream:
        'P = 1 − α/f + β·ΔH with f by the rounds in a row in which the tree grew a trajectory; α acts as one minus the base rate.',
      paper:
        'P = (α + β·ΔH)·f with f by the branchings in a row on the trajectory; that f falls linearly is an assumption.',
    }),
    section: DAMPING,
  },
  penaltyRate: amount(
    0.05,
    0,
    1,
    'What each branching in a row takes off the factor f = 1 − rate·l; only used where branchPenalty is not `none`.',
  ),
};

type Keys = { readonly [K in keyof AlgorithmConfig]: KeyOf<AlgorithmConfig[K]> };

const BY_NAME: Keys = {
  ...HOW_ADVANTAGES,
  ...HOW_LOSSES,
  ...HOW_GROUPS,
  ...HOW_BRANCHES,
  updatesPerStep: count(
    8,
    1,
    65_536,
    'Optimiser updates of one step; the step’s tasks are split evenly among them.',
  ),
};

/** Complete by its type. The defaults are those of preset `arpo`. */
export const ALGORITHM_KEYS = Object.fromEntries(
  Object.entries(BY_NAME).map(([name, spec]) => [`algorithm.${name}`, spec]),
  // The names are those of Keys with the prefix, and each has its own spec.
) as { readonly [K in keyof AlgorithmConfig as `algorithm.${K}`]: KeyOf<AlgorithmConfig[K]> };

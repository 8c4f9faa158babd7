/** What a check of a tree says: which claim is broken, where and how. Knows nothing of how trees are checked. */
import type { CreditSettings } from './advantage.ts';
import type { Config } from './config.ts';
import { programsIn } from './configToolRules.ts';
import type { TokenColumns, Tree } from './types.ts';

/** One claim that every tree should keep; see `CHECKS` for what each means. */
export type CheckId =
  | 'parents'
  | 'tokens'
  | 'siblings'
  | 'turns'
  | 'stops'
  | 'lengths'
  | 'calls'
  | 'budget'
  | 'decisions'
  | 'masks'
  | 'rewards'
  | 'advantages'
  | 'finite';

export interface Finding {
  id: CheckId;
  severity: 'error' | 'warning';
  /** A sentence with the numbers. */
  message: string;
  tree: string;
  /** Index of the path, segment or token that it is about; absent where it is about none. */
  path?: number;
  segment?: number;
  /** Token of the tree, not of the segment. */
  token?: number;
}

/** What a tree is held against; all of it follows from the config. */
export interface CheckSettings {
  callLimit: number;
  /** By tag; tools that are not named have only callLimit. */
  limits: Readonly<Record<string, number>>;
  maxResponseTokens: number;
  /** 0 for all that are left. */
  maxTurnTokens: number;
  trainForced: boolean;
  scale: CreditSettings['scale'];
  baseline: NonNullable<CreditSettings['baseline']>;
  /** True where a program of the user's own gives the rewards: its parts are its own affair, and need not add up. */
  ownReward: boolean;
}

export function checkSettings({ tools, rollout, algorithm, reward }: Config): CheckSettings {
  return {
    callLimit: tools.callLimit,
    limits: tools.limits,
    maxResponseTokens: rollout.maxResponseTokens,
    maxTurnTokens: rollout.maxTurnTokens,
    trainForced: rollout.limitAction === 'append-end-trained',
    scale: algorithm.scale,
    baseline: algorithm.baseline,
    ownReward: programsIn(reward.custom) > 0,
  };
}

/** A tree with what a check may look at; without columns, claims about tokens are not checked. */
export interface Checked {
  tree: Tree;
  columns?: TokenColumns;
  settings: CheckSettings;
}

/** Where a finding points, and its sentence. */
export type Found = Pick<Finding, 'message' | 'path' | 'segment' | 'token'>;

/** Tries a reward of the user's own with one example. Knows nothing of trees or policies. */
import { ok, wrong, type CheckResult } from '../../core/checkup.ts';
import type { RewardConfig } from '../../core/configTools.ts';
import type { Failure } from '../../core/types.ts';
import { elapsed } from '../../run/clock.ts';
import { toFailure } from '../../protocol/channel.ts';
import { openReward } from '../judges.ts';
import type { OwnReward } from '../own/reward.ts';

export interface TriedReward {
  results: CheckResult[];
  /** Open, for its caller to close; absent where the config names none. */
  ownReward?: OwnReward | 'broken';
}

/** Opening it asks it for the reward of an example and looks at the answer. */
export async function checkOwnReward(config: RewardConfig): Promise<TriedReward> {
  const started = elapsed();
  try {
    const ownReward = await openReward(config);
    if (!ownReward) return { results: [] };
    const sentence = `${ownReward.label} answered an example in ${Math.round(elapsed() - started)} ms.`;
    return { results: [ok('reward.custom', sentence, { key: 'reward.custom' })], ownReward };
  } catch (error) {
    return { results: [brokenReward(toFailure(error), 'reward.custom')], ownReward: 'broken' };
  }
}

export const brokenReward = ({ message, fix }: Failure, id = 'reward'): CheckResult =>
  wrong(id, message, { key: 'reward.custom', ...(fix !== undefined && { fix }) });

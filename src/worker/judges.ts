/**
 * Gives every path of a grown tree its reward: the paper's, or that of a program of the user's own. Knows nothing of learning
 * or of how a tree grew.
 */
import type { RewardConfig } from '../core/configTools.ts';
import { judge, lessLength, type RewardSettings } from '../core/reward.ts';
import { errorText, type Failure, type Reward, type Tree } from '../core/types.ts';
import { openOwnReward, type OwnReward } from './own/reward.ts';

/** The user's own reward, tried out; undefined where the config names none. Throws a FailureError where it does not work. */
export async function openReward(config: RewardConfig): Promise<OwnReward | undefined> {
  const { module, command } = config.custom;
  return module === '' && command.length === 0 ? undefined : openOwnReward(config);
}

/**
 * Rewards all paths of a tree. A path that the user's own reward fails on gets 0, with the reason; the failures are returned, so
 * that a caller may leave the tree out.
 */
export async function judgeAll(tree: Tree, settings: RewardSettings, own?: OwnReward): Promise<Failure[]> {
  if (!own) {
    tree.paths.forEach((path, index) => (path.reward = judge(tree, index, settings)));
    return [];
  }
  const failures = await Promise.all(
    tree.paths.map(async (path, index) => {
      const asked = await askedFor(tree, index, own);
      const reward = 'total' in asked ? asked : unjudged(asked);
      path.reward = lessLength(tree, index, reward, settings.overlong);
      return 'total' in asked ? [] : [asked];
    }),
  );
  return failures.flat();
}

async function askedFor(tree: Tree, path: number, own: OwnReward): Promise<Reward | Failure> {
  try {
    return await own.ask(tree, path);
  } catch (error) {
    return {
      where: 'reward',
      message: `reward.custom gave path ${path} of tree ${tree.id} no reward: ${errorText(error)}`,
      fix: `Correct ${own.label}.`,
    };
  }
}

const unjudged = ({ message }: Failure): Reward => ({ total: 0, parts: {}, correct: false, reason: message });

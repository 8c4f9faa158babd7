/** Opens a run's own parts again, beside the run: weights with its tokenizer, and tools that leave no trace in it. Knows nothing of what they are used for. */
import type { Config } from '../core/config.ts';
import type { Pieces } from '../core/pieces.ts';
import { FailureError, type Tree } from '../core/types.ts';
import type { Run } from '../run/reader.ts';
import { engineSettings, type Equipment, type Purpose, type RunTokenizer } from './equipment.ts';
import { rewardSettings } from './gather.ts';
import { judgeAll } from './judges.ts';
import type { OwnReward } from './own/reward.ts';
import type { Policy } from './policy/policy.ts';
import type { Weights } from './weights.ts';

export interface ReopenedPolicy {
  policy: Policy;
  tokenizer: RunTokenizer;
  /** SHA-256 of the weights. */
  hash: string;
}

export interface Reopening {
  weights: Weights;
  purpose: Purpose;
  /** Of the tools. */
  tags: readonly string[];
  /** Calls the opening off. */
  signal: AbortSignal;
}

/** The policy of some weights, which stops at the closing tags. Throws a FailureError where its vocabulary is not the run's. */
export async function reopenPolicy(
  run: Run,
  equipment: Equipment,
  { weights: { folder }, purpose, tags, signal }: Reopening,
  closers: (() => unknown)[],
): Promise<ReopenedPolicy> {
  const tokenizer = await equipment.openTokenizer(folder);
  mustMean(await run.pieces(), tokenizer.pieces, folder);
  const settings = engineSettings(run.manifest.config, purpose, { folder, tokenizer, tags });
  const { policy, info } = await equipment.openPolicy(settings, signal);
  closers.push(() => policy.close());
  return { policy, tokenizer, hash: info.weightsHash };
}

/** Stored ids are text only by the run's own vocabulary. */
function mustMean(stored: Pieces | undefined, now: Pieces, folder: string): void {
  const isSame =
    stored === undefined ||
    (Buffer.compare(stored.bytes, now.bytes) === 0 &&
      stored.offsets.length === now.offsets.length &&
      stored.offsets.every((offset, i) => offset === now.offsets[i]));
  if (isSame) return;
  throw new FailureError({
    where: 'config',
    message: `The tokenizer in ${folder} is not the one that the run’s tokens were drawn with.`,
    fix: 'Put the policy’s folder back as it was when the run began.',
  });
}

/** A recording is what a run can be answered from; what is asked beside the run has no place in it. */
export const withoutRecording = (config: Config): Config =>
  config.tools.cassette.mode === 'replay'
    ? config
    : { ...config, tools: { ...config.tools, cassette: { ...config.tools.cassette, mode: 'off' } } };

/** Rewards all paths as the run does. Throws a FailureError where the user's own reward fails on one. */
export async function judgeAsTrained(
  tree: Tree,
  config: Config,
  tools: readonly string[],
  own: OwnReward | undefined,
): Promise<void> {
  const [failure] = await judgeAll(tree, { ...rewardSettings(config), tools }, own);
  if (failure) throw new FailureError(failure);
}

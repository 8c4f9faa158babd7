/** Which trajectories of a step are worth a look first. Knows nothing of files or views. */
import { responseTokens, segmentsOf, type Grown } from './tree.ts';

/**
 * `best`, `median`, `worst`: by reward; `uncertain`: largest mean entropy of its model tokens (nats); `longest`: most tokens after
 * the prompt; `calls`: most tool calls; `mismatch`: the drawn token on which sampler and trainer are furthest apart (|Δ log p|).
 */
export type ExtremeKind = 'best' | 'median' | 'worst' | 'uncertain' | 'longest' | 'calls' | 'mismatch';

export interface Extreme {
  kind: ExtremeKind;
  tree: string;
  path: number;
  /** Only with `mismatch`: the segment with the token. */
  segment?: number;
  /** The number that it was chosen by. */
  value: number;
}

interface Trajectory {
  tree: string;
  path: number;
  reward: number;
  entropy: number;
  tokens: number;
  calls: number;
  /** Largest |Δ log p|, and its segment. */
  mismatch: number;
  segment: number;
}

/** One trajectory of each kind, the first where several are as good; kinds that nothing was measured for are left out. */
export function extremes(grown: readonly Grown[]): Extreme[] {
  const all = grown.flatMap(trajectoriesOf);
  const found: Extreme[] = [];
  const add = (kind: ExtremeKind, value: (one: Trajectory) => number, rank = value): void => {
    const measured = all.filter(one => !Number.isNaN(rank(one)));
    if (measured.length === 0) return;
    const best = measured.reduce((first, one) => (rank(one) > rank(first) ? one : first));
    const { tree, path, segment } = best;
    found.push({ kind, tree, path, value: value(best), ...(kind === 'mismatch' && { segment }) });
  };
  const rewards = all
    .map(({ reward }) => reward)
    .filter(reward => !Number.isNaN(reward))
    .sort((a, b) => a - b);
  const middle = rewards[(rewards.length - 1) >> 1] ?? NaN;
  add('best', one => one.reward);
  add(
    'median',
    one => one.reward,
    one => -Math.abs(one.reward - middle),
  );
  add(
    'worst',
    one => one.reward,
    one => -one.reward,
  );
  add('uncertain', one => one.entropy);
  add('longest', one => one.tokens);
  add('calls', one => one.calls);
  add('mismatch', one => one.mismatch);
  return found;
}

function trajectoriesOf({ tree, columns }: Grown): Trajectory[] {
  const segments = tree.segments.map(({ start, count }) => {
    const entropies = columns.entropies.subarray(start, start + count).filter(isMeasured);
    const differences = columns.samplerLogProbs
      .subarray(start, start + count)
      .map((sampled, i) => Math.abs(sampled - columns.trainerLogProbs[start + i]!))
      .filter(isMeasured);
    return {
      entropy: entropies.reduce((sum, entropy) => sum + entropy, 0),
      measured: entropies.length,
      mismatch: differences.length > 0 ? differences.reduce((a, b) => Math.max(a, b)) : NaN,
    };
  });
  return tree.paths.map(({ reward, calls }, path) => {
    const on = segmentsOf(tree, path);
    const measured = on.reduce((sum, segment) => sum + segments[segment]!.measured, 0);
    const compared = on.filter(segment => isMeasured(segments[segment]!.mismatch));
    const segment = compared.reduce(
      (worst, one) => (segments[one]!.mismatch > segments[worst]!.mismatch ? one : worst),
      compared[0] ?? 0,
    );
    return {
      tree: tree.id,
      path,
      reward: reward?.total ?? NaN,
      entropy: measured > 0 ? on.reduce((sum, one) => sum + segments[one]!.entropy, 0) / measured : NaN,
      tokens: tree.imported?.hasTokens === false ? NaN : responseTokens(tree, path),
      calls,
      mismatch: segments[segment]?.mismatch ?? NaN,
      segment,
    };
  });
}

const isMeasured = (value: number): boolean => !Number.isNaN(value);

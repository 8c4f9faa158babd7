/** How strongly each segment is tinted, and what the tint stands for. Knows nothing of colours or of the page. */
import { rewardsThrough } from '../../src/core/branchValue.ts';
import { segmentCredit, type CreditView } from '../../src/core/segmentCredit.ts';
import type { Tree } from '../../src/core/types.ts';
import { number, signed, spoken } from '../shared/format.ts';

/** What the tint of a segment means. */
export type Tint = 'entropy' | 'advantage' | 'reward' | 'time';

export const TINTS: Record<Tint, { label: string; meaning: string }> = {
  entropy: {
    label: 'Entropy',
    meaning: 'Entropy of a turn’s first tokens, in nats, up to the tree’s highest',
  },
  advantage: {
    label: 'Advantage',
    meaning: 'Credit as chosen; of a shared segment its mean. A stripe above is a plus, below a minus',
  },
  reward: { label: 'Reward', meaning: 'Mean reward of the trajectories through a segment' },
  time: { label: 'Time', meaning: 'Milliseconds of a tool call; how long a turn took is not logged' },
};

export interface Shade {
  /** 0 (none) to LEVELS. */
  level: number;
  /** Of a number that has one; absent where the sign says nothing. */
  sign?: 1 | -1;
}

export interface Shading {
  tint: Tint;
  /** [segment] absent where the number is not known or makes no sense. */
  shades: (Shade | undefined)[];
  /** What no tint and the strongest tint stand for; absent where no segment has a number. */
  ends?: readonly [string, string];
}

export const LEVELS = 8;

/** Entropies below it are all low, however low the tree's highest is. */
const LEAST_ENTROPY = 0.3;

export function shadingOf(tree: Tree, tint: Tint, view: CreditView): Shading {
  switch (tint) {
    case 'entropy': {
      const values = tree.segments.map(({ kind, entropy }) => (kind === 'model' ? entropy : undefined));
      return upTo(tint, values, LEAST_ENTROPY, value => `${spoken(value)} nats`);
    }
    case 'time':
      return upTo(
        tint,
        tree.segments.map(({ call }) => call?.latencyMs),
        1,
        value => `${spoken(value)} ms`,
      );
    case 'reward':
      return between(rewardsThrough(tree));
    case 'advantage':
      return around(segmentCredit(tree, view).map(meanOf));
  }
}

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0) / values.length;

const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter(value => value !== undefined && Number.isFinite(value)) as number[];
const largest = (values: readonly number[], least: number): number =>
  values.reduce((most, value) => Math.max(most, value), least);
const levelOf = (share: number): number => Math.min(LEVELS, Math.max(0, Math.round(share * LEVELS)));

/** From 0 to the largest. */
function upTo(
  tint: Tint,
  values: readonly (number | undefined)[],
  least: number,
  name: (value: number) => string,
): Shading {
  const most = largest(known(values), least);
  return {
    tint,
    shades: values.map(value => (value === undefined ? undefined : { level: levelOf(value / most) })),
    ...(known(values).length > 0 && { ends: [name(0), name(most)] as const }),
  };
}

/** From the smallest to the largest; where all are the same there is nothing to tell apart. */
function between(values: readonly (number | undefined)[]): Shading {
  const all = known(values);
  const most = largest(all, -Infinity);
  const least = -largest(
    all.map(value => -value),
    -Infinity,
  );
  const share = (value: number): number => (most > least ? (value - least) / (most - least) : 0.5);
  return {
    tint: 'reward',
    shades: values.map(value => (value === undefined ? undefined : { level: levelOf(share(value)) })),
    ...(all.length > 0 && { ends: [number(least), number(most)] as const }),
  };
}

/** Around 0, the same strength for the same distance on both sides. */
function around(values: readonly (number | undefined)[]): Shading {
  const most = largest(known(values).map(Math.abs), 0);
  return {
    tint: 'advantage',
    shades: values.map(value => {
      if (value === undefined) return undefined;
      const level = most > 0 ? levelOf(Math.abs(value) / most) : 0;
      return value === 0 ? { level } : { level, sign: value > 0 ? 1 : -1 };
    }),
    ...(known(values).length > 0 && { ends: [signed(-most), signed(most)] as const }),
  };
}

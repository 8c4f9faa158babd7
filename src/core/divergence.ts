/** Where two sequences of tokens part. Knows nothing of trees, text or editors. */

/** The first position at which they differ, or at which the shorter one has ended; undefined where they are the same. */
export function divergence(one: ArrayLike<number>, other: ArrayLike<number>): number | undefined {
  const shared = Math.min(one.length, other.length);
  for (let at = 0; at < shared; at++) if (one[at] !== other[at]) return at;
  return one.length === other.length ? undefined : shared;
}

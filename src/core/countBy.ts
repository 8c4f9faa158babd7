/** Counts, for all who count by name. Knows nothing of what is counted. */

/** How often each name is there, in the order in which they come first. */
export function countBy<K extends string>(names: readonly K[]): Record<K, number> {
  const counts = {} as Record<K, number>;
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

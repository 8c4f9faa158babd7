/** What a step's trees break of what every tree should keep, as warnings for people. Knows nothing of steps or journals. */
import { CHECKS, checkSettings, checkTree, type CheckId, type Finding } from '../core/checks.ts';
import type { Config } from '../core/config.ts';
import type { Grown } from '../core/tree.ts';
import type { Failure } from '../core/types.ts';

/** One warning for each kind of finding, with the first of them and how many there are. */
export function brokenClaims(grown: readonly Grown[], config: Config): Failure[] {
  const settings = checkSettings(config);
  const byKind = new Map<CheckId, Finding[]>();
  for (const { tree, columns } of grown)
    for (const finding of checkTree({ tree, columns, settings }))
      byKind.set(finding.id, [...(byKind.get(finding.id) ?? []), finding]);
  return Array.from(byKind, ([id, [first, ...others]]) => ({
    where: 'bug' as const,
    message: `Tree ${first!.tree}: ${first!.message}${others.length > 0 ? ` So it is in ${others.length} more places.` : ''} (${CHECKS[id].claim})`,
    fix: 'Please report it with the run folder; the step’s numbers may be wrong.',
  }));
}

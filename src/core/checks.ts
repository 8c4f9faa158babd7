/**
 * Holds a finished tree against every claim that it should keep, and says which it breaks. Knows nothing of files, of who
 * asks, or of what is done about a finding.
 */
import * as numbers from './checkNumbers.ts';
import * as shape from './checkShape.ts';
import type { Checked, CheckId, Finding, Found } from './findings.ts';

export { checkSettings, type Checked, type CheckId, type CheckSettings, type Finding } from './findings.ts';

interface Check {
  /** What holds, as a sentence for people. */
  claim: string;
  severity: Finding['severity'];
  find(checked: Checked): Found[];
}

/** Complete by its type; in the order in which they are checked. */
export const CHECKS: Readonly<Record<CheckId, Check>> = {
  parents: {
    claim: 'Every segment but the prompt follows an earlier one.',
    severity: 'error',
    find: shape.parents,
  },
  tokens: { claim: 'Every token is stored once, in order.', severity: 'error', find: shape.tokens },
  siblings: {
    claim: 'Trajectories share what they have in common.',
    severity: 'error',
    find: shape.siblings,
  },
  turns: { claim: 'Turns are counted along each path.', severity: 'error', find: shape.turns },
  stops: { claim: 'Every turn and trajectory ended as it says.', severity: 'error', find: shape.stops },
  lengths: {
    claim: 'No trajectory is longer than the config allows.',
    severity: 'error',
    find: shape.lengths,
  },
  calls: { claim: 'Tool calls stay within their limits.', severity: 'error', find: shape.calls },
  budget: { claim: 'No more trajectories were made than planned.', severity: 'error', find: shape.budget },
  decisions: { claim: 'Branching follows its formula.', severity: 'error', find: numbers.decisions },
  masks: {
    claim: 'What the policy wrote is trained, and nothing else.',
    severity: 'error',
    find: numbers.masks,
  },
  rewards: { claim: 'Rewards are the sums of their parts.', severity: 'error', find: numbers.rewards },
  advantages: { claim: 'Advantages of a group add to 0.', severity: 'error', find: numbers.advantages },
  finite: { claim: 'Numbers are numbers.', severity: 'error', find: numbers.finite },
};

export const checkIds = Object.keys(CHECKS) as CheckId[];

/**
 * All that is wrong with a judged tree; empty where nothing is. A tree whose segments do not hang together is not looked at
 * any further. Trees that the filter dropped have no credit, and none is missed.
 */
export function checkTree(checked: Checked): Finding[] {
  const run = (id: CheckId): Finding[] =>
    CHECKS[id]
      .find(checked)
      .map(found => ({ id, severity: CHECKS[id].severity, tree: checked.tree.id, ...found }));
  const broken = run('parents');
  if (broken.length > 0) return broken;
  return checkIds.flatMap(run);
}

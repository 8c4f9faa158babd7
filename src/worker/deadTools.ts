/** Notices a tool that answers no call any more. Knows nothing of what tools are or of how a run pauses. */
import { FailureError, type Segment, type Tree } from '../core/types.ts';

/** Fewer calls in a step may all fail by chance. */
const LEAST_CALLS = 4;

/** A program that never ends is the policy's own fault; any other tool that does not answer in time is stuck itself. */
const isDead = (tool: string, call: Segment['call']): boolean =>
  call?.outcome === 'failed' || (call?.outcome === 'timed-out' && tool !== 'python');

/**
 * Throws where one tool failed in every call of a step, or never answered in time. The tool itself must have failed: a program's error
 * or an empty search is an answer, and a policy that asks wrongly must learn from it. What a step with a dead tool earned would teach
 * not to call it.
 */
export function refuseDeadTools(trees: readonly Tree[], step: number): void {
  const byTool = new Map<string, Segment[]>();
  for (const segment of trees.flatMap(({ segments }) => segments))
    // What a trajectory may not ask any more no tool was asked: trajectories that ask a dead one again soon reach their limit.
    if (segment.call && segment.call.outcome !== 'refused')
      byTool.set(segment.call.tool, [...(byTool.get(segment.call.tool) ?? []), segment]);
  for (const [tool, segments] of byTool) {
    if (segments.length < LEAST_CALLS || segments.some(({ call }) => !isDead(tool, call))) continue;
    throw new FailureError({
      where: 'tool',
      message: `The tool <${tool}> failed in all of its ${segments.length} calls in step ${step}; the first answer is ${JSON.stringify(answerOf(segments[0]!))}.`,
      fix: 'Mend the tool, then resume the run: the step is done again. Where a program of your own must be changed for it, start a new run.',
    });
  }
}

/** Without the tags that the trajectory has around it. */
const answerOf = ({ text }: Segment): string => text.replaceAll(/<\/?result>/g, ' ').trim();

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Segment, ToolOutcome, Tree } from '../../src/core/types.ts';
import { refuseDeadTools } from '../../src/worker/deadTools.ts';

/** A tree whose only contents are calls of one tool. */
function calls(tool: string, outcomes: readonly ToolOutcome[]): Tree {
  const segments = outcomes.map((outcome): Segment => {
    const call = { tool, argument: 'x', outcome, latencyMs: 1, shared: false };
    return {
      parent: 0,
      kind: 'tool',
      start: 0,
      count: 1,
      text: ' <result>\nnothing\n</result>',
      turn: 1,
      call,
    };
  });
  return { segments } as unknown as Tree;
}
const times = (count: number, outcome: ToolOutcome): ToolOutcome[] => Array<ToolOutcome>(count).fill(outcome);

describe('a dead tool', () => {
  it('is one that failed or did not answer in time in all calls of a step', () => {
    for (const outcomes of [
      times(4, 'failed'),
      times(4, 'timed-out'),
      [...times(3, 'failed'), ...times(9, 'timed-out')],
    ])
      assert.throws(
        () => refuseDeadTools([calls('search', outcomes.slice(0, 2)), calls('search', outcomes.slice(2))], 7),
        new RegExp(`<search> failed in all of its ${outcomes.length} calls in step 7`),
      );
  });

  it('is one also where trajectories that asked it in vain have reached their limit of calls', () => {
    const outcomes = [...times(4, 'failed'), ...times(2, 'refused')];
    assert.throws(() => refuseDeadTools([calls('search', outcomes)], 7), /failed in all of its 4 calls/);
    refuseDeadTools([calls('search', [...times(3, 'failed'), ...times(9, 'refused')])], 7);
  });

  it('is not one that answered once, answers with errors, was asked seldom, or runs programs that never end', () => {
    for (const [tool, outcomes] of [
      ['search', [...times(9, 'timed-out'), 'ok']],
      ['search', times(9, 'error')],
      ['search', times(3, 'failed')],
      ['python', times(9, 'timed-out')],
    ] as [string, ToolOutcome[]][])
      refuseDeadTools([calls(tool, outcomes)], 7);
  });
});

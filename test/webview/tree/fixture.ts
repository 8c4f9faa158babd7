/** Small trees and one of any size, for the tests of the view. Knows nothing of the page. */
import type { Decision, Path, Segment, Tree } from '../../../src/core/types.ts';
import { refused } from '../../fakes/decision.ts';

export const segment = (parent: number, kind: Segment['kind'], count: number): Segment => ({
  parent,
  kind,
  start: 0,
  count,
  text: '',
  turn: 0,
});

export const path = (leaf: number, from?: Path['from']): Path => ({
  leaf,
  origin: from ? 'branch' : 'initial',
  calls: 0,
  stop: 'answer',
  ...(from && { from }),
});

export const decision = (at: number, outcome: Decision['outcome']): Decision => ({
  ...refused,
  segment: at,
  made: 2,
  total: 4,
  outcome,
  ...(outcome === 'branch' && { child: 2 }),
});

/** Prompt → two turns; the first calls a tool (segment 3), goes on (4) and is branched (5). */
export const SMALL: Tree = {
  id: '1.0',
  step: 1,
  task: { id: 'a', question: '', references: [], ability: '' },
  rule: 'paper',
  initial: 2,
  total: 4,
  segments: [
    segment(-1, 'prompt', 10),
    segment(0, 'model', 20),
    segment(0, 'model', 5),
    segment(1, 'tool', 30),
    segment(3, 'model', 8),
    segment(3, 'model', 12),
  ],
  paths: [path(4), path(2), path(5, { path: 0, segment: 3 })],
  decisions: [decision(3, 'branch'), decision(3, 'refuse')],
};

/** `lanes` trajectories from the prompt, each of `length` segments at which nothing is asked. */
export function combs(lanes: number, length: number): Tree {
  const segments = [segment(-1, 'prompt', 10)];
  const paths = Array.from({ length: lanes }, () => {
    for (let i = 0; i < length; i++)
      segments.push(segment(i === 0 ? 0 : segments.length - 1, i % 2 === 0 ? 'model' : 'tool', 10));
    return path(segments.length - 1);
  });
  return { ...SMALL, segments, paths, decisions: [], initial: lanes, total: lanes };
}

/** Where a key leads from a chosen segment or question. Pure; knows nothing of the page. */
import type { Tree } from '../../src/core/types.ts';
import type { Box, Layout } from './layout.ts';

/** A segment, or a question asked after it. */
export interface Selection {
  segment: number;
  decision?: number;
}

export const keyOf = ({ segment, decision }: Selection): string =>
  decision === undefined ? `s${segment}` : `s${segment}d${decision}`;

export function selectionOf(key: string): Selection | undefined {
  const [, segment, decision] = /^s(\d+)(?:d(\d+))?$/.exec(key) ?? [];
  if (segment === undefined) return undefined;
  return decision === undefined
    ? { segment: Number(segment) }
    : { segment: Number(segment), decision: Number(decision) };
}

type Move = (ground: { tree: Tree; layout: Layout; at: Selection; box: Box }) => Selection | undefined;

/** The next selection for a key; undefined for other keys and where there is nothing further. */
export function walk(tree: Tree, layout: Layout, at: Selection, key: string): Selection | undefined {
  const box = layout.boxOf[at.segment];
  const move = Object.hasOwn(MOVES, key) ? MOVES[key] : undefined;
  return box && move?.({ tree, layout, at, box });
}

const boxTo = (box: Box | undefined): Selection | undefined => box && { segment: box.segments[0]! };

const vertical =
  (step: 1 | -1): Move =>
  ({ layout, box }) => {
    let best: Box | undefined;
    const distance = (one: Box): number => Math.abs(one.lane - box.lane) * 1e6 + Math.abs(one.x - box.x);
    for (const one of layout.boxes)
      if (Math.sign(one.lane - box.lane) === step && (!best || distance(one) < distance(best))) best = one;
    return boxTo(best);
  };

/** The boxes that hang at the box's parent, itself included; those of the prompt where it is one. */
function siblings({ tree, layout, box }: { tree: Tree; layout: Layout; box: Box }): Box[] {
  const { parent } = tree.segments[box.segments[0]!]!;
  return layout.boxes.filter(one => tree.segments[one.segments[0]!]!.parent === parent);
}

const sibling =
  (step: 1 | -1): Move =>
  ground => {
    const all = siblings(ground);
    return boxTo(all[all.indexOf(ground.box) + step]);
  };

/** Along the trajectory: to the next step of the same lane, or back. */
const forth: Move = ({ tree, layout, box }) => {
  const last = box.segments.at(-1)!;
  const children = layout.boxes.filter(one => tree.segments[one.segments[0]!]!.parent === last);
  return boxTo(children.find(({ lane }) => lane === box.lane) ?? children[0]);
};
const back: Move = ({ tree, layout, box }) => boxTo(layout.boxOf[tree.segments[box.segments[0]!]!.parent]);

const MOVES: Record<string, Move> = {
  ArrowRight(ground) {
    const { at, box } = ground;
    const place =
      at.decision === undefined ? -1 : box.questions.findIndex(({ index }) => index === at.decision);
    const question = box.questions[place + 1];
    return question ? { segment: at.segment, decision: question.index } : forth(ground);
  },
  ArrowLeft(ground) {
    const { at, box } = ground;
    const place =
      at.decision === undefined ? -1 : box.questions.findIndex(({ index }) => index === at.decision);
    if (place > 0) return { segment: at.segment, decision: box.questions[place - 1]!.index };
    return place === 0 ? { segment: at.segment } : back(ground);
  },
  ArrowDown: vertical(1),
  ArrowUp: vertical(-1),
  Home: ({ layout }) => boxTo(layout.boxes[0]),
  End: ({ layout }) => boxTo(layout.boxes.at(-1)),
  n: forth,
  p: back,
  ']': sibling(1),
  '[': sibling(-1),
  /** To where the branch left, and the question that made it. */
  b({ tree, layout, box }) {
    const path = layout.lanes[box.lane]!;
    const { from } = tree.paths[path]!;
    if (!from) return undefined;
    const decision = tree.decisions.findIndex(({ child }) => child === path);
    return decision >= 0 ? { segment: from.segment, decision } : { segment: from.segment };
  },
};

/**
 * Where the segments of a rollout tree stand: each trajectory ends in a lane of its own, a segment stands in the lane of
 * the first trajectory through it, and lengths grow with tokens. Pure; knows nothing of how it is drawn.
 */
import type { Decision, Path, Segment, Tree } from '../../src/core/types.ts';

export interface Box {
  segment: number;
  lane: number;
  /** Left edge and width, in pixels of the unscaled drawing. */
  x: number;
  width: number;
  /** Trajectories through the segment: indices into the tree's paths. */
  paths: number[];
  /** Branching questions asked after this segment, in the order asked. */
  questions: { decision: Decision; index: number }[];
}

export interface Layout {
  /** [segment] absent for a segment that no trajectory reaches. */
  boxes: (Box | undefined)[];
  /** [lane] the path that ends there. */
  lanes: number[];
  width: number;
}

const MIN_WIDTH = 26;
const GAP = 16;
/** Room after a segment for each question asked there. */
const QUESTION_WIDTH = 20;

/** Root-to-leaf segment indices of a path. */
export function pathSegments(segments: readonly Segment[], leaf: number): number[] {
  const found: number[] = [];
  for (let at = leaf; at >= 0; at = segments[at]!.parent) found.push(at);
  return found.reverse();
}

/** `pixelsPerToken` scales a segment's length above the least that can be read. */
export function layOut(tree: Pick<Tree, 'segments' | 'paths' | 'decisions'>, pixelsPerToken: number): Layout {
  const lanes = laneOrder(tree.paths);
  const through = tree.segments.map((): number[] => []);
  const laneOf = new Map(lanes.map((path, lane) => [path, lane]));
  for (const path of lanes)
    for (const segment of pathSegments(tree.segments, tree.paths[path]!.leaf)) through[segment]!.push(path);
  const boxes: (Box | undefined)[] = [];
  tree.segments.forEach((segment, index) => {
    const paths = through[index]!;
    if (paths.length === 0) return;
    const questions = tree.decisions.flatMap((decision, i) =>
      decision.segment === index ? [{ decision, index: i }] : [],
    );
    const parent = segment.parent < 0 ? undefined : boxes[segment.parent];
    const x = parent ? parent.x + parent.width + GAP + QUESTION_WIDTH * parent.questions.length : 0;
    const lane = Math.min(...paths.map(path => laneOf.get(path)!));
    boxes[index] = {
      segment: index,
      lane,
      x,
      width: Math.max(MIN_WIDTH, segment.count * pixelsPerToken),
      paths,
      questions,
    };
  });
  const width = boxes.reduce(
    (most, box) => (box ? Math.max(most, box.x + box.width + QUESTION_WIDTH * box.questions.length) : most),
    0,
  );
  return { boxes, lanes, width };
}

/** A branch stands below the trajectory that it left, before that one's later neighbours. */
function laneOrder(paths: readonly Path[]): number[] {
  const children = new Map<number, number[]>();
  const roots: number[] = [];
  paths.forEach((path, i) => {
    if (!path.from) roots.push(i);
    else children.set(path.from.path, [...(children.get(path.from.path) ?? []), i]);
  });
  const order: number[] = [];
  const visit = (path: number): void => {
    order.push(path);
    for (const child of children.get(path) ?? []) visit(child);
  };
  roots.forEach(visit);
  return order;
}

/** Pixels per token so that the longest trajectory fits into `width`, between legible bounds. */
export function fitScale(tree: Pick<Tree, 'segments' | 'paths'>, width: number): number {
  let longest = 1;
  for (const path of tree.paths) {
    const segments = pathSegments(tree.segments, path.leaf);
    longest = Math.max(
      longest,
      segments.reduce((sum, i) => sum + tree.segments[i]!.count, 0),
    );
  }
  return Math.max(0.6, Math.min(6, (width - 220) / longest));
}

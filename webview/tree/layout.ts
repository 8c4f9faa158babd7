/**
 * Where the segments of a rollout tree stand: each trajectory ends in a lane of its own, a segment stands in the lane of
 * the first trajectory through it, and lengths grow with tokens. Pure; knows nothing of how it is drawn.
 */
import { pathsThrough, segmentsOf } from '../../src/core/tree.ts';
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

/** Room for a tool's name. */
const MIN_WIDTH = 52;
const GAP = 16;
/** Room after a segment for each question asked there. */
const QUESTION_WIDTH = 20;

/** `pixelsPerToken` scales a segment's length above the least that can be read. */
export function layOut(tree: Tree, pixelsPerToken: number): Layout {
  const lanes = laneOrder(tree.paths);
  const through = pathsThrough(tree);
  const laneOf = new Map(lanes.map((path, lane) => [path, lane]));
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
      width: boxWidth(segment, pixelsPerToken),
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

/** Legible pixels per token, and how exactly the scale is found between them. */
const SCALES = { least: 0.4, most: 6, exactness: 0.01 };

/** The largest legible number of pixels per token at which every trajectory fits into `width`; the least where none does. */
export function fitScale(tree: Tree, width: number): number {
  const asked = new Map<number, number>();
  for (const { segment } of tree.decisions) asked.set(segment, (asked.get(segment) ?? 0) + 1);
  const paths = tree.paths.map((_, path) => segmentsOf(tree, path));
  const fits = (scale: number): boolean =>
    paths.every(path => widthOf(tree.segments, path, asked, scale) <= width);
  let [least, most] = [SCALES.least, SCALES.most];
  if (fits(most)) return most;
  while (most - least > SCALES.exactness) {
    const middle = (least + most) / 2;
    if (fits(middle)) least = middle;
    else most = middle;
  }
  return least;
}

function widthOf(
  segments: readonly Segment[],
  path: readonly number[],
  asked: ReadonlyMap<number, number>,
  scale: number,
): number {
  return path.reduce(
    (width, at) => width + boxWidth(segments[at]!, scale) + QUESTION_WIDTH * (asked.get(at) ?? 0),
    GAP * (path.length - 1),
  );
}

const boxWidth = ({ count }: Segment, scale: number): number => Math.max(MIN_WIDTH, count * scale);

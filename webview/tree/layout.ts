/**
 * Where the segments of a rollout tree stand: each trajectory ends in a lane of its own, a segment stands in the lane of
 * the first trajectory through it, and lengths grow with tokens. Pure; knows nothing of how it is drawn.
 */
import { childrenOf, depthFirst, pathsThrough } from '../../src/core/tree.ts';
import type { Decision, Path, Tree } from '../../src/core/types.ts';

/** Pixels of the unscaled drawing. */
export interface Metrics {
  /** Height of a lane, and of a bar in it. */
  lane: number;
  bar: number;
  /** Narrowest bar, and room between two. */
  least: number;
  gap: number;
  /** Room after a segment for each question asked there. */
  question: number;
  /** Room at the end of a lane for its reward and advantage. */
  end: number;
  /** Legible pixels per token. */
  scales: { least: number; most: number };
  /** Whether there is room for words and badges. */
  hasWords: boolean;
}

/** A bar has room for a tool's name. */
const TREE: Metrics = {
  lane: 46,
  bar: 22,
  least: 52,
  gap: 16,
  question: 20,
  end: 150,
  scales: { least: 0.4, most: 6 },
  hasWords: true,
};
/** Many trajectories at once: thin bars whose colour and sign speak. */
const LANES: Metrics = {
  lane: 17,
  bar: 11,
  least: 5,
  gap: 3,
  question: 12,
  end: 110,
  scales: { least: 0.04, most: 4 },
  hasWords: false,
};

/** Every step with its words; runs of steps without a question folded into one; all trajectories as thin lanes. */
export type Mode = 'steps' | 'folded' | 'lanes';

export interface Box {
  /** The segments that it stands for, in order: one, or a folded run of them. */
  segments: number[];
  lane: number;
  /** Left edge and width, in pixels of the unscaled drawing. */
  x: number;
  width: number;
  /** Boxes between it and the prompt's. */
  depth: number;
  /** Its place, from 1, among what hangs at the box above it, the questions there included; and how many that are. */
  rank: number;
  ranks: number;
  /** Questions and boxes that hang at it. */
  below: number;
  /** Trajectories through it: indices into the tree's paths. */
  paths: number[];
  /** Branching questions asked after it, in the order asked. */
  questions: { decision: Decision; index: number }[];
}

export interface Layout {
  mode: Mode;
  metrics: Metrics;
  /** Depth first: a box, then all that hangs below it. */
  boxes: Box[];
  /** [segment] the box that shows it; absent for a segment that no trajectory reaches. */
  boxOf: (Box | undefined)[];
  /** [lane] the path that ends there. */
  lanes: number[];
  width: number;
}

export interface Wish {
  /** `auto`: the most detailed mode that can still be taken in. */
  mode: Mode | 'auto';
  /** First segments of folded runs that the user opened. */
  opened: ReadonlySet<number>;
  /** Pixels that the trajectories and their ends should fit into. */
  window: number;
  /** Lanes that are made narrower are not made shorter: they fill the window at any zoom below 1. */
  zoom: number;
}

/** Boxes that can be taken in with every step shown, and with runs folded. */
const STEPS_UP_TO = 60;
const FOLDED_UP_TO = 200;

/** Lays a tree out at the largest legible number of pixels per token at which every trajectory fits; the least where none does. */
export function layOut(tree: Tree, { mode, opened, window, zoom }: Wish): Layout {
  const chosen = mode === 'auto' ? modeFor(tree) : mode;
  const metrics = chosen === 'lanes' ? LANES : TREE;
  const boxes = boxesOf(tree, chosen === 'folded' ? foldedRuns(tree, opened) : new Map<number, number[]>());
  const boxOf: (Box | undefined)[] = tree.segments.map(() => undefined);
  for (const box of boxes) for (const segment of box.segments) boxOf[segment] = box;
  rank(tree, boxes, boxOf);
  const lanes = laneOrder(tree.paths);
  const laneOf = new Map(lanes.map((path, lane) => [path, lane]));
  for (const box of boxes)
    box.lane = box.paths.reduce((least, path) => Math.min(least, laneOf.get(path)!), Infinity);
  const place = (scale: number): number => spread(tree, { boxes, boxOf, metrics }, scale);
  const room = (chosen === 'lanes' ? window / Math.min(1, zoom) : window) - metrics.end;
  return { mode: chosen, metrics, boxes, boxOf, lanes, width: fit(place, metrics.scales, room) };
}

function modeFor(tree: Tree): Mode {
  if (tree.segments.length <= STEPS_UP_TO) return 'steps';
  const runs = foldedRuns(tree, new Set());
  const hidden = [...runs.values()].reduce((sum, run) => sum + run.length - 1, 0);
  return tree.segments.length - hidden <= FOLDED_UP_TO ? 'folded' : 'lanes';
}

/** A shorter run is as quickly looked at as opened. */
const SHORTEST_RUN = 3;

/** By first segment: steps in a row at which nothing was asked and nothing left the trajectory. The last step of all stays. */
function foldedRuns(tree: Tree, opened: ReadonlySet<number>): Map<number, number[]> {
  const children = childrenOf(tree);
  const asked = new Set(tree.decisions.map(({ segment }) => segment));
  const isPlain = (at: number): boolean =>
    tree.segments[at]!.kind !== 'prompt' && children[at]!.length === 1 && !asked.has(at);
  const runs = new Map<number, number[]>();
  tree.segments.forEach(({ parent }, first) => {
    if (!isPlain(first) || (parent >= 0 && isPlain(parent))) return;
    const run: number[] = [];
    for (let at = first; isPlain(at); at = children[at]![0]!) run.push(at);
    if (run.length >= SHORTEST_RUN && !opened.has(first)) runs.set(first, run);
  });
  return runs;
}

/** Boxes without their places. */
function boxesOf(tree: Tree, runs: ReadonlyMap<number, number[]>): Box[] {
  const through = pathsThrough(tree);
  const questions = new Map<number, Box['questions']>();
  tree.decisions.forEach((decision, index) => {
    const known = questions.get(decision.segment);
    if (known) known.push({ decision, index });
    else questions.set(decision.segment, [{ decision, index }]);
  });
  const hidden = new Set([...runs.values()].flatMap(run => run.slice(1)));
  const depths = tree.segments.map(() => 0);
  const boxes: Box[] = [];
  for (const segment of depthFirst(tree)) {
    const { parent } = tree.segments[segment]!;
    const above = parent < 0 ? -1 : depths[parent]!;
    depths[segment] = hidden.has(segment) ? above : above + 1;
    if (hidden.has(segment) || through[segment]!.length === 0) continue;
    boxes.push({
      segments: runs.get(segment) ?? [segment],
      lane: 0,
      x: 0,
      width: 0,
      depth: depths[segment],
      rank: 1,
      ranks: 1,
      below: 0,
      paths: through[segment]!,
      questions: questions.get(segment) ?? [],
    });
  }
  return boxes;
}

function rank(tree: Tree, boxes: readonly Box[], boxOf: Layout['boxOf']): void {
  const below = new Map<Box | undefined, Box[]>();
  for (const box of boxes) {
    box.below = box.questions.length;
    const above = boxOf[tree.segments[box.segments[0]!]!.parent];
    const known = below.get(above);
    if (known) known.push(box);
    else below.set(above, [box]);
  }
  for (const [above, all] of below) {
    const before = above?.questions.length ?? 0;
    if (above) above.below = before + all.length;
    all.forEach((box, i) => Object.assign(box, { rank: before + i + 1, ranks: before + all.length }));
  }
}

/** A branch stands below the trajectory that it left, before that one's later neighbours. */
function laneOrder(paths: readonly Path[]): number[] {
  const children: number[][] = paths.map(() => []);
  const open: number[] = [];
  paths.forEach(({ from }, path) => (from ? children[from.path]! : open).push(path));
  open.reverse();
  const order: number[] = [];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    order.push(path);
    open.push(...children[path]!.reverse());
  }
  return order;
}

const CHARACTERS_OF_A_TOKEN = 4;

/** Gives every box its place at so many pixels per token; returns the width of all. */
function spread(
  tree: Tree,
  { boxes, boxOf, metrics }: Pick<Layout, 'boxes' | 'boxOf' | 'metrics'>,
  scale: number,
): number {
  let width = 0;
  for (const box of boxes) {
    const { parent, count, text } = tree.segments[box.segments[0]!]!;
    // Where no tokens were logged, the text's length stands in.
    const tokens = count || text.length / CHARACTERS_OF_A_TOKEN;
    const before = boxOf[parent];
    box.x = before ? endOf(before, metrics) + metrics.gap : 0;
    // A folded run says how many steps it has, whatever their length.
    box.width = Math.max(metrics.least, box.segments.length > 1 ? 0 : tokens * scale);
    width = Math.max(width, endOf(box, metrics));
  }
  return width;
}

/** Where a box and the questions after it end. */
export const endOf = ({ x, width, questions }: Box, metrics: Metrics): number =>
  x + width + questionRoom(questions.length, metrics);

/** So many questions stand beside each other; more overlap. */
const MOST_QUESTIONS = 6;

const questionRoom = (count: number, { question }: Metrics): number =>
  question * Math.min(count, MOST_QUESTIONS);

/** Middle of a box's n-th question. */
export const questionAt = ({ x, width, questions }: Box, metrics: Metrics, place: number): number =>
  x + width + (questionRoom(questions.length, metrics) * (place + 0.5)) / questions.length;

/** How exactly a scale is looked for, as a ratio. */
const EXACTNESS = 1.01;

/** Leaves the boxes placed at the largest scale at which they fit, and returns their width. */
function fit(place: (scale: number) => number, scales: Metrics['scales'], width: number): number {
  let { least, most } = scales;
  if (place(most) <= width) return place(most);
  while (most / least > EXACTNESS) {
    const middle = Math.sqrt(least * most);
    if (place(middle) <= width) least = middle;
    else most = middle;
  }
  return place(least);
}

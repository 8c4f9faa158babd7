/** Shapes of a laid-out rollout tree as SVG. Knows nothing of scrolling, keys or where the tree comes from. */
import { OUTCOMES, verdict } from '../../src/core/explain.ts';
import { MINUS } from '../../src/core/figures.ts';
import { segmentCredit, type CreditView } from '../../src/core/segmentCredit.ts';
import type { Decision, DecisionOutcome, Path, Segment, Tree } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import { svg } from '../shared/element.ts';
import { number, signed, spoken } from '../shared/format.ts';
import { creditText, segmentName } from './explain.ts';
import { endOf, questionAt, type Box, type Layout, type Metrics } from './layout.ts';
import type { Shading } from './shades.ts';
import { keyOf, type Selection } from './walk.ts';

/** What is to be seen. */
export interface Scene {
  /**
   * All that is drawn. Segments and paths from the numbers in `untrained` on were grown off the training path: they stand in
   * the tree like the others, after them, and are drawn as ghosts without credit.
   */
  tree: Tree;
  untrained?: { segment: number; path: number };
  /** [segment] what stands above the bar of something untrained, where its credit would. */
  notes?: ReadonlyMap<number, string>;
  /** Of the trained part. */
  shading: Shading;
  credit: CreditView;
}

export const MARGIN = 14;
/** Width of a letter on a bar, and of one of a badge. */
const LETTER = 6.3;
const BADGE_LETTER = 5.8;

/** What can be made out: words, shapes and the numbers at the ends of lanes, or bars only. */
export type Detail = 'words' | 'shapes' | 'far';

/** Draws shapes of one layout. */
export interface Brush {
  scene: Scene;
  layout: Layout;
  detail: Detail;
  /** [segment] of the trained part. */
  credits: number[][];
}

/** Below the first zoom words cannot be read; below so many pixels a lane nothing but bars can be told apart. */
const WORDS_FROM = 0.65;
const SHAPES_FROM = 11;

export const detailAt = ({ metrics }: Layout, zoom: number): Detail =>
  metrics.lane * zoom < SHAPES_FROM ? 'far' : metrics.hasWords && zoom >= WORDS_FROM ? 'words' : 'shapes';

export const brushOf = (scene: Scene, layout: Layout, zoom: number): Brush => ({
  scene,
  layout,
  detail: detailAt(layout, zoom),
  credits: segmentCredit(trainedPart(scene), scene.credit),
});

/** The tree without what was grown off the training path. */
const trainedPart = ({ tree, untrained }: Scene): Tree =>
  untrained
    ? {
        ...tree,
        segments: tree.segments.slice(0, untrained.segment),
        paths: tree.paths.slice(0, untrained.path),
      }
    : tree;

export const middleOf = (layout: Layout, lane: number): number =>
  MARGIN + lane * layout.metrics.lane + layout.metrics.lane / 2;

/** Height and width of all. */
export const sizeOf = ({ width, lanes, metrics }: Layout): { width: number; height: number } => ({
  width: width + metrics.end + 2 * MARGIN,
  height: lanes.length * metrics.lane + 2 * MARGIN,
});

export function hatching(): SVGElement {
  const pattern = svg(
    'pattern',
    { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('line', { class: 'hatch', x1: 0, y1: 0, x2: 0, y2: 6 }),
  );
  return svg('defs', {}, pattern);
}

/** The line from the box above to this one, as a path's commands: a branch leaves at the question that made it. */
export function edge({ scene, layout }: Brush, box: Box): string {
  const { metrics } = layout;
  const above = layout.boxOf[scene.tree.segments[box.segments[0]!]!.parent];
  if (!above) return '';
  const [fromY, toX, toY] = [middleOf(layout, above.lane), box.x + MARGIN, middleOf(layout, box.lane)];
  const end = above.x + above.width + MARGIN;
  if (fromY === toY) return `M${end} ${fromY}H${toX}`;
  const child = layout.lanes[box.lane];
  const made = above.questions.findIndex(({ decision }) => decision.child === child);
  const bend = Math.min(metrics.gap / 2, 7);
  const x = made < 0 ? toX - bend : questionAt(above, metrics, made) + MARGIN;
  const start = made < 0 ? `M${end} ${fromY}H${x}` : `M${x} ${fromY + radiusOf(metrics)}`;
  return `${start}V${toY - bend}Q${x} ${toY} ${x + bend} ${toY}H${toX}`;
}

/** Of the circle of a question. */
const radiusOf = ({ question: room }: Metrics): number => room * 0.4;

export function bar(brush: Brush, box: Box): SVGGElement {
  const { scene, layout } = brush;
  const { metrics } = layout;
  const first = box.segments[0]!;
  const segment = scene.tree.segments[first]!;
  const [x, y] = [box.x + MARGIN, middleOf(layout, box.lane) - metrics.bar / 2];
  const isRun = box.segments.length > 1;
  const shade = isRun ? undefined : scene.shading.shades[first];
  const kind = isRun ? 'run' : segment.kind;
  const tint = shade ? ` h${shade.level}${shade.sign === -1 ? ' minus' : ''}` : '';
  const place = { x, y, width: box.width, height: metrics.bar, rx: metrics.hasWords ? 3 : 2 };
  const group = item(
    brush,
    { segment: first },
    { ...box, label: labelOf(brush, box), level: box.depth + 1 },
    [
      svg('rect', { class: `bar ${kind}${tint}`, ...place }),
      ...(isRun
        ? [svg('path', { class: 'stack', d: `M${x + 3} ${y + metrics.bar + 3}h${box.width - 6}` })]
        : []),
      ...(shade && kind === 'tool' ? [svg('rect', { class: 'hatched', ...place })] : []),
      ...(shade?.sign === undefined ? [] : [stripe(place, shade.sign)]),
      ...(brush.detail === 'words' ? wordsAndBadge(brush, box, kind) : []),
    ],
  );
  if (isRun) group.setAttribute('aria-expanded', 'false');
  if (isUntrained(scene, first)) group.classList.add('untrained');
  return group;
}

export const isUntrained = ({ untrained }: Scene, segment: number): boolean =>
  untrained !== undefined && segment >= untrained.segment;

/** A plus is a stripe along the top of a bar, a minus one along its foot. */
function stripe(
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
  sign: 1 | -1,
): SVGElement {
  const thick = Math.max(2, height / 6);
  return svg('rect', {
    class: sign > 0 ? 'stripe plus' : 'stripe minus',
    x,
    y: sign > 0 ? y : y + height - thick,
    width,
    height: thick,
  });
}

function wordsAndBadge({ scene, layout, credits }: Brush, box: Box, kind: string): SVGElement[] {
  const { bar: tall, lane, gap } = layout.metrics;
  const [x, y] = [box.x + MARGIN, MARGIN + box.lane * lane + lane / 2 - tall / 2];
  const room = Math.floor((box.width - 8) / LETTER);
  const words =
    box.segments.length > 1
      ? `${box.segments.length} steps`
      : wordsOn(scene.tree, scene.tree.segments[box.segments[0]!]!);
  const values = box.segments.length > 1 ? [] : (credits[box.segments[0]!] ?? []);
  const note = scene.notes?.get(box.segments[0]!);
  const badge = note ?? creditText(values, (box.width + gap) / BADGE_LETTER);
  const sign =
    note === undefined ? signOf(values) : note.includes('+') ? 'plus' : note.includes(MINUS) ? 'minus' : '';
  return [
    svg(
      'text',
      { class: `words ${kind}`, x: x + 5, y: y + tall / 2 + 4 },
      room >= 3 ? shorten(words, room) : '',
    ),
    ...(badge === undefined ? [] : [svg('text', { class: `badge ${sign}`, x: x + 2, y: y - 4 }, badge)]),
  ];
}

function signOf(values: readonly number[]): string {
  const sum = values.reduce((a, b) => a + b, 0);
  return sum > 0 ? 'plus' : sum < 0 ? 'minus' : '';
}

/** What stands on a bar, without the tags that every turn has: there is room for a few letters. */
function wordsOn(tree: Tree, segment: Segment): string {
  const { kind, call, asked, text } = segment;
  if (kind === 'prompt') return shorten(tree.task.question, 200);
  if (kind === 'tool')
    return call === undefined ? (asked?.tool ?? 'tool') : `${call.tool}${call.outcome === 'ok' ? '' : ' !'}`;
  const words = text.replace(/<[^<>]*>/g, ' ').replace(/\\boxed\{([^{}]*)\}/g, '$1');
  return shorten(words, 200) || segmentName(segment);
}

/** What a screen reader is told of a box: all that is to be seen. */
function labelOf({ scene, layout, credits }: Brush, box: Box): string {
  const { tree } = scene;
  const first = box.segments[0]!;
  const ends = box.paths.filter(path => box.segments.includes(tree.paths[path]!.leaf));
  const sum = box.segments.reduce((all, segment) => all + tree.segments[segment]!.count, 0);
  const tokens = tree.imported?.hasTokens === false ? 'tokens not logged' : `${sum} tokens`;
  const asked = box.questions.length;
  const segment = tree.segments[first]!;
  const own =
    box.segments.length > 1
      ? [`${box.segments.length} steps, folded`, tokens]
      : [
          segmentName(segment),
          tokens,
          segment.entropy === undefined ? '' : `entropy ${spoken(segment.entropy)}`,
          credits[first]?.length ? `advantage ${creditText(credits[first], Infinity)}` : '',
          segment.call ? `${segment.call.outcome}, ${spoken(segment.call.latencyMs)} ms` : '',
        ];
  return [
    ...(isUntrained(scene, first) ? ['not trained on'] : []),
    scene.notes?.get(first) === undefined ? '' : `counterfactual ${scene.notes.get(first)}`,
    ...own,
    asked === 0 ? '' : asked === 1 ? '1 question' : `${asked} questions`,
    ...(layout.metrics.hasWords && box.segments.length === 1 ? [shorten(segment.text, 80)] : []),
    ...ends.map(path => `trajectory ${path}: ${endWords(tree, path).join(' ')}`),
  ]
    .filter(Boolean)
    .join(', ');
}

/** The sign of an outcome by itself, as it stands in the tree. */
export const outcomeSign = (outcome: DecisionOutcome): SVGElement =>
  svg(
    'svg',
    { class: 'sign', width: 14, height: 14, viewBox: '-8 -8 16 16', 'aria-hidden': true },
    svg('circle', { class: `question ${outcome}`, r: 7 }),
    markOf(outcome, 'scale(0.6)'),
  );

const markOf = (outcome: DecisionOutcome, transform: string): SVGElement =>
  svg('path', {
    class: `mark ${outcome}`,
    d: MARKS[outcome],
    transform,
  });

/** Shapes that differ, for whoever sees no colours. */
const MARKS: Record<DecisionOutcome, string> = {
  branch: 'M-6 0L0 -6L6 0L0 6Z',
  refuse: 'M-5 -5L5 5M-5 5L5 -5',
  budget: 'M-5 0H5',
  length: 'M-5 0H5',
};

/** A question after a box: a green diamond where a branch was made, a cross with a stub of the ghost where it was refused, a bar where nothing was left for one. */
export function question(brush: Brush, box: Box, place: number): SVGGElement {
  const { metrics } = brush.layout;
  const { decision, index } = box.questions[place]!;
  const { outcome } = decision;
  const radius = radiusOf(metrics);
  const x = questionAt(box, metrics, place) + MARGIN;
  const y = middleOf(brush.layout, box.lane);
  const about = {
    label: `${OUTCOMES[outcome].short}: ${verdict(decision)}`,
    level: box.depth + 2,
    rank: place + 1,
    ranks: box.below,
  };
  return item(brush, { segment: box.segments[0]!, decision: index }, about, [
    svg('circle', { class: `question ${outcome}`, cx: x, cy: y, r: radius }),
    ...(brush.detail === 'far'
      ? []
      : [markOf(outcome, `translate(${x} ${y}) scale(${0.62 * (radius / 8)})`)]),
    ...(isGhost(decision) && brush.detail !== 'far'
      ? [svg('path', { class: 'ghost-stub', d: `M${x} ${y + radius}v${radius * 0.9}h${radius * 1.1}` })]
      : []),
  ]);
}

const isGhost = ({ outcome }: Decision): boolean => outcome === 'refuse';

function item(
  { scene }: Brush,
  selection: Selection,
  { label, level, rank, ranks }: { label: string; level: number; rank: number; ranks: number },
  children: SVGElement[],
): SVGGElement {
  return svg(
    'g',
    {
      role: 'treeitem',
      'aria-label': label,
      'aria-selected': 'false',
      'aria-level': level,
      'aria-posinset': rank,
      'aria-setsize': ranks,
      tabindex: -1,
      'data-key': keyOf(selection),
      ...(isUntrained(scene, selection.segment) && { 'data-untrained': true }),
    },
    ...children,
  );
}

/** Reward and advantage where a trajectory ends. */
export function end({ scene, layout }: Brush, lane: number): SVGElement {
  const { tree } = scene;
  const path = layout.lanes[lane]!;
  const found = tree.paths[path]!;
  const box = layout.boxOf[found.leaf]!;
  const { hasWords } = layout.metrics;
  const x = endOf(box, layout.metrics) + MARGIN + 8;
  const y = middleOf(layout, lane) + 4;
  const kind = found.reward === undefined ? 'open' : found.reward.correct ? 'right' : 'wrong';
  const isGhostly = scene.untrained !== undefined && path >= scene.untrained.path;
  return svg(
    'text',
    {
      class: `end ${kind}${hasWords ? '' : ' small'}${isGhostly ? ' ghostly' : ''}`,
      x,
      y,
      'data-path': path,
      // The leaf's own name says the same.
      'aria-hidden': true,
    },
    [...endWords(tree, path), ...(isGhostly ? [hasWords ? 'not trained on' : '◌'] : [])].join('  '),
    svg('title', {}, endSentence(tree, path)),
  );
}

/** What the words at the end of a lane mean. */
function endSentence(tree: Tree, path: number): string {
  const { reward, origin } = tree.paths[path]!;
  const soft = tree.credit?.soft[path];
  const parts = [
    reward === undefined
      ? 'not judged yet'
      : `${reward.correct ? 'right' : 'wrong'}, reward ${spoken(reward.total)}`,
    ...(soft === undefined ? [] : [`advantage ${signed(soft)}`]),
    ...(origin === 'fill' ? ['drawn from the prompt to fill the group'] : []),
  ];
  return `Trajectory ${path}: ${parts.join(', ')}. A click opens it as text.`;
}

function endWords(tree: Tree, path: number): string[] {
  const found = tree.paths[path]!;
  const { reward, origin } = found;
  if (!reward) return [waitingFor(tree, found)];
  const soft = tree.credit?.soft[path];
  return [
    `${reward.correct ? '✓' : reward.total < 0 ? '!' : '✗'} ${number(reward.total)}`,
    ...(soft === undefined ? [] : [`A ${signed(soft)}`]),
    ...(origin === 'fill' ? ['fill'] : []),
  ];
}

/** What a trajectory without a reward does. */
function waitingFor(tree: Tree, { leaf, stop }: Path): string {
  const { kind } = tree.segments[leaf]!;
  if (kind !== 'model' && kind !== 'forced') return '… drawing';
  return stop === 'call' ? '… calling' : 'done';
}

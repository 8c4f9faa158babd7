/** Draws a laid-out rollout tree as SVG with the roles and keys of a tree. Knows nothing of where the tree comes from. */
import { verdict } from '../../src/core/explain.ts';
import { depthFirst } from '../../src/core/tree.ts';
import type { Decision, Segment, Tree } from '../../src/core/types.ts';
import { element, svg } from '../shared/element.ts';
import { number, shorten, signed } from '../shared/format.ts';
import { advantageOf, segmentName } from './explain.ts';
import { fitScale, layOut, type Box, type Layout } from './layout.ts';

/** A segment, or a question asked after it. */
export interface Selection {
  segment: number;
  decision?: number;
}

export interface Drawing {
  root: HTMLElement;
  draw(tree: Tree, credit: 'soft' | 'hard', selection: Selection | undefined): void;
  select(selection: Selection): void;
}

const LANE = 46;
const BAR = 22;
const MARGIN = 14;
/** Room at the end of a lane for its reward and advantage. */
const END_WIDTH = 150;
const CHARACTER = 6.3;

export function drawing(on: {
  select(selection: Selection): void;
  open(path: number, segment: number): void;
}): Drawing {
  const root = element('div', { class: 'picture' });
  let shown: { tree: Tree; layout: Layout; items: Map<string, SVGGElement> } | undefined;

  const select = (selection: Selection, focus = false): void => {
    if (!shown) return;
    for (const [key, item] of shown.items) {
      const isChosen = key === keyOf(selection);
      item.setAttribute('aria-selected', String(isChosen));
      item.setAttribute('tabindex', isChosen ? '0' : '-1');
      if (isChosen && focus) item.focus();
    }
  };
  const choose = (selection: Selection): void => {
    on.select(selection);
    select(selection, true);
  };
  root.addEventListener('keydown', event => {
    if (!shown) return;
    const current = (event.target as Element).closest('[data-key]')?.getAttribute('data-key');
    if (!current) return;
    const next = walk(shown.tree, shown.layout, current, event.key);
    if (event.key === 'Enter') {
      const box = shown.layout.boxes[selectionOf(current).segment];
      if (box && shown.tree.credit) on.open(box.paths[0]!, box.segment);
    } else if (next) choose(next);
    else return;
    event.preventDefault();
  });
  return {
    root,
    select: selection => select(selection),
    draw(tree, credit, selection) {
      const hadFocus = root.contains(document.activeElement);
      const layout = layOut(tree, fitScale(tree, (root.clientWidth || 900) - END_WIDTH - 2 * MARGIN));
      const items = new Map<string, SVGGElement>();
      root.replaceChildren(picture(tree, layout, { credit, items, choose, open: on.open }));
      shown = { tree, layout, items };
      select(selection ?? { segment: 0 }, hadFocus);
    },
  };
}

interface Pen {
  credit: 'soft' | 'hard';
  items: Map<string, SVGGElement>;
  choose(selection: Selection): void;
  open(path: number, segment: number): void;
}

const keyOf = ({ segment, decision }: Selection): string =>
  decision === undefined ? `s${segment}` : `s${segment}d${decision}`;

function selectionOf(key: string): Selection {
  const [, segment, decision] = /^s(\d+)(?:d(\d+))?$/.exec(key)!;
  return decision === undefined
    ? { segment: Number(segment) }
    : { segment: Number(segment), decision: Number(decision) };
}

const middle = (lane: number): number => MARGIN + lane * LANE + LANE / 2;

function picture(tree: Tree, layout: Layout, pen: Pen): SVGSVGElement {
  const width = layout.width + END_WIDTH + 2 * MARGIN;
  const height = layout.lanes.length * LANE + 2 * MARGIN;
  const most = Math.max(0.3, ...tree.segments.map(segment => segment.entropy ?? 0));
  const boxes = layout.boxes.filter(box => box !== undefined);
  const picture = svg(
    'svg',
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'tree',
      'aria-label': `Rollout tree of ${tree.task.question}`,
    },
    hatching(),
    ...boxes.flatMap(box => edge(tree, layout, box)),
    ...depthFirst(tree)
      .flatMap(segment => layout.boxes[segment] ?? [])
      .flatMap(box => [
        bar(tree, box, most, pen),
        ...box.questions.map(({ decision, index }) => question(box, decision, index, pen)),
      ]),
    ...layout.lanes.map((path, lane) => laneEnd(tree, layout, path, lane, pen)),
  );
  return picture;
}

function hatching(): SVGElement {
  const pattern = svg(
    'pattern',
    { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('line', { class: 'hatch', x1: 0, y1: 0, x2: 0, y2: 6 }),
  );
  return svg('defs', {}, pattern);
}

/** The line from the end of the parent to the segment; a branch leaves at the question that made it. */
function edge(tree: Tree, layout: Layout, box: Box): SVGElement[] {
  const parent = layout.boxes[tree.segments[box.segment]!.parent];
  if (!parent) return [];
  const [fromX, fromY, toX, toY] = [
    parent.x + parent.width + MARGIN,
    middle(parent.lane),
    box.x + MARGIN,
    middle(box.lane),
  ];
  const bend = (fromX + toX) / 2;
  const d =
    fromY === toY
      ? `M${fromX} ${fromY}H${toX}`
      : `M${fromX} ${fromY}C${bend} ${fromY} ${bend} ${toY} ${toX} ${toY}`;
  return [svg('path', { class: 'edge', d })];
}

function bar(tree: Tree, box: Box, most: number, pen: Pen): SVGGElement {
  const segment = tree.segments[box.segment]!;
  const [x, y] = [box.x + MARGIN, middle(box.lane) - BAR / 2];
  const heat =
    segment.kind === 'model' && segment.entropy !== undefined
      ? ` e${Math.min(8, Math.round((segment.entropy / most) * 8))}`
      : '';
  const words = wordsOn(tree, segment);
  const room = Math.floor((box.width - 8) / CHARACTER);
  const badge = advantageOf(tree, box.segment, box.paths, pen.credit);
  const label = [
    segmentName(segment),
    `${segment.count} tokens`,
    segment.entropy === undefined ? '' : `entropy ${number(segment.entropy)}`,
    badge ? `advantage ${badge}` : '',
    segment.call ? segment.call.outcome : '',
    shorten(segment.text, 80),
  ];
  const group = item(pen, { segment: box.segment }, label.filter(Boolean).join(', '), [
    svg('rect', { class: `bar ${segment.kind}${heat}`, x, y, width: box.width, height: BAR, rx: 3 }),
    svg(
      'text',
      { class: `words ${segment.kind}`, x: x + 5, y: y + BAR / 2 + 4 },
      room >= 3 ? shorten(words, room) : '',
    ),
    ...(badge
      ? [
          svg(
            'text',
            { class: badge.startsWith('\u2212') ? 'badge minus' : 'badge plus', x: x + 2, y: y - 4 },
            badge,
          ),
        ]
      : []),
  ]);
  return group;
}

/** What stands on a bar, without the tags that every turn has: there is room for a few letters. */
function wordsOn(tree: Tree, { kind, call, text }: Segment): string {
  if (kind === 'prompt') return shorten(tree.task.question, 200);
  if (kind === 'tool') return call?.tool ?? 'tool';
  return shorten(text.replace(/<[^<>]*>/g, ' ').replace(/\\boxed\{([^{}]*)\}/g, '$1'), 200);
}

function question(box: Box, decision: Decision, index: number, pen: Pen): SVGGElement {
  const place = box.questions.findIndex(one => one.index === index);
  const x = box.x + box.width + MARGIN + 11 + place * 20;
  const y = middle(box.lane);
  const mark = decision.outcome === 'branch' ? 'M-6 0L0 -6L6 0L0 6Z' : 'M-5 -5L5 5M-5 5L5 -5';
  const word = {
    branch: 'Branch made',
    refuse: 'Branch refused',
    budget: 'No budget for a branch',
    length: 'No tokens for a branch',
  }[decision.outcome];
  return item(pen, { segment: box.segment, decision: index }, `${word}: ${verdict(decision)}`, [
    svg('circle', { class: `question ${decision.outcome}`, cx: x, cy: y, r: 8 }),
    svg('path', { class: `mark ${decision.outcome}`, d: mark, transform: `translate(${x} ${y}) scale(.62)` }),
    ...(decision.outcome === 'refuse' ? [svg('path', { class: 'ghost-stub', d: `M${x} ${y + 8}v7h9` })] : []),
  ]);
}

function item(pen: Pen, selection: Selection, label: string, children: SVGElement[]): SVGGElement {
  const key = keyOf(selection);
  const group = svg(
    'g',
    {
      role: 'treeitem',
      'aria-label': label,
      'aria-selected': 'false',
      tabindex: -1,
      'data-key': key,
      onclick: () => pen.choose(selection),
    },
    svg('title', {}, label),
    ...children,
  );
  pen.items.set(key, group);
  return group;
}

function laneEnd(tree: Tree, layout: Layout, path: number, lane: number, pen: Pen): SVGElement {
  const { leaf, reward, stop, origin } = tree.paths[path]!;
  const box = layout.boxes[leaf]!;
  const x = box.x + box.width + MARGIN + 8 + 20 * box.questions.length;
  const y = middle(lane) + 4;
  if (!reward) return svg('text', { class: 'end quiet-text', x, y }, stop === 'answer' ? 'done' : '…');
  const sign = reward.correct ? '✓' : reward.total < 0 ? '!' : '✗';
  const soft = tree.credit?.soft[path];
  const text = `${sign} ${number(reward.total)}${soft === undefined ? '' : `  A ${signed(soft)}`}${origin === 'fill' ? '  fill' : ''}`;
  return svg(
    'text',
    {
      class: `end ${reward.correct ? 'right' : 'wrong'}`,
      x,
      y,
      'data-path': path,
      onclick: () => pen.open(path, leaf),
    },
    svg('title', {}, `Trajectory ${path}: ${reward.reason} Open it as text.`),
    text,
  );
}

/** The next selection for an arrow key; undefined for other keys and at the edges. */
function walk(tree: Tree, layout: Layout, key: string, arrow: string): Selection | undefined {
  const at = selectionOf(key);
  const box = layout.boxes[at.segment];
  if (!box) return undefined;
  const place =
    at.decision === undefined ? -1 : box.questions.findIndex(({ index }) => index === at.decision);
  const boxes = layout.boxes.filter(one => one !== undefined);
  switch (arrow) {
    case 'ArrowRight': {
      const question = box.questions[place + 1];
      if (question) return { segment: at.segment, decision: question.index };
      const child = boxes.find(one => tree.segments[one.segment]!.parent === at.segment);
      return child && { segment: child.segment };
    }
    case 'ArrowLeft': {
      if (place > 0) return { segment: at.segment, decision: box.questions[place - 1]!.index };
      if (place === 0) return { segment: at.segment };
      const parent = tree.segments[at.segment]!.parent;
      return parent < 0 ? undefined : { segment: parent };
    }
    case 'ArrowDown':
    case 'ArrowUp': {
      const step = arrow === 'ArrowDown' ? 1 : -1;
      const near = boxes
        .filter(one => Math.sign(one.lane - box.lane) === step)
        .sort(
          (a, b) =>
            Math.abs(a.lane - box.lane) - Math.abs(b.lane - box.lane) ||
            Math.abs(a.x - box.x) - Math.abs(b.x - box.x),
        );
      return near[0] && { segment: near[0].segment };
    }
    default:
      return undefined;
  }
}

/** The part of a drawing that is in sight, as elements that come and go while it is scrolled. Knows nothing of keys or zooming. */
import { svg } from '../shared/element.ts';
import type { Frame, Sight } from './frame.ts';
import { endOf, type Box, type Layout } from './layout.ts';
import { bar, edge, end, hatching, isUntrained, MARGIN, middleOf, question, type Brush } from './paint.ts';
import { keyOf, type Selection } from './walk.ts';

export interface Seen {
  layout: Layout;
  brush: Brush;
  chosen: Selection;
  pinned: Selection | undefined;
  zoom: number;
}

export interface Sheet {
  /** Draws what is in sight and not drawn yet, in the next frame; `isNew`: everything anew. */
  paint(isNew?: boolean): void;
  /** Moves the keyboard to an item, which is drawn at once if it is not. */
  focus(key: string): void;
}

/** Parts of the window that are drawn beyond each of its edges, so that most scrolling draws nothing; little where much is in it. */
const BEYOND = { near: 0.6, far: 0.2 };

export function sheetOf(frame: Frame, seen: () => Seen | undefined): Sheet {
  const edges = svg('path', { class: 'edge', 'aria-hidden': true });
  const untrained = svg('path', { class: 'edge untrained', 'aria-hidden': true });
  const group = svg('g', { role: 'none' });
  const picture = svg(
    'svg',
    { role: 'tree', 'aria-multiselectable': 'false' },
    hatching(),
    edges,
    untrained,
    group,
  );
  frame.space.append(picture);
  /** By key, in the order of the page. */
  let drawn = new Map<string, SVGElement>();
  let covered: Sight | undefined;
  let mustRenew = false;
  let isDue = false;

  const draw = (): void => {
    isDue = false;
    const now = seen();
    if (!now) return;
    const sight = frame.sight(now.zoom);
    if (mustRenew || !covered || !covers(covered, sight)) {
      const focused = drawn.size > 0 ? focusedKey(group) : undefined;
      covered = widened(sight, now.brush.detail === 'far' ? BEYOND.far : BEYOND.near);
      if (mustRenew) drawn = new Map();
      mustRenew = false;
      drawn = renew(group, drawn, wanted(now, covered));
      edges.setAttribute('d', edgesOf(now, covered, false));
      untrained.setAttribute('d', edgesOf(now, covered, true));
      picture.setAttribute('aria-label', `Rollout tree of ${now.brush.scene.tree.task.question}`);
      if (focused !== undefined && focusedKey(group) !== focused)
        (drawn.get(focused) as SVGGElement | undefined)?.focus();
    }
    place(picture, covered, now);
    mark(drawn, now);
  };
  return {
    paint(isNew = false) {
      mustRenew ||= isNew;
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(draw);
    },
    focus(key) {
      if (!drawn.has(key)) {
        covered = undefined;
        draw();
      }
      (drawn.get(key) as SVGGElement | undefined)?.focus({ preventScroll: true });
    },
  };
}

const focusedKey = (group: Element): string | undefined =>
  group.contains(document.activeElement)
    ? (document.activeElement?.getAttribute('data-key') ?? undefined)
    : undefined;

const covers = (outer: Sight, inner: Sight): boolean =>
  outer.left <= Math.max(0, inner.left) &&
  outer.top <= Math.max(0, inner.top) &&
  outer.right >= inner.right &&
  outer.bottom >= inner.bottom;

function widened({ left, top, right, bottom }: Sight, beyond: number): Sight {
  const [x, y] = [(right - left) * beyond, (bottom - top) * beyond];
  return { left: left - x, top: top - y, right: right + x, bottom: bottom + y };
}

function place(picture: SVGSVGElement, { left, top, right, bottom }: Sight, { zoom }: Seen): void {
  const [width, height] = [right - left, bottom - top];
  picture.setAttribute('viewBox', `${left} ${top} ${width} ${height}`);
  picture.setAttribute('width', String(width * zoom));
  picture.setAttribute('height', String(height * zoom));
  picture.style.transform = `translate(${left * zoom}px, ${top * zoom}px)`;
}

/** What is to be drawn, by key, in the order of the tree; what is chosen is always drawn so that the keyboard finds it. */
function wanted({ layout, brush, chosen }: Seen, sight: Sight): Map<string, () => SVGElement> {
  const makers = new Map<string, () => SVGElement>();
  const held = layout.boxOf[chosen.segment];
  for (const box of layout.boxes) {
    if (box !== held && !isIn(layout, box, sight)) continue;
    makers.set(keyOf({ segment: box.segments[0]! }), () => bar(brush, box));
    box.questions.forEach(({ index }, i) =>
      makers.set(keyOf({ segment: box.segments[0]!, decision: index }), () => question(brush, box, i)),
    );
  }
  if (brush.detail === 'far') return makers;
  layout.lanes.forEach((path, lane) => {
    const y = middleOf(layout, lane);
    if (y < sight.top - layout.metrics.lane || y > sight.bottom + layout.metrics.lane) return;
    makers.set(`e${path}`, () => end(brush, lane));
  });
  return makers;
}

function isIn({ metrics }: Layout, box: Box, sight: Sight): boolean {
  const top = MARGIN + box.lane * metrics.lane;
  return (
    endOf(box, metrics) + MARGIN >= sight.left &&
    box.x + MARGIN <= sight.right &&
    top + metrics.lane >= sight.top &&
    top <= sight.bottom
  );
}

/** Puts into the page what is wanted, in that order, and keeps what is there. */
function renew(
  group: SVGGElement,
  drawn: ReadonlyMap<string, SVGElement>,
  makers: ReadonlyMap<string, () => SVGElement>,
): Map<string, SVGElement> {
  if (drawn.size === 0) {
    const all = new Map(Array.from(makers, ([key, make]) => [key, make()]));
    group.replaceChildren(...all.values());
    return all;
  }
  for (const [key, gone] of drawn) if (!makers.has(key)) gone.remove();
  const all = new Map<string, SVGElement>();
  let at = group.firstChild;
  for (const [key, make] of makers) {
    const item = drawn.get(key) ?? make();
    if (item === at) at = at.nextSibling;
    else group.insertBefore(item, at);
    all.set(key, item);
  }
  return all;
}

/** All edges in sight as one shape; a long one may pass the window from above to below. */
function edgesOf({ layout, brush }: Seen, sight: Sight, ofUntrained: boolean): string {
  const { scene } = brush;
  const parts: string[] = [];
  for (const box of layout.boxes) {
    const first = box.segments[0]!;
    if (isUntrained(scene, first) !== ofUntrained) continue;
    const above = layout.boxOf[scene.tree.segments[first]!.parent];
    if (!above || middleOf(layout, box.lane) < sight.top || middleOf(layout, above.lane) > sight.bottom)
      continue;
    if (box.x + MARGIN < sight.left || above.x + above.width + MARGIN > sight.right) continue;
    parts.push(edge(brush, box));
  }
  return parts.join('');
}

function mark(drawn: ReadonlyMap<string, SVGElement>, { chosen, pinned }: Seen): void {
  const [here, held] = [keyOf(chosen), pinned && keyOf(pinned)];
  for (const [key, item] of drawn) {
    if (!item.hasAttribute('aria-selected')) continue;
    const isChosen = key === here;
    if ((item.getAttribute('aria-selected') === 'true') !== isChosen) {
      item.setAttribute('aria-selected', String(isChosen));
      item.setAttribute('tabindex', isChosen ? '0' : '-1');
    }
    item.classList.toggle('pinned', key === held);
  }
}

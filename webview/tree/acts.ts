/** What people do in the drawing with pointer, wheel and keys. Knows nothing of what it does to the drawing. */
import type { Tree } from '../../src/core/types.ts';
import type { Spot } from './frame.ts';
import type { Layout } from './layout.ts';
import { selectionOf, walk, type Selection } from './walk.ts';

export type ZoomBy = 'reset' | { factor: number; at?: Spot };

export interface Ground {
  /** Undefined while nothing is drawn. */
  place(): { tree: Tree; layout: Layout; chosen: Selection } | undefined;
  choose(selection: Selection): void;
  /** True where the segment began a folded run, which is open now. */
  unfold(segment: number): boolean;
  open(path: number, segment: number): void;
  zoom(by: ZoomBy): void;
  key(event: KeyboardEvent): boolean;
}

const ZOOM_STEP = 1.25;
/** A wheel's notch is about 100 pixels, a trackpad's pinch a few. */
const ZOOM_PER_PIXEL = 1.0025;

export function listen(root: HTMLElement, ground: Ground): void {
  root.addEventListener('click', event => {
    const target = event.target as Element;
    const selection = selectionOf(target.closest('[data-key]')?.getAttribute('data-key') ?? '');
    const path = target.closest('[data-path]')?.getAttribute('data-path');
    if (selection && ground.unfold(selection.segment)) return;
    if (selection) ground.choose(selection);
    else if (path !== null && path !== undefined) openEnd(ground, Number(path));
  });
  root.addEventListener(
    'wheel',
    event => {
      // The plain wheel scrolls.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = root.getBoundingClientRect();
      const at = { x: event.clientX - box.left, y: event.clientY - box.top };
      ground.zoom({ factor: ZOOM_PER_PIXEL ** -event.deltaY, at });
    },
    { passive: false },
  );
  root.addEventListener('keydown', event => {
    if (press(ground, event)) event.preventDefault();
  });
  root.addEventListener('pointerover', event => nameUnder(event.target as Element));
}

function openEnd({ place, open }: Ground, path: number): void {
  const end = place()?.tree.paths[path];
  if (end) open(path, end.leaf);
}

/** True where the key meant something. */
function press(ground: Ground, event: KeyboardEvent): boolean {
  const place = ground.place();
  if (!place || event.ctrlKey || event.metaKey || event.altKey) return false;
  const { tree, layout, chosen } = place;
  switch (event.key) {
    case 'Enter': {
      if (ground.unfold(chosen.segment)) return true;
      const box = layout.boxOf[chosen.segment];
      if (box) ground.open(layout.lanes[box.lane]!, chosen.segment);
      return true;
    }
    case '+':
    case '=':
      ground.zoom({ factor: ZOOM_STEP });
      return true;
    case '-':
      ground.zoom({ factor: 1 / ZOOM_STEP });
      return true;
    case '0':
      ground.zoom('reset');
      return true;
    default: {
      const next = walk(tree, layout, chosen, event.key);
      if (next) ground.choose(next);
      return next !== undefined || isArrow(event.key) || ground.key(event);
    }
  }
}

/** At an edge an arrow does nothing, not even scroll. */
const isArrow = (key: string): boolean => key.startsWith('Arrow');

/** The tooltip of an item is its name; made where it is looked at. */
function nameUnder(target: Element): void {
  const item = target.closest('[data-key]');
  if (!item || item.querySelector(':scope > title')) return;
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = item.getAttribute('aria-label') ?? '';
  item.prepend(title);
}

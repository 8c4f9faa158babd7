/** The window onto a drawing that is larger than it: scroll, zoom and drag, in pixels. Knows nothing of what is drawn. */
import { element } from '../shared/element.ts';

export interface Size {
  width: number;
  height: number;
}
export interface Spot {
  x: number;
  y: number;
}
/** A part of the unscaled drawing. */
export interface Sight {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Frame {
  root: HTMLElement;
  /** As large as the drawing; what is drawn is put into it. */
  space: HTMLElement;
  size(): Size;
  /** What is in sight at a zoom. */
  sight(zoom: number): Sight;
  /** Makes room for a drawing at a zoom. */
  resize(drawing: Size, zoom: number): void;
  /** Changes the zoom so that a place of the window keeps what it shows; its middle where none is named. */
  scale(drawing: Size, zoom: { from: number; to: number }, at?: Spot): void;
  /** Scrolls no further than that a spot of the drawing is in sight. */
  reveal(spot: Spot, zoom: number, around: number): void;
  /** A spot moved within the drawing: keeps it where it is in the window, if it is in it. */
  follow(before: Spot, after: Spot, zoom: number): void;
  onSight(moved: () => void): void;
  /** The window has another width. */
  onResize(resized: () => void): void;
}

export function makeFrame(): Frame {
  const space = element('div', { class: 'space' });
  const root = element('div', { class: 'picture' }, space);
  /** Asking the window would make the browser lay the page out. */
  let size: Size | undefined;
  const sizeNow = (): Size => (size ??= { width: root.clientWidth || 900, height: root.clientHeight || 600 });
  pannable(root);
  const fill = ({ width, height }: Size, zoom: number): void => {
    space.style.width = `${Math.ceil(width * zoom)}px`;
    space.style.height = `${Math.ceil(height * zoom)}px`;
  };
  return {
    root,
    space,
    size: sizeNow,
    sight: zoom => ({
      left: root.scrollLeft / zoom,
      top: root.scrollTop / zoom,
      right: (root.scrollLeft + sizeNow().width) / zoom,
      bottom: (root.scrollTop + sizeNow().height) / zoom,
    }),
    resize: fill,
    scale(drawing, { from, to }, at) {
      const { width, height } = sizeNow();
      const { x, y } = at ?? { x: width / 2, y: height / 2 };
      const [left, top] = [((root.scrollLeft + x) * to) / from - x, ((root.scrollTop + y) * to) / from - y];
      fill(drawing, to);
      root.scrollTo({ left, top, behavior: 'instant' });
    },
    reveal({ x, y }, zoom, around) {
      const { width, height } = sizeNow();
      root.scrollTo({
        left: scrolled(root.scrollLeft, x * zoom, { room: width, around }),
        top: scrolled(root.scrollTop, y * zoom, { room: height, around }),
        behavior: 'instant',
      });
    },
    follow(before, after, zoom) {
      const { width, height } = sizeNow();
      const [x, y] = [before.x * zoom - root.scrollLeft, before.y * zoom - root.scrollTop];
      if (x < 0 || y < 0 || x > width || y > height) return;
      root.scrollBy({
        left: (after.x - before.x) * zoom,
        top: (after.y - before.y) * zoom,
        behavior: 'instant',
      });
    },
    onSight: moved => root.addEventListener('scroll', moved, { passive: true }),
    onResize(resized) {
      new ResizeObserver(() => {
        const before = size;
        size = undefined;
        const { width, height } = sizeNow();
        if (before && (before.width !== width || before.height !== height)) resized();
      }).observe(root);
    },
  };
}

/** The least that one has to scroll from `at` so that a spot is in sight, with something around it. */
function scrolled(at: number, spot: number, { room, around }: { room: number; around: number }): number {
  const edge = Math.min(around, room / 3);
  return Math.min(Math.max(at, spot + edge - room), spot - edge);
}

/** A drag of the ground moves the drawing; what lies on it is clicked. */
function pannable(root: HTMLElement): void {
  let held: (Spot & { left: number; top: number }) | undefined;
  root.addEventListener('pointerdown', event => {
    const isOnBar =
      event.target === root && (event.offsetX > root.clientWidth || event.offsetY > root.clientHeight);
    if (event.button !== 0 || isOnBar || (event.target as Element).closest('[data-key], [data-path]')) return;
    held = { x: event.clientX, y: event.clientY, left: root.scrollLeft, top: root.scrollTop };
    root.setPointerCapture(event.pointerId);
    root.classList.add('held-by-pointer');
  });
  root.addEventListener('pointermove', event => {
    if (!held) return;
    root.scrollTo({
      left: held.left + held.x - event.clientX,
      top: held.top + held.y - event.clientY,
      behavior: 'instant',
    });
  });
  const drop = (): void => {
    held = undefined;
    root.classList.remove('held-by-pointer');
  };
  root.addEventListener('pointerup', drop);
  root.addEventListener('pointercancel', drop);
}

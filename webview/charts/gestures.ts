/** What people do on a chart with pointer, wheel and keys, in pixels. Knows nothing of what it does to the chart. */

export interface Gestures {
  /** The pointer is here; undefined when it left. */
  hover(pixel: number | undefined): void;
  click(pixel: number): void;
  /** A stretch is being drawn; undefined when that ended without one. */
  drawing(stretch: [number, number] | undefined): void;
  drawn(stretch: [number, number]): void;
  /** Further away with a factor above 1. */
  zoom(pixel: number, factor: number): void;
  reset(): void;
  /** True where the key meant something. */
  key(event: KeyboardEvent): boolean;
}

/** A pointer that moved less has clicked. */
const CLICK_PIXELS = 4;
/** One notch of a wheel. */
const WHEEL_FACTOR = 1.25;

export function listen(target: HTMLElement, gestures: Gestures): void {
  let from: number | undefined;
  const at = (event: PointerEvent | WheelEvent): number => event.offsetX;
  target.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    from = at(event);
    target.setPointerCapture(event.pointerId);
  });
  target.addEventListener('pointermove', event => {
    gestures.hover(at(event));
    if (from !== undefined && Math.abs(at(event) - from) >= CLICK_PIXELS)
      gestures.drawing(ordered(from, at(event)));
  });
  target.addEventListener('pointerup', event => {
    if (from === undefined) return;
    if (Math.abs(at(event) - from) < CLICK_PIXELS) gestures.click(at(event));
    else gestures.drawn(ordered(from, at(event)));
    from = undefined;
    gestures.drawing(undefined);
  });
  target.addEventListener('pointercancel', () => {
    from = undefined;
    gestures.drawing(undefined);
  });
  target.addEventListener('pointerleave', () => gestures.hover(undefined));
  target.addEventListener('dblclick', () => gestures.reset());
  target.addEventListener(
    'wheel',
    event => {
      // The plain wheel scrolls the page past the charts.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      gestures.zoom(at(event), event.deltaY > 0 ? WHEEL_FACTOR : 1 / WHEEL_FACTOR);
    },
    { passive: false },
  );
  target.addEventListener('keydown', event => {
    if (gestures.key(event)) event.preventDefault();
  });
}

const ordered = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);

/** A line chart with a legend, a cursor that all charts share, a pinned step, zoom and a keyboard. Knows nothing of what it shows. */
import { element } from '../shared/element.ts';
import { number, spoken } from '../shared/format.ts';
import { listen, type Gestures } from './gestures.ts';
import { legend } from './legend.ts';
import { paintingOf, type Painting, type Shown } from './painting.ts';
import { indexAt, nearestIndex, type Plot, type Series, type Stretch, type View } from './plot.ts';
import { fillReadout } from './readout.ts';

/** A step and its place on the x axis. */
export interface Place {
  step: number;
  x: number;
}

/** Who hears what is done on a chart. */
export interface Hears {
  /** `isTold`: by the keyboard, so that a screen reader should say it. */
  hover(place: Place | undefined, isTold: boolean): void;
  pick(step: number): void;
  zoom(window: Stretch | undefined): void;
  /** The chart came into sight. */
  seen?(): void;
}

export interface LineChart {
  root: HTMLElement;
  /** Whether it is in sight. */
  readonly isSeen: boolean;
  /** Shows a plot; what is out of sight is drawn when it comes into sight. */
  show(plot: Plot, view: View): void;
  /** Moves the cursor of all charts; `isOurs` where the pointer is on this one, which then explains itself. */
  cursor(place: Place | undefined, isOurs: boolean): void;
  pin(place: Place | undefined): void;
  /** The last point up to x, as a place at x; undefined before the first. */
  placeAt(x: number): Place | undefined;
  /** Reads the theme again. */
  retheme(): void;
  /** What a screen reader is told of a step. */
  sentence(step: number): string;
}

export function lineChart(title: string, hears: Hears): LineChart {
  const parts = makeParts(title);
  const toggled = new Set<string>();
  let pinned: Place | undefined;
  const isShown = (series: Series): boolean => toggled.has(series.key) === (series.isAside ?? false);
  const painting = paintingOf(parts.canvas, isShown, {
    seen: () => hears.seen?.(),
    painted(range) {
      parts.range.textContent = range ? `min ${number(range[0])} · max ${number(range[1])}` : '';
      painting.place(parts.pin, pinned?.x);
    },
  });
  const names = legend(series => {
    if (!toggled.delete(series.key)) toggled.add(series.key);
    names.press(isShown);
    painting.paint();
  });
  parts.root.append(names.root);
  listen(parts.canvas, gesturesOf({ hears, parts, painting, pinned: () => pinned }));
  return {
    root: parts.root,
    get isSeen() {
      return painting.isSeen;
    },
    show(plot, view) {
      parts.empty.hidden = plot.values.some(column => column.some(isMeasured));
      parts.canvas.setAttribute('aria-label', describe(title, plot, view));
      names.show(plot, isShown);
      names.values(plot, view.restsOnLast ? undefined : plot.steps.length - 1);
      painting.show({ plot, view });
    },
    cursor(at, isOurs) {
      const { shown } = painting;
      if (!shown) return;
      const { plot, view } = shown;
      const index = at ? indexAt(plot.steps, at.step) : plot.steps.length - 1;
      names.values(plot, view.restsOnLast && !at ? undefined : index);
      painting.place(parts.cursor, at?.x);
      parts.readout.hidden = !isOurs || !at || index < 0;
      if (parts.readout.hidden || !at) return;
      fillReadout(parts.readout, { ...shown, isShown }, { index, step: at.step, x: at.x });
      parts.readout.classList.toggle('on-left', painting.isOnRight(at.x));
    },
    pin(at) {
      pinned = at;
      painting.place(parts.pin, at?.x);
    },
    placeAt(x) {
      const { steps = [], xs = [] } = painting.shown?.plot ?? {};
      const step = steps[indexAt(xs, x)];
      return step === undefined ? undefined : { step, x };
    },
    retheme: painting.paint,
    sentence: step => sentence(title, painting.shown, step),
  };
}

/** What a screen reader is told of a step. */
function sentence(title: string, shown: Shown | undefined, step: number): string {
  const index = shown ? indexAt(shown.plot.steps, step) : -1;
  if (!shown || index < 0) return `${title}: not logged.`;
  const { plot, view } = shown;
  const values = plot.series.map((one, i) => `${one.label} ${spoken(plot.values[i]![index])}`);
  return `${title} at ${pointName(plot, view, index)}: ${values.join(', ')}.`;
}

interface Parts {
  root: HTMLElement;
  canvas: HTMLCanvasElement;
  empty: HTMLElement;
  range: HTMLElement;
  cursor: HTMLElement;
  pin: HTMLElement;
  stretch: HTMLElement;
  readout: HTMLElement;
}

function makeParts(title: string): Parts {
  const canvas = element('canvas', {
    role: 'img',
    tabindex: 0,
    'aria-label': `${title}: not logged.`,
    'aria-description':
      'Arrow keys move along the steps, Enter pins one, plus and minus zoom, 0 shows all steps.',
  });
  const overlay = (name: string): HTMLElement =>
    element('div', { class: name, hidden: true, 'aria-hidden': true });
  const empty = element('p', { class: 'quiet empty' }, 'not logged');
  const range = element('span', {
    class: 'quiet range',
    title: 'Exact minimum and maximum of what is in view',
  });
  const [cursor, pin, stretch, readout] = ['cursor', 'pin', 'stretch', 'readout'].map(overlay) as [
    HTMLElement,
    HTMLElement,
    HTMLElement,
    HTMLElement,
  ];
  const root = element(
    'section',
    { class: 'chart', 'data-chart': title },
    element('div', { class: 'head' }, element('h3', {}, title), range),
    element('div', { class: 'canvas' }, canvas, pin, cursor, stretch, readout, empty),
  );
  return { root, canvas, empty, range, cursor, pin, stretch, readout };
}

const isMeasured = (value: number): boolean => !Number.isNaN(value);

interface Ground {
  hears: Hears;
  parts: Parts;
  painting: Painting;
  pinned(): Place | undefined;
}

/** Steps that a key with Shift moves by. */
const LEAP = 10;
const ZOOM_STEP = 1.5;

function gesturesOf({ hears, parts, painting, pinned }: Ground): Gestures {
  let at: Place | undefined;
  const placeOf = (index: number): Place | undefined => {
    const { steps = [], xs = [] } = painting.shown?.plot ?? {};
    const bounded = Math.min(Math.max(index, 0), steps.length - 1);
    return bounded >= 0 ? { step: steps[bounded]!, x: xs[bounded]! } : undefined;
  };
  const placeAt = (pixel: number): Place | undefined =>
    placeOf(nearestIndex(painting.shown?.plot.xs ?? [], painting.xAt(pixel)));
  const move = (index: number): void => hears.hover((at = placeOf(index)), true);
  const zoom = (x: number | undefined, factor: number): void => {
    const axis = painting.axis();
    if (!axis || !painting.shown || x === undefined) return;
    const stretch = { from: x - (x - axis.min) * factor, to: x + (axis.max - x) * factor };
    hears.zoom(within(stretch, painting.shown.plot.xs));
  };
  const keys: Record<string, (event: KeyboardEvent, index: number) => void> = {
    ArrowRight: ({ shiftKey }, index) => move(index + (shiftKey ? LEAP : 1)),
    ArrowLeft: ({ shiftKey }, index) => move(index - (shiftKey ? LEAP : 1)),
    Home: () => move(0),
    End: () => move(Infinity),
    Enter: () => at && hears.pick(at.step),
    ' ': () => at && hears.pick(at.step),
    '+': (_, index) => zoom(placeOf(index)?.x, 1 / ZOOM_STEP),
    '-': (_, index) => zoom(placeOf(index)?.x, ZOOM_STEP),
    '0': () => hears.zoom(undefined),
  };
  return {
    hover: pixel => hears.hover((at = pixel === undefined ? undefined : placeAt(pixel)), false),
    click(pixel) {
      const found = placeAt(pixel);
      if (found) hears.pick(found.step);
    },
    drawing(stretch) {
      parts.stretch.hidden = !stretch;
      if (!stretch) return;
      parts.stretch.style.left = `${stretch[0]}px`;
      parts.stretch.style.width = `${stretch[1] - stretch[0]}px`;
    },
    drawn: ([from, to]) => hears.zoom({ from: painting.xAt(from), to: painting.xAt(to) }),
    zoom: (pixel, factor) => zoom(painting.xAt(pixel), factor),
    reset: () => hears.zoom(undefined),
    key(event) {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      const steps = painting.shown?.plot.steps;
      if (!act || !steps) return false;
      const from = at ?? pinned();
      act(event, from ? nearestIndex(steps, from.step) : steps.length - 1);
      return true;
    },
  };
}

/** The part of a stretch that has points; nothing where that is all of them. */
function within({ from, to }: Stretch, xs: readonly number[]): Stretch | undefined {
  const first = xs[0] ?? 0;
  const last = xs.at(-1) ?? 0;
  if (from <= first && to >= last) return undefined;
  return { from: Math.max(from, first), to: Math.min(to, last) };
}

const pointName = ({ steps, xs }: Plot, view: View, index: number): string =>
  view.pointName?.(xs[index]!) ?? `step ${steps[index]}`;

/** What a screen reader says instead of the picture. */
function describe(title: string, plot: Plot, view: View): string {
  const { series, values } = plot;
  const parts = series.flatMap((one, i) => {
    const column = values[i]!;
    const first = column.findIndex(isMeasured);
    const last = column.findLastIndex(isMeasured);
    if (first < 0 || one.kind?.startsWith('band')) return [];
    return [
      `${one.label} ${spoken(column[first])} at ${pointName(plot, view, first)}, ${spoken(column[last])} at ${pointName(plot, view, last)}`,
    ];
  });
  return `${title}: ${parts.length > 0 ? parts.join('; ') : 'not logged'}.`;
}

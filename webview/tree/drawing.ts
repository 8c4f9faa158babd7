/**
 * The picture of a rollout tree, scrolled, zoomed and walked by keys, with a selection that stays. Knows nothing of where the
 * tree comes from, of shapes or of what a card says.
 */
import { listen, type ZoomBy } from './acts.ts';
import { makeFrame, type Frame, type Spot } from './frame.ts';
import { layOut, questionAt, type Layout, type Wish } from './layout.ts';
import { brushOf, detailAt, MARGIN, middleOf, sizeOf, type Brush, type Scene } from './paint.ts';
import { sheetOf, type Sheet } from './sheet.ts';
import { keyOf, type Selection } from './walk.ts';

export interface Drawing {
  root: HTMLElement;
  /** Draws a tree, or the same with other facts or tints; what is chosen and what is in sight stay where they can. */
  draw(scene: Scene, selection: Selection): void;
  select(selection: Selection): void;
  /** Marks what Space pinned. */
  pin(selection: Selection | undefined): void;
  look(mode: Wish['mode']): void;
  /** `fit` shows all of the tree, as far as it can be made out. */
  zoom(by: ZoomBy | 'fit'): void;
  focus(): void;
}

export interface Acts {
  select(selection: Selection): void;
  open(path: number, segment: number): void;
  /** A key that does not move the selection. True where it meant something. */
  key(event: KeyboardEvent): boolean;
  /** The tree is shown in another way, perhaps because it has grown. */
  laidOut(mode: Layout['mode']): void;
}

const NEAREST = 3;
/** Pixels that a lane keeps however far away. */
const NARROWEST_LANE = 5.5;
/** A selection is scrolled to with so much room around it. */
const AROUND = 60;
/** A zoom is over when it has rested so long; lanes then fill the window again. */
const SETTLED_MS = 150;

interface Kept {
  frame: Frame;
  sheet: Sheet;
  acts: Acts;
  wish: { mode: Wish['mode']; opened: Set<number> };
  scene?: Scene;
  layout?: Layout;
  brush?: Brush;
  chosen: Selection;
  pinned?: Selection | undefined;
  zoom: number;
  settling?: number;
}

export function drawing(acts: Acts): Drawing {
  const frame = makeFrame();
  const kept: Kept = {
    frame,
    sheet: sheetOf(frame, () => {
      const { layout, brush, chosen, pinned, zoom } = kept;
      return layout && brush && { layout, brush, chosen, pinned, zoom };
    }),
    acts,
    wish: { mode: 'auto', opened: new Set() },
    chosen: { segment: 0 },
    zoom: 1,
  };
  listen(frame.root, {
    place: () =>
      kept.scene && kept.layout && { tree: kept.scene.tree, layout: kept.layout, chosen: kept.chosen },
    choose(selection) {
      select(kept, selection, true);
      acts.select(selection);
    },
    unfold: segment => unfold(kept, segment),
    zoom: by => zoomBy(kept, by),
    open: (path, segment) => acts.open(path, segment),
    key: event => acts.key(event),
  });
  frame.onSight(() => kept.sheet.paint());
  frame.onResize(() => layAgain(kept));
  return {
    root: frame.root,
    draw: (scene, selection) => draw(kept, scene, selection),
    select: selection => select(kept, selection),
    pin(selection) {
      kept.pinned = selection;
      kept.sheet.paint();
    },
    look(mode) {
      kept.wish.mode = mode;
      kept.wish.opened.clear();
      layAgain(kept);
      reveal(kept);
    },
    zoom: by => zoomBy(kept, by),
    focus: () => kept.sheet.focus(keyOf(kept.chosen)),
  };
}

function draw(kept: Kept, scene: Scene, selection: Selection): void {
  const before = kept.scene;
  const held = kept.chosen;
  const spot = kept.layout && spotOf(kept.layout, held);
  const isOther = before?.tree.id !== scene.tree.id;
  if (isOther) kept.wish.opened.clear();
  kept.chosen = selection;
  kept.scene = scene;
  if (before?.tree === scene.tree && kept.layout) kept.brush = brush(kept, kept.layout);
  else {
    lay(kept);
    const after = kept.layout && spotOf(kept.layout, held);
    if (isOther) reveal(kept);
    else if (spot && after) kept.frame.follow(spot, after, kept.zoom);
  }
  kept.sheet.paint(true);
}

function lay(kept: Kept): void {
  const { scene, frame, wish, chosen } = kept;
  if (!scene) return;
  const look = { ...wish, window: frame.size().width - 2 * MARGIN, zoom: kept.zoom };
  let layout = layOut(scene.tree, look);
  const box = layout.boxOf[chosen.segment];
  // What is chosen is never hidden in a folded run.
  if (box && box.segments.indexOf(chosen.segment) > 0) {
    wish.opened.add(box.segments[0]!);
    layout = layOut(scene.tree, look);
  }
  if (layout.mode !== kept.layout?.mode) kept.acts.laidOut(layout.mode);
  kept.layout = layout;
  kept.brush = brush(kept, layout);
  frame.resize(sizeOf(layout), kept.zoom);
}

const brush = ({ scene, zoom }: Kept, layout: Layout): Brush => brushOf(scene!, layout, zoom);

function layAgain(kept: Kept): void {
  lay(kept);
  kept.sheet.paint(true);
}

function select(kept: Kept, selection: Selection, hasFocus = false): void {
  kept.chosen = selection;
  const box = kept.layout?.boxOf[selection.segment];
  if (box && box.segments.indexOf(selection.segment) > 0) layAgain(kept);
  reveal(kept);
  kept.sheet.paint();
  if (hasFocus) kept.sheet.focus(keyOf(selection));
}

/** Opens a folded run; false where the segment begins none. */
function unfold(kept: Kept, segment: number): boolean {
  const box = kept.layout?.boxOf[segment];
  if (!box || box.segments.length < 2) return false;
  kept.wish.opened.add(segment);
  layAgain(kept);
  kept.sheet.focus(keyOf({ segment }));
  return true;
}

function zoomBy(kept: Kept, by: ZoomBy | 'fit'): void {
  const { layout, frame, zoom } = kept;
  if (!layout) return;
  const size = sizeOf(layout);
  const room = frame.size();
  const wanted =
    by === 'fit'
      ? Math.min(1, room.width / size.width, room.height / size.height)
      : by === 'reset'
        ? 1
        : zoom * by.factor;
  const next = Math.min(NEAREST, Math.max(NARROWEST_LANE / layout.metrics.lane, wanted));
  if (next === zoom) return;
  frame.scale(size, { from: zoom, to: next }, typeof by === 'string' ? undefined : by.at);
  kept.zoom = next;
  const isOtherDetail = detailAt(layout, next) !== detailAt(layout, zoom);
  if (isOtherDetail) kept.brush = brush(kept, layout);
  kept.sheet.paint(isOtherDetail);
  if (layout.mode !== 'lanes') return;
  window.clearTimeout(kept.settling);
  kept.settling = window.setTimeout(() => layAgain(kept), SETTLED_MS);
}

function reveal({ layout, chosen, frame, zoom }: Kept): void {
  const spot = layout && spotOf(layout, chosen);
  if (spot) frame.reveal(spot, zoom, AROUND);
}

/** Where a segment, or a question, lies in the drawing; undefined where it is not drawn. */
function spotOf(layout: Layout, { segment, decision }: Selection): Spot | undefined {
  const box = layout.boxOf[segment];
  if (!box) return undefined;
  const place = box.questions.findIndex(({ index }) => index === decision);
  const x = place < 0 ? box.x + Math.min(box.width, 100) / 2 : questionAt(box, layout.metrics, place);
  return { x: x + MARGIN, y: middleOf(layout, box.lane) };
}

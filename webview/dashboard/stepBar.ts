/** One cell a step: its height and colour are the step's reward. A slider for the keyboard. Knows nothing of charts. */
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { glance } from '../../src/core/stepColumns.ts';
import { frame, MARKS, placeMarks } from '../charts/look.ts';
import { nearestIndex, type Mark } from '../charts/plot.ts';
import { element } from '../shared/element.ts';
import { number, spoken } from '../shared/format.ts';
import { faded, themeColour } from '../shared/theme.ts';

export interface StepBar {
  root: HTMLElement;
  update(state: Pick<RunState, 'summaries' | 'steps'>, marks: readonly Mark[]): void;
  cursor(step: number | undefined): void;
  pin(step: number | undefined): void;
}

export interface BarHears {
  hover(step: number | undefined, isTold: boolean): void;
  pick(step: number): void;
}

const HEIGHT = 37;
/** Room for the marks below the cells. */
const FOOT = 12;
const LEAP = 10;

interface Shown {
  steps: readonly FinishedStep[];
  /** Steps that the run shall have; 0 where not yet told. */
  planned: number;
  marks: readonly Mark[];
  cursor?: number | undefined;
  pinned?: number | undefined;
}

export function stepBar(hears: BarHears): StepBar {
  const canvas = element('canvas', {
    class: 'bar',
    role: 'slider',
    tabindex: 0,
    'aria-label': 'Step',
    'aria-valuemin': 0,
    'aria-valuemax': 0,
    'aria-valuenow': 0,
  });
  const label = element('span', { class: 'quiet' });
  const root = element('div', { class: 'step-bar' }, canvas, label);
  const shown: Shown = { steps: [], planned: 0, marks: [] };
  let isDue = false;
  const draw = (): void => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      paint(canvas, shown);
    });
  };
  const describe = (): void => {
    const step = shown.cursor ?? shown.pinned ?? shown.steps.at(-1)?.step;
    const found = shown.steps[indexOf(shown.steps, step)];
    const told = (write: typeof number): string => (found ? sentence(found, write) : 'no step yet');
    canvas.setAttribute('aria-valuenow', String(found?.step ?? 0));
    canvas.setAttribute('aria-valuetext', told(spoken));
    label.textContent = told(number);
  };
  listen(canvas, shown, hears);
  new ResizeObserver(draw).observe(canvas);
  const changed = (): void => {
    describe();
    draw();
  };
  return {
    root,
    update({ summaries: steps, steps: planned }, marks) {
      Object.assign(shown, { steps, planned, marks });
      canvas.setAttribute('aria-valuemin', String(steps[0]?.step ?? 0));
      canvas.setAttribute('aria-valuemax', String(steps.at(-1)?.step ?? 0));
      changed();
    },
    cursor(step) {
      shown.cursor = step;
      changed();
    },
    pin(step) {
      shown.pinned = step;
      changed();
    },
  };
}

/** A run that has just begun has cells that can be hit, and none is as wide as a wall. */
const NARROWEST = 6;
const WIDEST = 48;

/** Pixels of a step: there is room for the steps to come where that leaves cells that can be hit. */
function cellOf({ steps, planned }: Shown, width: number): number {
  const count = Math.max(steps.length, Math.min(planned, Math.floor(width / NARROWEST)), 1);
  return Math.min(WIDEST, width / count);
}

const sentence = ({ step, summary }: FinishedStep, write: typeof number): string =>
  `step ${step}, reward ${write(summary.reward.mean)}, entropy ${summary.entropy.all === undefined ? 'not logged' : write(summary.entropy.all)}, ${summary.toolCalls.total} tool calls`;

/** Index of a step; -1 for none. Steps follow each other, but a run may begin anywhere. */
function indexOf(steps: readonly FinishedStep[], step: number | undefined): number {
  if (step === undefined || steps.length === 0) return -1;
  const guess = step - steps[0]!.step;
  if (steps[guess]?.step === step) return guess;
  return nearestIndex(
    steps.map(one => one.step),
    step,
  );
}

function listen(canvas: HTMLCanvasElement, shown: Shown, hears: BarHears): void {
  const stepAt = (index: number): number | undefined =>
    shown.steps[Math.min(Math.max(index, 0), shown.steps.length - 1)]?.step;
  const at = (event: PointerEvent | MouseEvent): number | undefined =>
    shown.steps[Math.floor(event.offsetX / cellOf(shown, canvas.clientWidth))]?.step;
  canvas.addEventListener('pointermove', event => hears.hover(at(event), false));
  canvas.addEventListener('pointerleave', () => hears.hover(undefined, false));
  canvas.addEventListener('click', event => {
    const step = at(event);
    if (step !== undefined) hears.pick(step);
  });
  canvas.addEventListener('keydown', event => {
    const current = indexOf(shown.steps, shown.cursor ?? shown.pinned ?? shown.steps.at(-1)?.step);
    const moves: Record<string, number> = {
      ArrowRight: current + (event.shiftKey ? LEAP : 1),
      ArrowUp: current + 1,
      ArrowLeft: current - (event.shiftKey ? LEAP : 1),
      ArrowDown: current - 1,
      PageUp: current + LEAP,
      PageDown: current - LEAP,
      Home: 0,
      End: shown.steps.length - 1,
    };
    const moved = moves[event.key];
    if (moved !== undefined) hears.hover(stepAt(moved), true);
    else if (event.key === 'Enter' || event.key === ' ') {
      const step = stepAt(current);
      if (step !== undefined) hears.pick(step);
    } else return;
    event.preventDefault();
  });
}

/** Where there are more steps than pixels, a column shows the mean of its steps. */
function paint(canvas: HTMLCanvasElement, shown: Shown): void {
  const { steps, marks, cursor, pinned } = shown;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext('2d');
  if (!context || steps.length === 0 || width === 0) return;
  context.scale(ratio, ratio);
  const rewards = steps.map(step => glance(step).reward.mean);
  const low = rewards.reduce((a, b) => Math.min(a, b), Infinity);
  const high = rewards.reduce((a, b) => Math.max(a, b), -Infinity);
  const share = (reward: number): number => (high > low ? (reward - low) / (high - low) : 0.5);
  const columns = Math.min(steps.length, Math.floor(width));
  const cell = (cellOf(shown, width) * steps.length) / columns;
  const tall = HEIGHT - FOOT;
  const blue = themeColour('charts-blue');
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * steps.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * steps.length) / columns));
    const part = rewards.slice(from, to);
    const mean = share(part.reduce((a, b) => a + b, 0) / part.length);
    const height = 4 + (tall - 4) * mean;
    context.fillStyle = faded(blue, 0.25 + 0.75 * mean);
    context.fillRect(column * cell, tall - height, Math.max(0.5, cell - (cell > 3 ? 1 : 0)), height);
  }
  const pixelOf = (step: number): number => (indexOf(steps, step) + 0.5) * cellOf(shown, width);
  const filled = columns * cell;
  context.fillStyle = faded(themeColour('foreground'), 0.25);
  // What is still to come.
  context.fillRect(filled, tall - 1, Math.max(0, Math.min(width, shown.planned * cell) - filled), 1);
  paintMarks(context, marks, pixelOf, tall);
  outline(context, pixelOf, { cell, tall, cursor, pinned });
}

function paintMarks(
  context: CanvasRenderingContext2D,
  marks: readonly Mark[],
  pixelOf: (step: number) => number,
  tall: number,
): void {
  context.font = '8px sans-serif';
  context.textAlign = 'center';
  context.textBaseline = 'top';
  placeMarks(
    marks,
    ({ step }) => Math.max(4, pixelOf(step)),
    (kind, pixel, isFrame) => {
      context.fillStyle = context.strokeStyle = themeColour(MARKS[kind].colour);
      if (isFrame) frame(context, pixel, tall + 2);
      else context.fillText(MARKS[kind].glyph, pixel, tall + 1);
    },
  );
}

interface Outlined {
  cell: number;
  tall: number;
  cursor?: number | undefined;
  pinned?: number | undefined;
}

/** The step under the cursor in a thin frame, the pinned one in a thick one. */
function outline(
  context: CanvasRenderingContext2D,
  pixelOf: (step: number) => number,
  { cell, tall, cursor, pinned }: Outlined,
): void {
  context.strokeStyle = themeColour('foreground');
  for (const [step, thickness] of [
    [cursor, 1],
    [pinned, 2],
  ] as const) {
    if (step === undefined) continue;
    const width = Math.max(cell, 5);
    context.lineWidth = thickness;
    context.strokeRect(pixelOf(step) - width / 2, thickness / 2, width, tall - thickness);
  }
}

/** How the charts are looked at: what the x axis counts, how much is smoothed, and the way back from a zoom. */
import { MARKS } from '../charts/look.ts';
import type { MarkKind } from '../charts/plot.ts';
import { choice } from '../shared/choice.ts';
import { element } from '../shared/element.ts';
import { decimals } from '../shared/format.ts';
import { themeColour } from '../shared/theme.ts';
import { SCALES, type Scale } from './axis.ts';

export interface Controls {
  root: HTMLElement;
  /** How the charts are handled, in a line. */
  hint: HTMLElement;
  update(looked: {
    scale: Scale;
    /** What the steps' facts tell to count by. */
    scales: ReadonlySet<Scale>;
    smoothing: number;
    isZoomed: boolean;
    marks: ReadonlySet<MarkKind>;
  }): void;
}

export interface Asks {
  scale(scale: Scale): void;
  smoothing(weight: number): void;
  reset(): void;
}

export function controls(asks: Asks): Controls {
  const scales = choice<Scale>({ name: 'scale', title: 'What the x axis counts', options: SCALES }, scale =>
    asks.scale(scale),
  );
  const slider = element('input', {
    type: 'range',
    min: 0,
    max: 0.99,
    step: 0.01,
    title: 'Weight of what came before in the moving average; the raw values stay faintly behind it',
    'aria-label': 'Smoothing',
    oninput: () => asks.smoothing(Number(slider.value)),
  });
  const weight = element('output', { class: 'weight' });
  const reset = element(
    'button',
    { type: 'button', class: 'plain', onclick: () => asks.reset(), hidden: true },
    'Show all',
  );
  const legend = element('span', { class: 'quiet marks' });
  const root = element(
    'div',
    { class: 'controls' },
    scales.root,
    element('label', { class: 'smoothing' }, 'Smoothing ', slider, weight),
    reset,
    legend,
  );
  const hint = element(
    'p',
    { class: 'quiet hint' },
    'Click a point to pin its step and open its rollouts · drag, or Ctrl + wheel, to zoom · double-click to show all',
  );
  return {
    root,
    hint,
    update({ scale, scales: logged, smoothing, isZoomed, marks }) {
      scales.set(scale);
      scales.allow(logged);
      slider.value = String(smoothing);
      weight.textContent = decimals(smoothing);
      reset.hidden = !isZoomed;
      legend.replaceChildren(...[...marks].map(markName));
    },
  };
}

function markName(kind: MarkKind): HTMLElement {
  const glyph = element('span', { 'aria-hidden': true }, MARKS[kind].glyph);
  glyph.style.color = themeColour(MARKS[kind].colour);
  const title = kind === 'checkpoint' ? 'A frame around another mark where both are of one step' : undefined;
  return element('span', { class: 'mark-name', title }, glyph, ` ${MARKS[kind].name}`);
}

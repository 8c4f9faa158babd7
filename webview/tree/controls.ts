/** How the tree is looked at: what tints mean, which credit the badges show, how much is folded, how near. Knows nothing of the drawing. */
import type { CreditView } from '../../src/core/segmentCredit.ts';
import type { DecisionOutcome } from '../../src/core/types.ts';
import { choice, type Option } from '../shared/choice.ts';
import { element } from '../shared/element.ts';
import type { ZoomBy } from './acts.ts';
import type { Mode } from './layout.ts';
import { outcomeSign } from './paint.ts';
import { LEVELS, TINTS, type Shading, type Tint } from './shades.ts';

export interface Looked {
  tint: Tint;
  credit: CreditView;
  mode: Mode | 'auto';
}

const CREDITS: Record<CreditView, Option> = {
  trained: { label: 'As trained', meaning: 'What the update used' },
  soft: { label: 'Soft', meaning: 'Each trajectory’s own advantage' },
  hard: { label: 'Hard', meaning: 'The mean advantage of the trajectories through the segment' },
  sibling: {
    label: 'Sibling',
    meaning: 'Mean reward on this side of the last fork, less that on the other sides',
  },
};

const MODES: Record<Looked['mode'], Option> = {
  auto: { label: 'Auto', meaning: 'As much detail as can be taken in' },
  steps: { label: 'Steps', meaning: 'Every step' },
  folded: { label: 'Folded', meaning: 'Steps in a row without a question as one; Enter opens them' },
  lanes: { label: 'Lanes', meaning: 'A thin lane for every trajectory' },
};

const isOf = <T extends string>(options: Record<T, unknown>, value: unknown): value is T =>
  typeof value === 'string' && Object.hasOwn(options, value);

/** What the window kept; the defaults where it kept nothing sensible. */
export function lookedOf(kept: unknown): Looked {
  const { tint, credit, mode } =
    (kept as { looked?: Partial<Record<keyof Looked, unknown>> } | undefined)?.looked ?? {};
  return {
    tint: isOf(TINTS, tint) ? tint : 'entropy',
    credit: isOf(CREDITS, credit) ? credit : 'trained',
    mode: isOf(MODES, mode) ? mode : 'auto',
  };
}

export interface Controls {
  root: HTMLElement;
  /** `hasGhosts`: whether something in sight was never trained on. */
  show(looked: Looked, shading: Shading, hasGhosts?: boolean): void;
  laidOut(mode: Mode): void;
}

export interface Asks {
  look(looked: Looked): void;
  zoom(by: ZoomBy | 'fit'): void;
  help(): void;
}

const NEARER = 1.25;

export function controls(asks: Asks): Controls {
  let looked = lookedOf(undefined);
  const change = (part: Partial<Looked>): void => asks.look({ ...looked, ...part });
  const tints = choice<Tint>({ name: 'tint', title: 'Colour', options: TINTS }, tint => change({ tint }));
  const credits = choice<CreditView>({ name: 'credit', title: 'Credit', options: CREDITS }, credit =>
    change({ credit }),
  );
  const modes = choice<Looked['mode']>({ name: 'mode', title: 'Layout', options: MODES }, mode =>
    change({ mode }),
  );
  const legend = element('p', { class: 'quiet legend' });
  return {
    root: element(
      'div',
      {},
      element(
        'div',
        { class: 'controls' },
        labelled('Colour', tints.root),
        labelled('Credit', credits.root),
        labelled('Layout', modes.root),
        element(
          'span',
          { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
          button('−', 'Zoom out (−)', () => asks.zoom({ factor: 1 / NEARER })),
          button('+', 'Zoom in (+)', () => asks.zoom({ factor: NEARER })),
          button('Fit', 'Show all of the tree', () => asks.zoom('fit')),
          button('1:1', 'Zoom back (0)', () => asks.zoom('reset')),
        ),
        button('?', 'Keys (?)', () => asks.help()),
      ),
      legend,
    ),
    show(next, shading, hasGhosts = false) {
      looked = next;
      tints.set(next.tint);
      credits.set(next.credit);
      modes.set(next.mode);
      document.body.dataset['tint'] = next.tint;
      legend.replaceChildren(...legendOf(shading, hasGhosts));
    },
    laidOut: mode => void (document.body.dataset['mode'] = mode),
  };
}

const labelled = (name: string, root: HTMLElement): HTMLElement =>
  element(
    'span',
    { class: 'labelled' },
    element('span', { class: 'quiet', 'aria-hidden': true }, name),
    root,
  );

const button = (sign: string, name: string, onclick: () => void): HTMLElement =>
  element('button', { type: 'button', class: 'plain', title: name, 'aria-label': name, onclick }, sign);

function legendOf({ tint, ends }: Shading, hasGhosts: boolean): HTMLElement[] {
  const entry = (swatches: readonly string[], meaning: string): HTMLElement =>
    element(
      'span',
      {},
      ...swatches.map(name => element('span', { class: `swatch ${name}`, 'aria-hidden': true })),
      meaning,
    );
  const signed = (outcome: DecisionOutcome, meaning: string): HTMLElement =>
    element('span', {}, outcomeSign(outcome), meaning);
  const middle = LEVELS / 2;
  const scale =
    ends === undefined
      ? entry([], `${TINTS[tint].label}: not logged`)
      : tint === 'advantage'
        ? entry(
            ['h8 minus', 'h0', 'h8'],
            `${TINTS[tint].label} ${ends[0]} … ${ends[1]}, stripe below … above`,
          )
        : entry(['h0', `h${middle}`, `h${LEVELS}`], `${TINTS[tint].label} ${ends[0]} … ${ends[1]}`);
  scale.title = TINTS[tint].meaning;
  return [
    scale,
    entry(['tool'], 'tool text, not trained'),
    signed('branch', 'branch made'),
    signed('refuse', 'branch refused'),
    signed('budget', 'no budget or tokens left for one'),
    entry([], 'above a step: its credit'),
    ...(hasGhosts ? [entry(['untrained'], 'counterfactual, not trained on')] : []),
  ];
}

/** The pinned step at the foot of the window: its numbers, and the trajectories of it that are worth a look first. */
import type { Extreme, ExtremeKind } from '../../src/core/extremes.ts';
import type { FinishedStep } from '../../src/core/fold.ts';
import { element } from '../shared/element.ts';
import { number, percent, spoken } from '../shared/format.ts';

export interface PinnedBar {
  root: HTMLElement;
  /** Undefined hides the bar. */
  show(step: FinishedStep | undefined): void;
  /** What was found in the step that is shown; undefined while it is looked for. */
  offer(extremes: readonly Extreme[] | undefined): void;
}

export interface PinnedAsks {
  open(extreme: Extreme): void;
  trees(): void;
  /** Pins the step so far from this one. */
  move(by: number): void;
  unpin(): void;
}

const KINDS: Record<ExtremeKind, { label: string; meaning: string }> = {
  best: { label: 'Best', meaning: 'Trajectory with the largest reward' },
  worst: { label: 'Worst', meaning: 'Trajectory with the smallest reward' },
  median: { label: 'Median', meaning: 'Trajectory with the middle reward' },
  uncertain: { label: 'Most uncertain', meaning: 'Largest mean entropy of its model tokens, in nats' },
  longest: { label: 'Longest', meaning: 'Most tokens after the prompt' },
  calls: { label: 'Most calls', meaning: 'Most tool calls' },
  mismatch: {
    label: 'Largest mismatch',
    meaning: 'The drawn token on which sampler and trainer are furthest apart, |Δ log p|',
  },
};

export function pinnedBar(asks: PinnedAsks): PinnedBar {
  const title = element('strong');
  const numbers = element('span', { class: 'quiet' });
  const note = element('span', { class: 'quiet' });
  const chooser = element('div', { class: 'chooser', role: 'toolbar', 'aria-label': 'Rollouts of the step' });
  let offered: readonly Extreme[] | undefined;
  const find = (kind: ExtremeKind): Extreme | undefined => offered?.find(one => one.kind === kind);
  const buttons = (Object.keys(KINDS) as ExtremeKind[]).map(kind => {
    const open = (): void => {
      const extreme = find(kind);
      if (extreme) asks.open(extreme);
    };
    return { kind, ...kindButton(kind, open) };
  });
  chooser.append(...buttons.map(({ button }) => button));
  const root = element(
    'section',
    { class: 'pinned', 'aria-label': 'Pinned step', hidden: true },
    plain('◂', 'Previous step', () => asks.move(-1)),
    title,
    plain('▸', 'Next step', () => asks.move(1)),
    numbers,
    chooser,
    note,
    plain('Trees', 'Go to the rollout trees of this step', () => asks.trees()),
    plain('✕', 'Unpin', () => asks.unpin()),
  );
  return {
    root,
    show(step) {
      root.hidden = step === undefined;
      if (!step) return;
      const { reward, accuracy, toolCalls } = step.summary;
      title.textContent = `Step ${step.step}`;
      numbers.textContent = `reward ${number(reward.mean)} · ${percent(accuracy)} right · ${toolCalls.total} calls`;
    },
    offer(extremes) {
      offered = extremes;
      note.textContent =
        extremes === undefined ? 'Looking…' : extremes.length === 0 ? 'Its trees were not kept.' : '';
      for (const { kind, update } of buttons) update(find(kind), extremes === undefined);
    },
  };
}

const plain = (label: string, name: string, onclick: () => void): HTMLElement =>
  element('button', { type: 'button', class: 'plain', 'aria-label': name, title: name, onclick }, label);

interface KindButton {
  button: HTMLElement;
  /** What was found; while it is looked for the button stays in its place. */
  update(found: Extreme | undefined, isLooking: boolean): void;
}

function kindButton(kind: ExtremeKind, onclick: () => void): KindButton {
  const { label, meaning } = KINDS[kind];
  const value = element('span', { class: 'value' });
  const button = element(
    'button',
    { type: 'button', class: 'plain', 'data-extreme': kind, title: meaning, onclick },
    `${label} `,
    value,
  );
  return {
    button,
    update(found, isLooking) {
      button.hidden = !found && !isLooking;
      button.disabled = !found;
      value.textContent = found ? number(found.value) : '';
      const place = found
        ? ` ${spoken(found.value)}: open trajectory ${found.path} of tree ${found.tree}`
        : '';
      button.setAttribute('aria-label', label + place);
    },
  };
}

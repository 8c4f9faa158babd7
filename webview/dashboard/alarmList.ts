/** What looks wrong, quietly, each with the way to its evidence. Knows nothing of how it was found. */
import type { Alarm, AlarmKind } from '../../src/core/alarms.ts';
import { element } from '../shared/element.ts';

/** The chart that shows what an alarm speaks of. */
const EVIDENCE: Record<AlarmKind, string> = {
  'not-finite': 'Gradient norm',
  'entropy-collapse': 'Entropy (nats)',
  'entropy-explosion': 'Entropy (nats)',
  'gradient-explosion': 'Gradient norm',
  mismatch: 'Mismatch |Δ log p|',
  'slow-tool': 'Tool latency (ms)',
  'failing-tool': 'Tool calls',
  'no-variance': 'Groups',
  truncation: 'Ends of trajectories (share)',
  divergence: 'Held-out accuracy',
  silence: 'Seconds by phase',
};

export interface AlarmList {
  root: HTMLElement;
  update(alarms: readonly Alarm[]): void;
}

/** `show` gets the evidence: a step, and the chart where it is seen. */
export function alarmList(show: (step: number, chart: string) => void): AlarmList {
  const root = element('ul', { class: 'alarms', 'aria-label': 'Hints', 'aria-live': 'polite', hidden: true });
  let told = '';
  const item = ({ kind, step, sentence }: Alarm): HTMLElement =>
    element(
      'li',
      { 'data-alarm': kind },
      element('span', { class: 'glyph', 'aria-hidden': true }, '▲'),
      element('span', {}, sentence),
      element(
        'button',
        { type: 'button', class: 'link', onclick: () => show(step, EVIDENCE[kind]) },
        `Show step ${step}`,
      ),
    );
  return {
    root,
    update(alarms) {
      const now = JSON.stringify(alarms);
      if (now === told) return;
      told = now;
      root.hidden = alarms.length === 0;
      root.replaceChildren(...alarms.map(item));
    },
  };
}

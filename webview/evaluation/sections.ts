/** The sections of a report as elements. Knows nothing of the host. */
import { MINUS, percent } from '../../src/core/figures.ts';
import type {
  FailureGroup,
  FlipLine,
  FlipSection,
  Report,
  SampleLine,
  SampleRef,
} from '../../src/core/report.ts';
import { element, svg } from '../shared/element.ts';
import { factList, shareBar, tableOf } from '../shared/facts.ts';

/** What is opened from a report. */
export interface Opens {
  sample(sample: SampleRef): void;
  flip(flip: FlipLine): void;
}

export const reportSections = (report: Report, opens: Opens): HTMLElement[] => [
  ...report.warnings.map(warning =>
    element('p', { class: 'warning', role: 'note' }, element('span', { 'aria-hidden': true }, '▲ '), warning),
  ),
  section(
    'Accuracy',
    element('p', { class: 'accuracy' }, report.accuracy.text),
    intervalBar(report.accuracy),
    element('p', { class: 'quiet note' }, report.accuracy.note),
    factList(report.facts),
  ),
  ...(report.flips ? [flipSection(report.flips, opens)] : []),
  section(
    'pass@k',
    report.passAtK
      ? tableOf(report.passAtK, 'pass@k by ability')
      : element('p', { class: 'quiet' }, 'Nothing was sampled.'),
  ),
  section('Failures by reason', ...failureGroups(report, opens)),
  section(
    'Tool use',
    factList(report.tools.facts),
    ...(report.tools.table ? [tableOf(report.tools.table, 'Calls by tool')] : []),
  ),
  section('Lengths', factList(report.lengths)),
  section('Provenance', factList(report.provenance)),
];

const section = (title: string, ...children: HTMLElement[]): HTMLElement =>
  element('section', { 'data-section': title, 'aria-label': title }, element('h2', {}, title), ...children);

/** The mean on its interval, from 0 to 1. */
function intervalBar({ mean, interval: [low, high], text }: Report['accuracy']): HTMLElement {
  const at = (share: number): number => 100 * Math.min(1, Math.max(0, share));
  const bar = svg(
    'svg',
    { viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Accuracy ${text}` },
    svg('rect', { class: 'track', y: 4, width: 100, height: 2 }),
    svg('rect', { class: 'span', x: at(low), y: 1.5, width: Math.max(0.3, at(high) - at(low)), height: 7 }),
    svg('rect', { class: 'mean', x: at(mean) - 0.2, width: 0.4, height: 10 }),
  );
  return element(
    'div',
    { class: 'interval' },
    element('span', { class: 'quiet' }, '0'),
    element('span', { class: 'bar' }, bar),
    element('span', { class: 'quiet' }, '100 %'),
  );
}

function failureGroups({ failures, measured }: Report, opens: Opens): HTMLElement[] {
  if (failures.length === 0)
    return [element('p', { class: 'quiet' }, `None of ${measured} answers is wrong.`)];
  return failures.map(group => failureGroup(group, opens));
}

const failureGroup = ({ reason, label, meaning, share, samples }: FailureGroup, opens: Opens): HTMLElement =>
  element(
    'details',
    { 'data-reason': reason },
    element(
      'summary',
      {},
      element('b', {}, label),
      ` ${samples.length} (${percent(share)}) `,
      shareBar(share),
      element('span', { class: 'quiet' }, meaning),
    ),
    lines(samples, line => sampleRow(line, opens)),
  );

const sampleRow = (line: SampleLine, opens: Opens): HTMLElement =>
  row(
    () => opens.sample(line),
    `Task ${line.name}, ${line.which}: ${line.question} Answered ${line.said}, accepted ${line.wanted}. ${line.reason}`,
    element('span', { class: 'quiet name' }, `${line.name} · ${line.which}`),
    element('span', { class: 'question' }, line.question),
    element('span', {}, element('span', { class: 'quiet' }, 'said '), element('b', {}, line.said)),
    element('span', {}, element('span', { class: 'quiet' }, 'accepted '), line.wanted),
    ...(line.reason === 'Wrong.' ? [] : [element('span', { class: 'quiet reason' }, line.reason)]),
  );

function flipSection({ against, note, facts, gained, lost }: FlipSection, opens: Opens): HTMLElement {
  const group = (glyph: string, title: string, flips: readonly FlipLine[]): HTMLElement =>
    element(
      'details',
      { open: flips.length > 0 && flips.length <= 12, 'data-flips': title },
      element(
        'summary',
        {},
        element('span', { class: title.toLowerCase(), 'aria-hidden': true }, glyph),
        element('b', {}, title),
        ` ${flips.length}`,
      ),
      lines(flips, flip => flipRow(flip, opens)),
    );
  return section(
    'Flips',
    element('p', { class: 'note' }, 'Against ', element('b', {}, against), '. ', note),
    factList(facts),
    group('+', 'Gained', gained),
    group(MINUS, 'Lost', lost),
  );
}

const flipRow = (flip: FlipLine, opens: Opens): HTMLElement =>
  row(
    () => opens.flip(flip),
    `Task ${flip.name}: ${flip.question} Answered ${flip.otherSaid} there and ${flip.said} here. Open both.`,
    element('span', { class: 'quiet name' }, flip.name),
    element('span', { class: 'question' }, flip.question),
    element('b', {}, `${flip.otherSaid} → ${flip.said}`),
  );

const row = (open: () => void, label: string, ...cells: HTMLElement[]): HTMLElement =>
  element(
    'li',
    {},
    element('button', { type: 'button', class: 'row', onclick: open, 'aria-label': label }, ...cells),
  );

/** Rows that are drawn at first: a page of thousands is slow to lay out. */
const SHOWN = 100;

function lines<T>(all: readonly T[], draw: (one: T) => HTMLElement): HTMLElement {
  const list = element('ul', { class: 'lines' });
  let shown = 0;
  const more = element('button', { type: 'button', class: 'plain', onclick: () => grow() });
  const grow = (): void => {
    list.append(...all.slice(shown, shown + SHOWN).map(draw));
    shown = Math.min(all.length, shown + SHOWN);
    more.hidden = shown === all.length;
    more.textContent = `Show more (${all.length - shown} left)`;
  };
  grow();
  return element('div', {}, list, more);
}

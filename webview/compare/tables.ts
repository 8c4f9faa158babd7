/** What the compared runs came to, and how their configurations differ, as tables. Knows nothing of the host. */
import type { Estimate } from '../../src/core/bootstrap.ts';
import { percent, plain, ranged, whole } from '../../src/core/figures.ts';
import {
  differencesOf,
  GROUP_BLIND,
  SMOOTHED_STEPS,
  type GroupOutcome,
  type RunFacts,
} from '../../src/core/runComparison.ts';
import { shorten } from '../../src/core/wrap.ts';
import { swatch } from '../charts/swatch.ts';
import { compact } from '../dashboard/axis.ts';
import { element } from '../shared/element.ts';
import { duration } from '../shared/format.ts';
import { colourOf, isDashed } from './curves.ts';

interface Column {
  head: string;
  meaning: string;
  of(outcome: GroupOutcome): string;
}

const shown = (estimate: Estimate | undefined, show: (value: number) => string): string =>
  estimate === undefined ? 'not logged' : ranged(estimate, show);
const reward = (value: number): string => plain(value);

const columns = (target: number, common: number): Column[] => [
  { head: 'Steps', meaning: 'Last finished step of each run', of: ({ steps }) => steps.join(', ') },
  {
    head: 'Final reward',
    meaning: `Mean reward of the last ${SMOOTHED_STEPS} steps`,
    of: ({ final }) => shown(final, reward),
  },
  {
    head: 'Best',
    meaning: `Highest mean reward of ${SMOOTHED_STEPS} steps in a row`,
    of: ({ best }) => shown(best, reward),
  },
  {
    head: `Area to step ${common}`,
    meaning:
      'Area under the reward curve up to the last step that all runs have, divided by its length: the mean reward on the way',
    of: ({ area }) => shown(area, reward),
  },
  {
    head: `Tool calls to ${plain(target, 2)}`,
    meaning: `Tool calls until the mean reward of ${SMOOTHED_STEPS} steps first reached it; over the runs that did`,
    of: ({ callsToTarget, meanCallsToTarget }) => {
      const reached = callsToTarget.filter(calls => calls !== null).length;
      const of = `${reached} of ${callsToTarget.length}`;
      if (!meanCallsToTarget) return callsToTarget.length > 1 ? `never (${of})` : 'never';
      return ranged(meanCallsToTarget, whole) + (callsToTarget.length > 1 ? ` (${of})` : '');
    },
  },
  { head: 'Tool calls', meaning: 'Of training, so far', of: ({ toolCalls }) => shown(toolCalls, whole) },
  {
    head: 'Tokens drawn',
    meaning: 'By the policy in training, so far',
    of: ({ sampledTokens }) => shown(sampledTokens, compact),
  },
  {
    head: 'Time',
    meaning: 'In steps, pauses left out',
    of: ({ seconds }) => (seconds === undefined ? 'not logged' : duration(seconds.mean)),
  },
  {
    head: 'Held-out accuracy',
    meaning: 'Of the last evaluation; the interval is over runs, not over tasks',
    of: ({ heldOut }) => shown(heldOut, percent),
  },
];

const BEHAVIOUR: readonly Column[] = [
  {
    head: 'Tool calls each',
    meaning: `Tool calls grown ÷ trajectories, in the last ${SMOOTHED_STEPS} steps; a call that several share counts once`,
    of: ({ callsEach }) => shown(callsEach, value => plain(value, 2)),
  },
  {
    head: 'Tools',
    meaning: `Share of each tool in the calls of the last ${SMOOTHED_STEPS} steps`,
    of: ({ tools }) =>
      tools.length === 0 ? 'none' : tools.map(([tag, share]) => `${tag} ${percent(share)}`).join(', '),
  },
  {
    head: 'Turns',
    meaning: `Model turns of a trajectory, in the mean of the last ${SMOOTHED_STEPS} steps`,
    of: ({ turns }) => shown(turns, value => plain(value, 2)),
  },
  {
    head: 'Response tokens',
    meaning: `Of a trajectory, in the mean of the last ${SMOOTHED_STEPS} steps`,
    of: ({ responseTokens }) => shown(responseTokens, whole),
  },
  {
    head: 'Entropy after a tool',
    meaning: `Of the first tokens after a tool’s result, in nats: the mean of the last ${SMOOTHED_STEPS} steps`,
    of: ({ afterTool }) => shown(afterTool, reward),
  },
];

/** What the runs came to. `open` shows a run. */
export const outcomeTable = (
  outcomes: readonly GroupOutcome[],
  runs: readonly RunFacts[],
  { target, common, open }: { target: number; common: number; open(run: number): void },
): HTMLElement => groupTable({ name: 'outcomes', all: columns(target, common) }, outcomes, runs, open);

/** How their policies go about it of late. */
export const behaviourTable = (
  outcomes: readonly GroupOutcome[],
  runs: readonly RunFacts[],
  open: (run: number) => void,
): HTMLElement => groupTable({ name: 'behaviour', all: BEHAVIOUR }, outcomes, runs, open);

function groupTable(
  { name, all }: { name: string; all: readonly Column[] },
  outcomes: readonly GroupOutcome[],
  runs: readonly RunFacts[],
  open: (run: number) => void,
): HTMLElement {
  const head = element(
    'tr',
    {},
    element('th', { scope: 'col' }, 'Runs'),
    ...all.map(({ head, meaning }) => element('th', { scope: 'col', title: meaning }, head)),
  );
  const rows = outcomes.map((outcome, index) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, ...groupCell(outcome, index, runs, open)),
      ...all.map(({ of }) => element('td', {}, of(outcome))),
    ),
  );
  return element(
    'div',
    { class: 'wide' },
    element('table', { class: `groups ${name}` }, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

function groupCell(
  { group }: GroupOutcome,
  index: number,
  runs: readonly RunFacts[],
  open: (run: number) => void,
): (Node | string)[] {
  const look = { key: '', label: '', meaning: '', colour: colourOf(index), dashed: isDashed(index) };
  const links = group.runs.map((run, i) =>
    element(
      'button',
      { type: 'button', class: 'link', title: 'Open its dashboard', onclick: () => open(run) },
      `${runs[run]!.name}${group.runs.length > 1 ? ` (seed ${group.seeds[i]})` : ''}${runs[run]!.isLive ? ' · live' : ''}`,
    ),
  );
  const name =
    group.runs.length === 1 ? [] : [element('div', {}, `${group.name} · n = ${group.runs.length} seeds`)];
  return [swatch(look), element('div', { class: 'members' }, ...name, ...links)];
}

const WIDEST = 40;

/** `open` shows two configurations side by side. */
export function differenceTable(
  runs: readonly RunFacts[],
  open: (first: number, second: number) => void,
): HTMLElement {
  const differences = differencesOf(runs);
  if (differences.length === 0)
    return element('p', { class: 'quiet' }, 'The configurations, their files and the programs are the same.');
  const heads = runs.map(({ name }, run) =>
    element(
      'th',
      { scope: 'col' },
      element('div', {}, name),
      run === 0
        ? element('span', { class: 'quiet' }, 'the first')
        : element(
            'button',
            {
              type: 'button',
              class: 'link',
              'aria-label': `Compare the configurations of ${runs[0]!.name} and ${name}`,
              onclick: () => open(0, run),
            },
            'diff to the first',
          ),
    ),
  );
  const rows = differences.map(({ key, values }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, element('code', {}, key)),
      ...values.map((value, run) =>
        element(
          'td',
          {
            ...(value !== undefined && { title: value }),
            class: value === values[0] || run === 0 ? '' : 'differs',
          },
          value === undefined ? 'not there' : shorten(value, WIDEST) || '(empty)',
        ),
      ),
    ),
  );
  return element(
    'div',
    { class: 'wide' },
    element(
      'table',
      { class: 'differences' },
      element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Key'), ...heads)),
      element('tbody', {}, ...rows),
    ),
    element(
      'p',
      { class: 'quiet note' },
      `Runs that differ in ${GROUP_BLIND.join(', ')} only are averaged; all others stand alone. In brackets: the 95 % interval of their mean (Student’s t), which is wide for two or three runs.`,
    ),
  );
}

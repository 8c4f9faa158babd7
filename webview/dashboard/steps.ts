/** The rollout trees of one step as a list to open, and the steps' numbers as a table. Knows nothing of the charts. */
import { counted } from '../../src/core/figures.ts';
import type { FinishedStep, RunState } from '../../src/core/fold.ts';
import { shorten } from '../../src/core/wrap.ts';
import type { TreeRow } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { decimals, number, percent, spoken } from '../shared/format.ts';

export interface StepPanel {
  root: HTMLElement;
  /** Shows this step's trees; without a choice the last step's are shown. */
  select(step: number | undefined): void;
  update(state: RunState): void;
}

export interface StepAsks {
  open(tree: string): void;
  /** The trees of a step that were kept so far; `told` is called later, or never where that fails. */
  trees(step: number, told: (rows: readonly TreeRow[]) => void): void;
}

export function stepPanel({ open, trees }: StepAsks): StepPanel {
  const heading = element('h2', { tabindex: -1 }, 'Rollout trees');
  const list = element('ul', { class: 'trees' });
  const empty = element('p', { class: 'quiet' }, 'The first step’s trees appear here when it is done.');
  const table = numbersTable();
  let chosen: number | undefined;
  let latest: RunState | undefined;
  let asked = '';

  const draw = (step: number, rows: readonly TreeRow[]): void => {
    heading.textContent = `Rollout trees of step ${step}`;
    empty.hidden = rows.length > 0;
    empty.textContent = `The trees of step ${step} were not kept.`;
    list.replaceChildren(...rows.map(row => element('li', {}, treeButton(row, open))));
  };
  const ask = (): void => {
    const step = latest && (chosen ?? lastStep(latest));
    if (!latest || step === undefined) return;
    const now = listKey(latest, step);
    if (now === asked) return;
    asked = now;
    trees(step, rows => {
      if (now === asked) draw(step, rows);
    });
  };
  return {
    root: element('section', { class: 'steps' }, heading, empty, list, table.root),
    select(step) {
      chosen = step;
      ask();
    },
    update(state) {
      latest = state;
      table.update(state.summaries);
      ask();
    },
  };
}

/**
 * Another one wherever a step's list may be another: trees are judged one by one while their step is under way, of those that were
 * judged just before its end nobody tells, and a step may be done again.
 */
export function listKey({ run, summaries, trees }: RunState, step: number): string {
  const told = trees.filter(tree => tree.step === step).length;
  return [run?.at, step, told, summaries.findLast(one => one.step === step)?.at].join(' ');
}

/** The last step that has a tree that was judged. */
function lastStep({ summaries, trees }: RunState): number | undefined {
  const steps = [summaries.at(-1)?.step, trees.at(-1)?.step].filter(step => step !== undefined);
  return steps.length > 0 ? Math.max(...steps) : undefined;
}

/** As much of a question as tells it from others in one line. */
const QUESTION_LENGTH = 160;

function treeButton(row: TreeRow, open: (tree: string) => void): HTMLElement {
  const { id, reward, paths, branches, refused } = row;
  // Some rollouts of other programs have no question.
  const question = shorten(row.question, QUESTION_LENGTH) || `Tree ${id}`;
  const about =
    branches === undefined
      ? 'branches not logged'
      : `${counted(branches, 'branch', 'branches')} · ${refused ?? 0} refused`;
  const earned = reward === undefined ? 'reward not logged' : `reward ${spoken(reward)}`;
  const label = `${question} (${id}): ${earned}, ${counted(paths, 'trajectory', 'trajectories')}, ${about}`;
  const fill = element('span', { class: 'fill' });
  fill.style.width = `${100 * Math.max(0, Math.min(1, reward ?? 0))}%`;
  return element(
    'button',
    {
      ...{ type: 'button', class: 'tree-row', 'data-tree': id },
      ...{ 'aria-label': label, title: row.question, onclick: () => open(id) },
    },
    element('span', { class: 'meter', 'aria-hidden': true }, fill),
    element('span', { class: 'reward' }, decimals(reward)),
    element('span', { class: 'task' }, question),
    element('span', { class: 'quiet' }, `${id} · ${about}`),
  );
}

const COLUMNS: readonly [name: string, of: (summary: FinishedStep['summary']) => string][] = [
  ['Reward', ({ reward }) => number(reward.mean)],
  ['Right', ({ accuracy }) => percent(accuracy)],
  ['Entropy', ({ entropy }) => number(entropy.all)],
  ['After tools', ({ entropy }) => number(entropy.afterTool)],
  ['Branches', ({ branches }) => number(branches?.taken)],
  ['Refused', ({ branches }) => number(branches?.refused)],
  ['Tool calls', ({ toolCalls }) => number(toolCalls.total)],
  ['Loss', ({ loss }) => number(loss)],
  ['Gradient norm', ({ gradientNorm }) => number(gradientNorm)],
  ['Seconds', ({ seconds }) => number(seconds?.total)],
];

/** Rows that are made at a time: a long run has more steps than a page can hold. */
const ROWS = 100;

/** The last steps first; rows are made only while the table is open. */
function numbersTable(): { root: HTMLElement; update(steps: readonly FinishedStep[]): void } {
  const rows = element('tbody');
  let steps: readonly FinishedStep[] = [];
  let limit = ROWS;
  const more = element(
    'button',
    {
      type: 'button',
      class: 'plain',
      onclick: () => {
        limit += ROWS;
        fill();
      },
    },
    `${ROWS} more`,
  );
  const root = element(
    'details',
    { class: 'numbers', ontoggle: () => fill() },
    element('summary', {}, 'Numbers of every step'),
    element(
      'table',
      {},
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...['Step', ...COLUMNS.map(([name]) => name)].map(name => element('th', { scope: 'col' }, name)),
        ),
      ),
      rows,
    ),
    more,
  );
  const fill = (): void => {
    if (!root.open) return;
    rows.replaceChildren(...steps.slice(-limit).toReversed().map(stepRow));
    more.hidden = steps.length <= limit;
  };
  return {
    root,
    update(latest) {
      const isNew = latest.length !== steps.length || latest.at(-1) !== steps.at(-1);
      steps = latest.slice();
      if (isNew) fill();
    },
  };
}

const stepRow = ({ step, summary }: FinishedStep): HTMLElement =>
  element(
    'tr',
    {},
    element('th', { scope: 'row' }, String(step)),
    ...COLUMNS.map(([, of]) => element('td', {}, of(summary))),
  );

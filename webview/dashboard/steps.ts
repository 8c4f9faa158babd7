/** The rollout trees of one step as a list to open, and the steps' numbers as a table. Knows nothing of the charts. */
import { meanReward, type FinishedStep, type FinishedTree, type RunState } from '../../src/core/fold.ts';
import { element } from '../shared/element.ts';
import { number, percent } from '../shared/format.ts';

export interface StepPanel {
  root: HTMLElement;
  /** Shows this step's trees; without a choice the last step's are shown. */
  select(step: number | undefined): void;
  update(state: RunState): void;
}

export function stepPanel(open: (tree: string) => void): StepPanel {
  const heading = element('h2', { tabindex: -1 }, 'Rollout trees');
  const list = element('ul', { class: 'trees' });
  const empty = element('p', { class: 'quiet' }, 'The first step’s trees appear here when it is done.');
  const table = numbersTable();
  let chosen: number | undefined;
  let latest: RunState | undefined;
  let drawn = '';

  const draw = (): void => {
    if (!latest) return;
    const step = chosen ?? latest.trees.at(-1)?.step;
    const trees = step === undefined ? [] : treesOf(latest.trees, step);
    const now = `${step} ${trees.map(({ id }) => id).join(' ')}`;
    if (now === drawn) return;
    drawn = now;
    heading.textContent = step === undefined ? 'Rollout trees' : `Rollout trees of step ${step}`;
    empty.hidden = trees.length > 0;
    if (step !== undefined) empty.textContent = `The trees of step ${step} were not kept.`;
    list.replaceChildren(...trees.map(tree => element('li', {}, treeButton(tree, open))));
  };
  return {
    root: element('section', { class: 'steps' }, heading, empty, list, table.root),
    select(step) {
      chosen = step;
      draw();
    },
    update(state) {
      latest = state;
      table.update(state.summaries);
      draw();
    },
  };
}

/** Trees come in the order of their steps, and the last ones are asked for most. */
function treesOf(trees: readonly FinishedTree[], step: number): FinishedTree[] {
  const last = trees.findLastIndex(tree => tree.step === step);
  let first = last;
  while (first > 0 && trees[first - 1]!.step === step) first--;
  return last < 0 ? [] : trees.slice(first, last + 1);
}

function treeButton(tree: FinishedTree, open: (tree: string) => void): HTMLElement {
  const reward = meanReward(tree);
  const { branches, refused } = tree;
  const about =
    branches === undefined ? 'branches not logged' : `${branches} branches · ${refused ?? 0} refused`;
  const label = `${tree.task}: reward ${number(reward)}, ${tree.paths} trajectories, ${about}`;
  const fill = element('span', { class: 'fill' });
  fill.style.width = `${100 * Math.max(0, Math.min(1, reward ?? 0))}%`;
  return element(
    'button',
    { class: 'tree-row', 'data-tree': tree.id, 'aria-label': label, onclick: () => open(tree.id) },
    element('span', { class: 'meter', 'aria-hidden': true }, fill),
    element('span', { class: 'reward' }, number(reward)),
    element('span', { class: 'task' }, tree.task),
    element('span', { class: 'quiet' }, about),
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
      steps = [...latest];
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

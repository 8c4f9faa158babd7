/** The rollout trees of one step as a list to open, and every step's numbers as a table. Knows nothing of the charts. */
import type { FinishedStep } from '../../src/core/fold.ts';
import { element } from '../shared/element.ts';
import { number, percent } from '../shared/format.ts';

export interface TreeRow {
  id: string;
  step: number;
  task: string;
  reward: number | undefined;
  branches: number;
  refused: number;
  paths: number;
}

export interface StepPanel {
  root: HTMLElement;
  /** Shows this step's trees; without a choice the last step's are shown. */
  select(step: number): void;
  update(steps: readonly FinishedStep[], trees: readonly TreeRow[]): void;
}

export function stepPanel(open: (tree: string) => void): StepPanel {
  const heading = element('h2', {}, 'Rollout trees');
  const list = element('ul', { class: 'trees' });
  const empty = element('p', { class: 'quiet' }, 'The first step’s trees appear here when it is done.');
  const rows = element('tbody');
  const columns = [
    'Step',
    'Reward',
    'Right',
    'Entropy',
    'After tools',
    'Branches',
    'Refused',
    'Tool calls',
    'Loss',
    'Gradient norm',
    'Seconds',
  ];
  const table = element(
    'details',
    { class: 'numbers' },
    element('summary', {}, 'Numbers of every step'),
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...columns.map(name => element('th', { scope: 'col' }, name)))),
      rows,
    ),
  );
  let chosen: number | undefined;
  let latest: { steps: readonly FinishedStep[]; trees: readonly TreeRow[] } = { steps: [], trees: [] };

  const draw = (): void => {
    const step = chosen ?? latest.trees.at(-1)?.step;
    const trees = latest.trees.filter(tree => tree.step === step);
    heading.textContent = step === undefined ? 'Rollout trees' : `Rollout trees of step ${step}`;
    empty.hidden = trees.length > 0;
    if (step !== undefined) empty.textContent = `The trees of step ${step} were not kept.`;
    list.replaceChildren(...trees.map(tree => element('li', {}, treeButton(tree, open))));
    const shown = rows.childElementCount;
    if (latest.steps.length < shown) rows.replaceChildren();
    for (const one of latest.steps.slice(rows.childElementCount)) rows.prepend(stepRow(one));
  };
  return {
    root: element('section', { class: 'steps' }, heading, empty, list, table),
    select(step) {
      chosen = step;
      draw();
    },
    update(steps, trees) {
      latest = { steps, trees };
      draw();
    },
  };
}

function treeButton(tree: TreeRow, open: (tree: string) => void): HTMLElement {
  const label = `${tree.task}: reward ${number(tree.reward)}, ${tree.paths} trajectories, ${tree.branches} branches, ${tree.refused} refused`;
  const fill = element('span', { class: 'fill' });
  fill.style.width = percent(Math.max(0, Math.min(1, tree.reward ?? 0))).replace(' ', '');
  return element(
    'button',
    { class: 'tree-row', 'data-tree': tree.id, 'aria-label': label, onclick: () => open(tree.id) },
    element('span', { class: 'meter', 'aria-hidden': true }, fill),
    element('span', { class: 'reward' }, number(tree.reward)),
    element('span', { class: 'task' }, tree.task),
    element('span', { class: 'quiet' }, `${tree.branches} branches · ${tree.refused} refused`),
  );
}

function stepRow({ step, summary }: FinishedStep): HTMLElement {
  const { reward, accuracy, entropy, branches, toolCalls, loss, gradientNorm, seconds } = summary;
  const cells = [
    number(reward.mean),
    percent(accuracy),
    number(entropy.all),
    number(entropy.afterTool),
    number(branches.taken),
    number(branches.refused),
    number(toolCalls.total),
    number(loss),
    number(gradientNorm),
    number(seconds.total),
  ];
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, String(step)),
    ...cells.map(cell => element('td', {}, cell)),
  );
}

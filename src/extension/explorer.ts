/** The run explorer: runs, their steps, trees, checkpoints and evaluations as a tree view. Knows nothing of how they are read or what a row's commands do. */
import * as vscode from 'vscode';
import type { FinishedStep, RunState } from '../core/fold.ts';
import { checkpointName } from '../run/layout.ts';
import type { TreeEntry } from '../run/offsets.ts';
import { openRun } from '../run/reader.ts';
import type { RunSummary } from '../run/runs.ts';
import { commandId, VIEWS } from './names.ts';
import {
  accuracyOf,
  CONTEXTS,
  liveStepDescription,
  RUN_ICONS,
  runDescription,
  runLabel,
  statusOf,
  stepDescription,
  stepLabel,
  treeDescription,
} from './rows.ts';
import type { Runs } from './runs.ts';
import type { Target } from './target.ts';

/** One row: what it is about, and what stands under it. `key` tells it from every other row, also after a refresh. */
export type Row = Target & { runFolder: string; key: string } & (
    | { kind: 'run' }
    | { kind: 'steps' }
    | { kind: 'checkpoints' }
    | { kind: 'evaluations' }
    | { kind: 'step'; step: number }
    | { kind: 'tree'; tree: string; step: number; entry?: TreeEntry }
    | { kind: 'checkpoint'; checkpoint: string; step: number }
    | { kind: 'evaluation'; index: number }
  );

type Make<K extends Row['kind']> = (row: Extract<Row, { kind: K }>, state: RunState) => vscode.TreeItem;

/** Steps that a run's list begins with; a long run's older ones are in the dashboard. */
const SHOWN_STEPS = 500;

export class Explorer implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly #runs: Runs;
  readonly #changed = new vscode.EventEmitter<Row | undefined>();
  readonly #rows = new Map<string, Row>();
  readonly view: vscode.TreeView<Row>;
  readonly #subscriptions: vscode.Disposable[];
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(runs: Runs) {
    this.#runs = runs;
    this.view = vscode.window.createTreeView(VIEWS.runs, { treeDataProvider: this, showCollapseAll: true });
    this.#subscriptions = [
      this.view,
      this.#changed,
      runs.onDidChange(folder => {
        this.#changed.fire(folder === undefined ? undefined : this.#rows.get(folder));
        const live = runs.live().length;
        this.view.badge =
          live === 0 ? undefined : { value: live, tooltip: `${live} live ${live === 1 ? 'run' : 'runs'}` };
      }),
    ];
  }

  async reveal(runFolder: string): Promise<void> {
    await this.view.reveal(this.#row({ kind: 'run', runFolder, key: runFolder }), {
      select: true,
      focus: false,
      expand: true,
    });
  }

  getParent(row: Row): Row | undefined {
    const { runFolder } = row;
    const group = (kind: 'run' | 'steps' | 'checkpoints' | 'evaluations'): Row =>
      this.#row({ kind, runFolder, key: kind === 'run' ? runFolder : `${runFolder} ${kind}` });
    switch (row.kind) {
      case 'run':
        return undefined;
      case 'steps':
      case 'checkpoints':
      case 'evaluations':
        return group('run');
      case 'step':
        return group('steps');
      case 'tree':
        return this.#row({ kind: 'step', runFolder, step: row.step, key: `${runFolder} step ${row.step}` });
      case 'checkpoint':
        return group('checkpoints');
      case 'evaluation':
        return group('evaluations');
    }
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row === undefined) {
      return this.#runs
        .list()
        .map(({ folder }) => this.#row({ kind: 'run', runFolder: folder, key: folder }));
    }
    const { runFolder } = row;
    if (row.kind === 'run' && this.#runs.get(runFolder)?.status === 'unreadable') return [];
    const state = await this.#runs.state(runFolder);
    const make = (made: Row): Row => this.#row(made);
    switch (row.kind) {
      case 'run':
        return groupsOf(state).map(kind => make({ kind, runFolder, key: `${runFolder} ${kind}` }));
      case 'steps':
        return stepsOf(state).map(step =>
          make({ kind: 'step', runFolder, step, key: `${runFolder} step ${step}` }),
        );
      case 'step':
        return (await treesOf(runFolder, row.step, state)).map(({ tree, entry }) =>
          make({
            kind: 'tree',
            runFolder,
            tree,
            step: row.step,
            key: `${runFolder} tree ${tree}`,
            ...(entry !== undefined && { entry }),
          }),
        );
      case 'checkpoints':
        return state.checkpoints.toReversed().map(({ step }) => {
          const checkpoint = checkpointName(step);
          return make({ kind: 'checkpoint', runFolder, checkpoint, step, key: `${runFolder} ${checkpoint}` });
        });
      case 'evaluations':
        return state.evaluations
          .map((_, index) =>
            make({ kind: 'evaluation', runFolder, index, key: `${runFolder} evaluation ${index}` }),
          )
          .reverse();
      case 'tree':
      case 'checkpoint':
      case 'evaluation':
        return [];
    }
  }

  async getTreeItem(row: Row): Promise<vscode.TreeItem> {
    if (row.kind === 'run') return runItem(row, this.#runs.get(row.runFolder));
    const state = await this.#runs.state(row.runFolder);
    // Each kind's function takes the row of its kind: the table is complete by its type.
    const item = (ITEMS[row.kind] as Make<typeof row.kind>)(row, state);
    item.id = row.key;
    return item;
  }

  /** The same object for the same row, so that the window can find it again. */
  #row(row: Row): Row {
    const known = this.#rows.get(row.key);
    if (known !== undefined) return Object.assign(known, row);
    this.#rows.set(row.key, row);
    return row;
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }
}

function groupsOf(state: RunState): ('steps' | 'checkpoints' | 'evaluations')[] {
  const groups = [
    ['steps', state.step] as const,
    ['checkpoints', state.checkpoints.length] as const,
    ['evaluations', state.evaluations.length] as const,
  ];
  return groups.filter(([, count]) => count > 0).map(([kind]) => kind);
}

/** Newest first, the one that is under way before the finished ones. */
function stepsOf(state: RunState): number[] {
  const finished = state.summaries.slice(-SHOWN_STEPS).map(({ step }) => step);
  return [...new Set([...finished, ...(state.live === undefined ? [] : [state.live.step])])].sort(
    (a, b) => b - a,
  );
}

async function treesOf(
  runFolder: string,
  step: number,
  state: RunState,
): Promise<{ tree: string; entry?: TreeEntry }[]> {
  if (state.live?.step === step)
    return state.live.trees
      .map(({ id }) => ({ tree: id }))
      .sort((a, b) => a.tree.localeCompare(b.tree, 'en', { numeric: true }));
  const entries = await openRun(runFolder).trees();
  return entries.filter(entry => entry.step === step).map(entry => ({ tree: entry.id, entry }));
}

function runItem({ runFolder, key }: Row, run: RunSummary | undefined): vscode.TreeItem {
  const item = new vscode.TreeItem(run?.name ?? runFolder, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = key;
  item.resourceUri = vscode.Uri.file(runFolder);
  if (run === undefined) return item;
  const status = statusOf(run);
  const { icon, color } = RUN_ICONS[status];
  item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
  item.description = runDescription(run);
  item.contextValue = CONTEXTS[status];
  item.tooltip = [
    runLabel(run),
    run.folder,
    ...(run.created === '' ? [] : [`Started ${new Date(run.created).toLocaleString()}`]),
  ].join('\n');
  item.accessibilityInformation = { label: runLabel(run) };
  if (status === 'unreadable') item.collapsibleState = vscode.TreeItemCollapsibleState.None;
  return item;
}

const group =
  (
    label: string,
    icon: string,
    count: (state: RunState) => number,
  ): ((row: Row, state: RunState) => vscode.TreeItem) =>
  (_, state) => {
    const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
    item.iconPath = new vscode.ThemeIcon(icon);
    item.description = String(count(state));
    return item;
  };

const ITEMS: { [K in Exclude<Row['kind'], 'run'>]: Make<K> } = {
  steps: group('Steps', 'list-ordered', state => state.summaries.length),
  checkpoints: group('Checkpoints', 'save-all', state => state.checkpoints.length),
  evaluations: group('Evaluations', 'checklist', state => state.evaluations.length),
  step: stepItem,
  tree: treeItem,
  checkpoint({ checkpoint, step }, state) {
    const item = new vscode.TreeItem(checkpoint, vscode.TreeItemCollapsibleState.None);
    const evaluation = state.evaluations.findLast(evaluation => evaluation.step === step);
    item.iconPath = new vscode.ThemeIcon('save');
    item.description = evaluation === undefined ? '' : accuracyOf(evaluation.summary);
    item.contextValue = 'checkpoint';
    item.accessibilityInformation = {
      label: `Checkpoint of step ${step}${evaluation === undefined ? '' : `, held-out ${accuracyOf(evaluation.summary)}`}`,
    };
    return item;
  },
  evaluation({ index }, state) {
    const { step, at, summary } = state.evaluations[index]!;
    const item = new vscode.TreeItem(
      step === 0 ? 'Before training' : `After step ${step}`,
      vscode.TreeItemCollapsibleState.None,
    );
    item.iconPath = new vscode.ThemeIcon('checklist');
    item.description = accuracyOf(summary);
    item.tooltip = evaluationText(summary, at);
    item.accessibilityInformation = {
      label: `Evaluation after step ${step}, ${evaluationText(summary, at)}`,
    };
    return item;
  },
};

function stepItem({ step }: Extract<Row, { kind: 'step' }>, state: RunState): vscode.TreeItem {
  const item = new vscode.TreeItem(`Step ${step}`, vscode.TreeItemCollapsibleState.Collapsed);
  const finished: FinishedStep | undefined = state.summaries.find(summary => summary.step === step);
  if (finished !== undefined) {
    item.iconPath = new vscode.ThemeIcon('circle-filled', new vscode.ThemeColor('charts.blue'));
    item.description = stepDescription(finished);
    item.tooltip = stepLabel(finished);
    item.accessibilityInformation = { label: stepLabel(finished) };
  } else if (state.live?.step === step) {
    item.iconPath = new vscode.ThemeIcon('loading~spin');
    item.description = liveStepDescription(state.live);
    item.accessibilityInformation = { label: `Step ${step}, ${item.description}` };
  }
  return item;
}

function treeItem(
  { tree, entry, runFolder }: Extract<Row, { kind: 'tree' }>,
  state: RunState,
): vscode.TreeItem {
  const live = state.live?.trees.find(({ id }) => id === tree);
  const item = new vscode.TreeItem(entry?.question ?? `Tree ${tree}`, vscode.TreeItemCollapsibleState.None);
  item.iconPath = new vscode.ThemeIcon('type-hierarchy-sub');
  item.contextValue = 'tree';
  if (entry !== undefined) item.description = treeDescription(entry);
  else if (live !== undefined) item.description = `${live.segments.length} segments`;
  item.tooltip = `Tree ${tree}${entry === undefined ? '' : `: ${entry.question}`}`;
  item.accessibilityInformation = {
    label: `Tree ${tree}, ${item.description ?? ''}, ${entry?.question ?? ''}`,
  };
  item.command = {
    command: commandId('openTree'),
    title: 'Open Rollout Tree',
    arguments: [{ runFolder, tree } satisfies Target],
  };
  return item;
}

type Evaluation = RunState['evaluations'][number]['summary'];

const evaluationText = (summary: Evaluation, at: string): string =>
  `accuracy ${accuracyOf(summary)} on ${summary.tasks} tasks of ${summary.dataset}, ${summary.samples} samples each, ${summary.toolCallsPerTrajectory.toFixed(1)} tool calls a trajectory, ${new Date(at).toLocaleString()}`;

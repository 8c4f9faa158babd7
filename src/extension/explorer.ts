/** The run explorer: a tree view over the known runs that filters, groups and remembers how. Knows nothing of how they are read or what a row's commands do. */
import * as vscode from 'vscode';
import { counted } from '../core/figures.ts';
import type { Checks } from './checks.ts';
import { groupItem, partItem, runItem, runTooltip } from './explorerItems.ts';
import type { PartRow, Row } from './explorerRows.ts';
import { rowsUnder, runsUnder, topRows } from './explorerRows.ts';
import type { Log } from './failures.ts';
import { inBackground, showFailure } from './failures.ts';
import { VIEWS } from './names.ts';
import { statusOf } from './rows.ts';
import type { Grouping, RunList } from './runList.ts';
import { filterMessage, GROUPINGS, listDescription, listRuns } from './runList.ts';
import type { Runs } from './runs.ts';

/** What the explorer shows and remembers with. */
export interface ExplorerParts {
  runs: Runs;
  checks: Pick<Checks, 'results' | 'check' | 'onDidChange'>;
  memory: vscode.Memento;
  log: Log;
}

/** How the user wants the list, over windows of the same workspace. */
const REMEMBERED = { filter: 'runs.filter', grouping: 'runs.grouping' } as const;

/** What tells menus and the welcome page that a filter is on. */
const FILTERED = 'branchpoint.runsFiltered';
/** What tells keys that they would do what is refused: nothing is written beside another program's rollouts. */
const IMPORTED_SELECTED = 'branchpoint.importedSelected';

export class Explorer implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly #runs: Runs;
  readonly #checks: ExplorerParts['checks'];
  readonly #memory: vscode.Memento;
  readonly #log: Log;
  readonly #changed = new vscode.EventEmitter<Row | undefined>();
  readonly #rows = new Map<string, Row>();
  /** By folder: the status that its row was drawn with, by which it may be grouped. */
  readonly #drawn = new Map<string, string>();
  readonly #subscriptions: vscode.Disposable[];
  /** What the rows at the top were made of: those under a heading belong to the same list. */
  #listed: RunList = { plain: [], groups: [] };
  readonly view: vscode.TreeView<Row>;
  readonly onDidChangeTreeData = this.#changed.event;

  constructor({ runs, checks, memory, log }: ExplorerParts) {
    this.#runs = runs;
    this.#checks = checks;
    this.#memory = memory;
    this.#log = log;
    this.view = vscode.window.createTreeView(VIEWS.runs, {
      treeDataProvider: this,
      showCollapseAll: true,
      canSelectMany: true,
    });
    this.#subscriptions = [
      this.view,
      this.#changed,
      runs.onDidChange(folder => this.#refresh(folder)),
      checks.onDidChange(subject =>
        this.#refreshRows(row => row.kind === 'checks' && row.runFolder === subject),
      ),
      this.view.onDidExpandElement(({ element }) => this.#checkWhenOpened(element)),
      this.view.onDidChangeSelection(() => this.#tellSelected()),
    ];
    this.#describe();
  }

  /** Words that a run's name, label, tags, status or configuration must have to be listed; '' lists all. */
  get filter(): string {
    return this.#memory.get<string>(REMEMBERED.filter, '');
  }

  get grouping(): Grouping {
    const grouping = this.#memory.get<string>(REMEMBERED.grouping, 'none');
    return grouping in GROUPINGS ? (grouping as Grouping) : 'none';
  }

  async show(how: { filter?: string; grouping?: Grouping }): Promise<void> {
    if (how.filter !== undefined) await this.#memory.update(REMEMBERED.filter, how.filter.trim());
    if (how.grouping !== undefined) await this.#memory.update(REMEMBERED.grouping, how.grouping);
    this.#describe();
    this.#changed.fire(undefined);
  }

  /** Folders of the runs whose own rows are selected. */
  get selectedRuns(): string[] {
    return [...new Set(this.view.selection.flatMap(row => (row.kind === 'run' ? [row.runFolder] : [])))];
  }

  /** Shows a run's row; nothing happens where the filter leaves it out. */
  async reveal(runFolder: string): Promise<void> {
    const list = this.#list();
    const rows = topRows(list).flatMap(row => (row.kind === 'group' ? runsUnder(row, list) : [row]));
    const row = rows.find(row => row.kind === 'run' && row.runFolder === runFolder);
    if (row !== undefined)
      await this.view.reveal(this.#known(row), { select: true, focus: false, expand: true });
  }

  getParent(row: Row): Row | undefined {
    return row.parent && this.#known(row.parent);
  }

  async getChildren(row?: Row): Promise<Row[]> {
    return (await this.#children(row)).map(made => this.#known(made));
  }

  async #children(row: Row | undefined): Promise<Row[]> {
    if (row === undefined) return topRows((this.#listed = this.#list()));
    if (row.kind === 'group') return runsUnder(row, this.#listed);
    if (this.#runs.get(row.runFolder)?.status === 'unreadable') return [];
    return rowsUnder(row, await this.#runs.state(row.runFolder), this.#checks);
  }

  async getTreeItem(row: Row): Promise<vscode.TreeItem> {
    if (row.kind === 'group') return groupItem(row);
    if (row.kind !== 'run')
      return partItem(row, { state: await this.#runs.state(row.runFolder), checks: this.#checks });
    const run = this.#runs.get(row.runFolder);
    if (run !== undefined) this.#drawn.set(run.folder, statusOf(run));
    return runItem(row, run);
  }

  resolveTreeItem(item: vscode.TreeItem, row: Row): vscode.TreeItem {
    const run = row.kind === 'run' ? this.#runs.get(row.runFolder) : undefined;
    if (run !== undefined) item.tooltip = runTooltip(run);
    return item;
  }

  #list(): RunList {
    const runs = this.#runs.list();
    const list = listRuns(runs, this.filter, this.grouping);
    // A view that is alone in its container shows no description; and with a message it shows no welcome.
    this.view.message = filterMessage(this.filter, list, runs.length) ?? '';
    return list;
  }

  #describe(): void {
    this.view.description = listDescription(this.filter, this.grouping) ?? '';
    void vscode.commands.executeCommand('setContext', FILTERED, this.filter !== '');
  }

  #tellSelected(): void {
    const hasImported = this.selectedRuns.some(folder => this.#runs.get(folder)?.source !== undefined);
    void vscode.commands.executeCommand('setContext', IMPORTED_SELECTED, hasImported);
  }

  /** Draws a run again, or the list where that is what changed: a new status may move the run, or take it out. */
  #refresh(folder: string | undefined): void {
    const live = this.#runs.live().length;
    this.view.badge = live === 0 ? undefined : { value: live, tooltip: counted(live, 'live run') };
    const run = folder === undefined ? undefined : this.#runs.get(folder);
    const mayMove = run !== undefined && this.#drawn.get(run.folder) !== statusOf(run);
    if (run === undefined || (mayMove && (this.filter !== '' || this.grouping !== 'none')))
      return this.#changed.fire(undefined);
    this.#refreshRows(row => row.kind === 'run' && row.runFolder === folder);
  }

  #refreshRows(isMeant: (row: PartRow) => boolean): void {
    for (const row of this.#rows.values()) if (row.kind !== 'group' && isMeant(row)) this.#changed.fire(row);
  }

  /** Checks take a while: they begin when somebody wants to see them. */
  #checkWhenOpened(row: Row): void {
    if (row.kind !== 'checks' || this.#checks.results(row.runFolder) !== undefined) return;
    this.#checks
      .check(row.runFolder)
      .catch((error: unknown) => inBackground(this.#log, 'Checks', showFailure(this.#log, 'Checks', error)));
  }

  /** The same object for the same row, so that the window can find it again. */
  #known(row: Row): Row {
    const known = this.#rows.get(row.key);
    if (known !== undefined) return Object.assign(known, row);
    this.#rows.set(row.key, row);
    return row;
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }
}

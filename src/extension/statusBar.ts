/** One status bar item: the newest live run. Knows nothing of what a click does beyond its command. */
import * as vscode from 'vscode';
import { commandId } from './names.ts';
import { runLabel, statusText } from './rows.ts';
import type { Runs } from './runs.ts';
import type { Target } from './target.ts';

export class StatusBar implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem('branchpoint.run', vscode.StatusBarAlignment.Left, 50);
  readonly #subscription: vscode.Disposable;

  constructor(runs: Runs) {
    this.item.name = 'Branchpoint Run';
    this.#subscription = runs.onDidChange(() => this.#draw(runs));
  }

  #draw(runs: Runs): void {
    const [run, ...others] = runs.live();
    if (run === undefined) return this.item.hide();
    this.item.text =
      statusText(run, runs.liveStep(run.folder)) + (others.length > 0 ? ` +${others.length}` : '');
    this.item.tooltip = [run, ...others].map(runLabel).join('\n');
    this.item.accessibilityInformation = { label: runLabel(run) };
    this.item.command = {
      command: commandId('openDashboard'),
      title: 'Open Run Dashboard',
      arguments: [{ runFolder: run.folder } satisfies Target],
    };
    this.item.show();
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.#subscription).dispose();
  }
}

/** The commands that check a configuration or a run and show what was found. Knows nothing of how things are checked. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { countText, type CheckResult } from '../core/checkup.ts';
import type { App } from './app.ts';
import { cancellable } from './asking.ts';
import type { ShownCheck } from './checks.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import { askedConfig, runOf, saved } from './pickers.ts';
import { targetOf } from './target.ts';
import { mustBeTrusted } from './trust.ts';

export const CHECK_COMMANDS = {
  async validateConfiguration(app: App, argument: unknown): Promise<readonly CheckResult[] | undefined> {
    mustBeTrusted('The check of a configuration');
    const config = await askedConfig(app, argument, 'Configuration to check');
    if (config === undefined) return undefined;
    await saved(config);
    return check(app, config, basename(config, CONFIG_SUFFIX));
  },
  async checkRun(app: App, argument: unknown): Promise<readonly CheckResult[] | undefined> {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.checkRun.title);
    return runFolder === undefined ? undefined : check(app, runFolder, basename(runFolder));
  },
  async showCheck({ checks }: App, argument: unknown): Promise<void> {
    const shown = shownCheck(argument);
    if (shown !== undefined) await checks.show(shown.subject, shown.result);
  },
};

/** Shows the way and then the Problems view, where there is something in it. */
async function check(app: App, subject: string, name: string): Promise<readonly CheckResult[]> {
  const results = await cancellable(`Checking ${name}`, signal => app.checks.check(subject, { signal }));
  if (results.length === 0) return results;
  vscode.window.setStatusBarMessage(`${name}: ${countText(results)}`, 10_000);
  if (results.some(({ status }) => status !== 'ok'))
    await vscode.commands.executeCommand('workbench.panel.markers.view.focus', { preserveFocus: true });
  return results;
}

function shownCheck(argument: unknown): ShownCheck | undefined {
  if (typeof argument !== 'object' || argument === null) return undefined;
  const { subject, result } = argument as Partial<ShownCheck>;
  return typeof subject === 'string' && typeof result?.id === 'string' ? { subject, result } : undefined;
}

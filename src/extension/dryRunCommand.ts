/** The command that tries one step of a configuration and tells what it took. Knows nothing of how a step is done. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { App } from './app.ts';
import { dryRunOf, measuredText, readDryRun, type Measured } from './dryRuns.ts';
import { inBackground, offer } from './failures.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import { activeConfig, pickConfig, saved } from './pickers.ts';
import { mustBeTrusted } from './trust.ts';
import { unlinked } from './unlinked.ts';
import { failureOf, runProgram } from './workers.ts';

export const DRY_RUN_COMMANDS = { dryRun };

/** Resolves with what was measured; undefined where the user ended it. */
async function dryRun(app: App, argument: unknown): Promise<Measured | undefined> {
  mustBeTrusted('A dry run');
  const config =
    argument instanceof vscode.Uri
      ? argument.fsPath
      : (activeConfig() ?? (await pickConfig(app, 'Configuration to try')));
  if (config === undefined) return undefined;
  await saved(config);
  const text = readFileSync(config, 'utf8');
  const name = basename(config, CONFIG_SUFFIX);
  const measured = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: unlinked(`${COMMANDS.dryRun.title} of ${name}`),
      cancellable: true,
    },
    async (progress, token) => {
      const cancelled = new AbortController();
      token.onCancellationRequested(() => cancelled.abort());
      const args = ['train', config, '--dry-run', '--json'];
      const outcome = await runProgram(app.program(), args, cancelled.signal, {
        line: message => progress.report({ message: unlinked(message) }),
      });
      if (cancelled.signal.aborted) return undefined;
      if (outcome.code !== 0) throw failureOf(outcome);
      return readDryRun(outcome.out);
    },
  );
  if (measured === undefined) return undefined;
  await app.dryRuns.remember(config, dryRunOf(measured, text, new Date()));
  const said = `${name}: ${measuredText(measured)}`;
  app.log.info(said);
  inBackground(app.log, COMMANDS.dryRun.title, offer(said, 'launchRun', vscode.Uri.file(config)));
  return measured;
}

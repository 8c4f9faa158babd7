/** The command that tries one step of a configuration and tells what it took. Knows nothing of how a step is done. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import { dryRunOf, measuredText, readDryRun, type Measured } from './dryRuns.ts';
import { inBackground, offer } from './failures.ts';
import { COMMANDS, CONFIG_SUFFIX } from './names.ts';
import { askedConfig, saved } from './pickers.ts';
import { mustBeTrusted } from './trust.ts';

export const DRY_RUN_COMMANDS = { dryRun };

/** Resolves with what was measured; undefined where the user ended it. */
async function dryRun(app: App, argument: unknown): Promise<Measured | undefined> {
  mustBeTrusted('A dry run');
  const config = await askedConfig(app, argument, 'Configuration to try');
  if (config === undefined) return undefined;
  await saved(config);
  const text = readFileSync(config, 'utf8');
  const name = basename(config, CONFIG_SUFFIX);
  const args = ['train', config, '--dry-run', '--json'];
  const outcome = await askProgram(app, `${COMMANDS.dryRun.title} of ${name}`, args);
  if (outcome === undefined) return undefined;
  const measured = readDryRun(outcome);
  await app.dryRuns.remember(config, dryRunOf(measured, text, new Date()));
  const said = `${name}: ${measuredText(measured)}`;
  app.log.info(said);
  inBackground(app.log, COMMANDS.dryRun.title, offer(said, 'launchRun', vscode.Uri.file(config)));
  return measured;
}

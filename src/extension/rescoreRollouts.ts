/** Scores a run's stored trajectories under other reward settings, and shows what would have changed. Knows nothing of how rewards are found. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Rescored } from '../core/rescore.ts';
import { FailureError } from '../core/types.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { askProgram } from './asking.ts';
import type { Link as CommandLink } from './linkedTexts.ts';
import { COMMANDS, type CommandName } from './names.ts';
import { runOf } from './pickers.ts';
import { layOutRescored, rewardTemplate, type Link } from './rescoreText.ts';
import { targetOf } from './target.ts';
import { mustBeTrusted } from './trust.ts';

const TITLE = COMMANDS.rescoreRollouts.title.replace('…', '');

export const RESCORE_COMMANDS = {
  rescoreRollouts,
  useDraft: (app: App, argument: unknown) =>
    app.drafts.use(argument instanceof vscode.Uri ? argument : undefined),
} satisfies Partial<Record<CommandName, (app: App, argument: unknown) => Promise<unknown>>>;

/** Asks for the steps, then for the settings in a text of their own; whoever names a file of settings is asked nothing. */
async function rescoreRollouts(app: App, argument: unknown): Promise<Rescored | undefined> {
  mustBeTrusted('Scoring again');
  const { steps: saidSteps, rewardFile } = (argument ?? {}) as { steps?: unknown; rewardFile?: unknown };
  const runFolder = await runOf(app, targetOf(argument), TITLE);
  if (runFolder === undefined) return undefined;
  const steps = typeof saidSteps === 'string' ? saidSteps : await askSteps(runFolder);
  if (steps === undefined) return undefined;
  if (typeof rewardFile === 'string') return rescored(app, runFolder, steps, rewardFile);
  const run = basename(runFolder);
  const template = rewardTemplate(run, openRun(runFolder).manifest.config.reward);
  await app.drafts.open(`${run}.reward.jsonc`, template, {
    title: `Score ${steps === 'all' ? 'All Stored Steps' : `Steps ${steps}`} of ${run} Again`,
    // Below the first line, which says what this is.
    line: 1,
    use: file => rescored(app, runFolder, steps, file),
  });
  return undefined;
}

/** Steps that are asked for at once in a long run. */
const MANY = 200;

async function askSteps(runFolder: string): Promise<string | undefined> {
  const steps = (await openRun(runFolder).trees()).map(({ step }) => step);
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined)
    throw new FailureError({ where: 'store', message: `${basename(runFolder)} has no stored trees yet.` });
  return vscode.window.showInputBox({
    title: `${TITLE}: steps of ${basename(runFolder)}`,
    prompt: `Trees of steps ${first} to ${last} are stored. Write A-B, one step, or all.`,
    value: last - first < MANY ? 'all' : `${last - MANY + 1}-${last}`,
    validateInput: text =>
      /^(all|\d+(-\d+)?)$/.test(text.trim()) ? undefined : 'Write A-B, such as 10-20, one step, or all.',
  });
}

async function rescored(
  app: App,
  runFolder: string,
  steps: string,
  file: string,
): Promise<Rescored | undefined> {
  const run = basename(runFolder);
  const args = ['rescore', runFolder, `--reward=${file}`, `--steps=${steps.trim()}`, '--json'];
  const outcome = await askProgram(app, `Scoring ${run} again`, args);
  if (outcome === undefined) return undefined;
  const found = JSON.parse(outcome) as Rescored;
  const { text, links } = layOutRescored(run, found);
  await app.rescores.show(
    { path: `/${run}/${run} re-scored`, query: runFolder },
    { text, links: links.map(link => commandLink(runFolder, link)) },
  );
  // One line a group, until the reader wants its trajectories.
  await vscode.commands.executeCommand('editor.foldAll');
  return found;
}

const commandLink = (runFolder: string, { tree, path, ...place }: Link): CommandLink => ({
  ...place,
  command: path === undefined ? 'openTree' : 'openTrajectory',
  argument: { runFolder, tree, path },
  tooltip: path === undefined ? `Open tree ${tree}` : 'Open the trajectory as text',
});

/** Commands on evaluations: make one, open its report, export it as a page. Knows nothing of how weights are measured or reports drawn. */
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { evaluationReport } from '../core/evaluationReport.ts';
import { reportPage } from '../core/reportPage.ts';
import type { EvaluationPlace } from '../protocol/verbs.ts';
import { evaluationIds } from '../run/evaluations.ts';
import { noEvaluation } from './absent.ts';
import type { App } from './app.ts';
import { cancellable } from './asking.ts';
import { readReported } from './evaluationPanel.ts';
import { inBackground, tell, tellAbsence } from './failures.ts';
import { COMMANDS } from './names.ts';
import { checkpointFolder, choose, pickCheckpoint, runOf } from './pickers.ts';
import { accuracyOf, short } from './rows.ts';
import { targetOf, type Target } from './target.ts';
import { mustBeTrusted } from './trust.ts';
import { evaluate } from './workers.ts';

export const EVALUATION_COMMANDS = {
  evaluateCheckpoint,
  openEvaluation: async (app: App, argument: unknown) => {
    const place = await evaluationOf(app, targetOf(argument), COMMANDS.openEvaluation.title);
    const { against } = targetOf(argument);
    if (place !== undefined) app.panels.show('evaluation', { ...place, ...(against && { against }) });
    return place;
  },
  exportEvaluation,
} as const;

async function evaluateCheckpoint(app: App, argument: unknown): Promise<unknown> {
  mustBeTrusted('An evaluation');
  const target = targetOf(argument);
  const runFolder = await runOf(app, target, COMMANDS.evaluateCheckpoint.title);
  const checkpoint =
    runFolder === undefined ? undefined : (target.checkpoint ?? (await pickCheckpoint(app, runFolder)));
  if (runFolder === undefined || checkpoint === undefined) return undefined;
  const name = `${basename(runFolder)} ${checkpoint}`;
  const measured = await cancellable(`Evaluating ${name} on the held-out tasks`, async (signal, progress) => {
    progress.report({ message: 'opening the policy' });
    let told = 0;
    const tell = (done: number, tasks: number): void => {
      progress.report({ message: `${done}/${tasks} tasks`, increment: (100 * (done - told)) / tasks });
      told = done;
    };
    return evaluate(app.program(), checkpointFolder(runFolder, checkpoint), signal, tell);
  });
  if (measured === undefined) return undefined;
  await app.runs.refresh();
  app.log.info(
    `${name}: accuracy ${accuracyOf(measured)} on ${measured.tasks} tasks, ${measured.samples} samples each.`,
  );
  app.panels.show('evaluation', { runFolder, evaluation: measured.id });
  return measured;
}

/** The evaluation that a command is about: what it was told, else the user's choice. */
export async function evaluationOf(
  app: App,
  target: Target,
  title: string,
): Promise<EvaluationPlace | undefined> {
  const runFolder = await runOf(app, target, title);
  if (runFolder === undefined) return undefined;
  const evaluation = target.evaluation ?? (await pickEvaluation(app, runFolder, title));
  return evaluation === undefined ? undefined : { runFolder, evaluation };
}

/** Newest first; what the journal does not tell of has its name only. */
async function pickEvaluation({ runs }: App, runFolder: string, title: string): Promise<string | undefined> {
  const ids = evaluationIds(runFolder).toReversed();
  if (ids.length === 0) {
    await tellAbsence(noEvaluation(runFolder));
    return undefined;
  }
  const { evaluations } = await runs.state(runFolder);
  const choices = ids.map(id => {
    const told = evaluations.find(({ summary }) => summary.id === id)?.summary;
    return {
      label: `$(checklist) ${id}`,
      description:
        told === undefined ? '' : `${short(told.accuracy)} on ${told.tasks} tasks of ${told.dataset}`,
      value: id,
    };
  });
  return choose(title, choices);
}

const OPEN = 'Open in Browser';

/** Writes where the user says; a file's URI as the second argument is not asked for again. Resolves with the path. */
async function exportEvaluation(app: App, argument: unknown, file?: unknown): Promise<string | undefined> {
  const target = targetOf(argument);
  const place = await evaluationOf(app, target, COMMANDS.exportEvaluation.title);
  if (place === undefined) return undefined;
  const name = `${basename(place.runFolder)}-${place.evaluation}.html`;
  const to =
    file instanceof vscode.Uri
      ? file
      : await vscode.window.showSaveDialog({
          title: COMMANDS.exportEvaluation.title,
          defaultUri: vscode.Uri.file(join(dirname(place.runFolder), name)),
          filters: { HTML: ['html'] },
        });
  if (to === undefined) return undefined;
  const { against } = target;
  const [of, other] = await Promise.all([readReported(place), against && readReported(against)]);
  await writeFile(to.fsPath, reportPage(evaluationReport(of, other), of.record, other?.record));
  const asked = tell(`The report is in ${to.fsPath}.`, OPEN);
  inBackground(
    app.log,
    COMMANDS.exportEvaluation.title,
    asked.then(answer => (answer === OPEN ? vscode.env.openExternal(to) : undefined)),
  );
  return to.fsPath;
}

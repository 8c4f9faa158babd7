/** What the view of an evaluation is answered. Reads records; knows nothing of panels or pages. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { evaluationReport, nameOf } from '../core/evaluationReport.ts';
import type { Reported } from '../core/report.ts';
import { FailureError } from '../core/types.ts';
import type { Handlers } from '../protocol/channel.ts';
import type { EvaluationPlace, EvaluationVerbs, ViewSubject } from '../protocol/verbs.ts';
import { evaluationIds, readEvaluation } from '../run/evaluations.ts';
import { readLabel } from '../run/label.ts';
import { commandId } from './names.ts';
import { sampleUri } from './evaluationSamples.ts';

/** The subject of an open view, which its verbs may change. */
export interface Held {
  readonly subject: ViewSubject;
  change(subject: ViewSubject): void;
}

/** Throws a FailureError where the folder is no run or has no such evaluation. */
export const readReported = async ({ runFolder, evaluation }: EvaluationPlace): Promise<Reported> => ({
  run: (await readLabel(runFolder)).label ?? basename(runFolder),
  record: await readEvaluation(runFolder, evaluation),
});

function placeOf({ runFolder, evaluation }: ViewSubject): EvaluationPlace {
  if (evaluation !== undefined) return { runFolder, evaluation };
  throw new FailureError({ where: 'bug', message: 'This view was not told which evaluation it shows.' });
}

/** `choose` asks the user for an evaluation of any run. */
export function evaluationVerbs(
  held: Held,
  choose: () => Promise<EvaluationPlace | undefined>,
): Handlers<EvaluationVerbs> {
  const setAgainst = (place: EvaluationPlace | undefined): void => {
    const { against: _, ...subject } = held.subject;
    held.change({ ...subject, ...(place && { against: place }) });
  };
  return {
    async evaluation() {
      const place = placeOf(held.subject);
      const { against } = held.subject;
      const [of, other] = await Promise.all([readReported(place), against && readReported(against)]);
      const others = evaluationIds(place.runFolder)
        .filter(id => id !== place.evaluation)
        .map(id => ({ label: id, place: { runFolder: place.runFolder, evaluation: id } }));
      if (other && against && against.runFolder !== place.runFolder)
        others.push({ label: nameOf(other), place: against });
      return { report: evaluationReport(of, other), others, ...(against && { against }) };
    },
    setAgainst,
    async chooseAgainst() {
      const place = await choose();
      if (place !== undefined) setAgainst(place);
      return place !== undefined;
    },
    async openSample({ task, trajectory }) {
      const document = await vscode.workspace.openTextDocument(
        sampleUri(placeOf(held.subject), task, trajectory),
      );
      await vscode.window.showTextDocument(document, { preview: true });
    },
    async openFlip({ task, trajectory, otherTask, otherTrajectory }) {
      const { against } = held.subject;
      if (against === undefined) return;
      await vscode.commands.executeCommand(
        'vscode.diff',
        sampleUri(against, otherTask, otherTrajectory),
        sampleUri(placeOf(held.subject), task, trajectory),
        `Task ${task + 1}: ${against.evaluation} ↔ ${held.subject.evaluation ?? ''}`,
      );
    },
    exportEvaluation: async () =>
      void (await vscode.commands.executeCommand(commandId('exportEvaluation'), held.subject)),
  };
}

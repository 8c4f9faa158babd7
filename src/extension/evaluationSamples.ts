/** Samples of evaluations as read-only documents. Knows nothing of who opens them. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { sampleText } from '../core/sampleText.ts';
import { visible, wrap } from '../core/wrap.ts';
import type { EvaluationPlace } from '../protocol/verbs.ts';
import { readEvaluation } from '../run/evaluations.ts';
import { SAMPLE, SAMPLE_SUFFIX } from './names.ts';
import { LINE_WIDTH } from './trajectoryText.ts';

/** A trajectory of a task of an evaluation. */
interface Shown {
  place: EvaluationPlace;
  task: number;
  trajectory: number;
}

/** The path is for people (it is the editor's title); the query says what the document is. */
export function sampleUri(place: EvaluationPlace, task: number, trajectory: number): vscode.Uri {
  const { runFolder, evaluation } = place;
  const name = `${basename(runFolder)} ${evaluation} task ${task + 1} trajectory ${trajectory}`;
  const shown: Shown = { place: { runFolder, evaluation }, task, trajectory };
  return vscode.Uri.from({
    scheme: SAMPLE,
    path: `/${name}${SAMPLE_SUFFIX}`,
    query: JSON.stringify(shown),
  });
}

/** Documents of the scheme, read when they are opened. */
export const registerSamples = (): vscode.Disposable =>
  vscode.workspace.registerTextDocumentContentProvider(SAMPLE, {
    provideTextDocumentContent: ({ query }) => textOf(JSON.parse(query) as Shown),
  });

async function textOf({ place, task, trajectory }: Shown): Promise<string> {
  const record = await readEvaluation(place.runFolder, place.evaluation);
  return wrap(visible(sampleText(record, task, trajectory)), LINE_WIDTH).text;
}

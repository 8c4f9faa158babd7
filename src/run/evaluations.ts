/** Evaluations of a run on disk: one file each, with the outcome of every task. Knows nothing of how they are made or shown. */
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import type {
  EvaluationRecord,
  Provenance,
  SamplePiece,
  TaskOutcome,
  TrajectoryOutcome,
} from '../core/evaluation.ts';
import { FailureError } from '../core/types.ts';
import { makeFolder, removeInterrupted, writeAtomically, writeNew } from './disk.ts';
import { evaluationSummary } from './eventShape.ts';
import { FILES } from './layout.ts';
import {
  count,
  list,
  number,
  oneOf,
  optional,
  parseLine,
  record,
  table,
  text,
  yes,
  type Shape,
} from './shape.ts';
import { answeredCall, stopReason } from './treeShape.ts';
import { pathFrom } from './manifest.ts';

const piece = record<SamplePiece>({
  kind: oneOf('model', 'tool', 'forced'),
  length: count,
  tokens: count,
  call: optional(answeredCall),
});

const trajectory = record<TrajectoryOutcome>({
  greedy: yes,
  correct: yes,
  reward: number,
  answer: optional(text),
  calls: count,
  reason: text,
  text,
  stop: optional(stopReason),
  parts: optional(table(number)),
  pieces: optional(list(piece)),
});

const outcome = record<TaskOutcome>({
  task: text,
  question: text,
  references: list(text),
  ability: text,
  prompt: optional(text),
  trajectories: list(trajectory),
});

const provenance = record<Provenance>({
  at: text,
  command: optional(text),
  weights: record<Provenance['weights']>({ folder: text, hash: text }),
  dataset: record<Provenance['dataset']>({ path: text, hash: text }),
  templateHash: optional(text),
  seed: count,
  temperature: number,
  maxResponseTokens: count,
  tools: list(text),
  cache: oneOf('off', 'on'),
  cassette: oneOf('off', 'record', 'replay', 'replay-or-record'),
  reward: text,
  isModule: optional(yes),
  versions: table(text),
});

const evaluation: Shape<EvaluationRecord> = record<EvaluationRecord>({
  summary: evaluationSummary,
  outcomes: list(outcome),
  provenance: optional(provenance),
});

const fileOf = (runFolder: string, id: string): string => join(runFolder, FILES.evaluations, `${id}.json`);

export const hasEvaluation = (runFolder: string, id: string): boolean => fs.existsSync(fileOf(runFolder, id));

/** Names of a run's evaluations, by step and then as they were made; none where it has none. */
export function evaluationIds(runFolder: string): string[] {
  const folder = join(runFolder, FILES.evaluations);
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** Throws a FailureError where there is no such evaluation, or its file is not one. */
export async function readEvaluation(runFolder: string, id: string): Promise<EvaluationRecord> {
  const path = fileOf(runFolder, id);
  if (!hasEvaluation(runFolder, id))
    throw new FailureError({
      where: 'store',
      message: `${runFolder} has no evaluation ${id}.`,
      fix: `It has ${evaluationIds(runFolder).join(', ') || 'none yet'}.`,
    });
  const line = { text: await fs.promises.readFile(path, 'utf8'), offset: 0 };
  return placed(evaluation(parseLine(line, path), path), stored => resolve(runFolder, stored));
}

/** Keeps the summary and what became of every task; in place of what has the same name, for a run does a step's evaluation again. */
export function writeEvaluation(runFolder: string, made: EvaluationRecord): void {
  writeAtomically(pathFor(runFolder, made.summary.id), textOf(runFolder, made));
}

/**
 * The same of an evaluation that was asked for by hand: keeps it beside what is there, under the first name that is free when it is done,
 * for another of the same step may have been made meanwhile. Returns it as it was kept.
 */
export function addEvaluation(runFolder: string, step: number, made: EvaluationRecord): EvaluationRecord {
  for (let n = 1; ; n++) {
    const named = { ...made, summary: { ...made.summary, id: `step-${step}-again-${n}` } };
    if (hasEvaluation(runFolder, named.summary.id)) continue;
    try {
      writeNew(pathFor(runFolder, named.summary.id), textOf(runFolder, named));
      return named;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Paths are relative to the run folder, as the manifest's are, so that a project can be moved as a whole. */
const textOf = (runFolder: string, made: EvaluationRecord): string =>
  `${JSON.stringify(placed(made, path => pathFrom(runFolder, path)))}\n`;

function placed(made: EvaluationRecord, change: (path: string) => string): EvaluationRecord {
  const { provenance } = made;
  if (provenance === undefined) return made;
  const weights = { ...provenance.weights, folder: change(provenance.weights.folder) };
  const dataset = { ...provenance.dataset, path: change(provenance.dataset.path) };
  const reward = provenance.isModule ? change(provenance.reward) : provenance.reward;
  return { ...made, provenance: { ...provenance, weights, dataset, reward } };
}

/** Where an evaluation of that name lies, in a folder that is there and holds nothing that killed processes left. */
function pathFor(runFolder: string, id: string): string {
  const folder = join(runFolder, FILES.evaluations);
  makeFolder(folder);
  removeInterrupted(folder);
  return fileOf(runFolder, id);
}

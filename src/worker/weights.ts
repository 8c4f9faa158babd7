/** Finds weights that a run began with or saved, by name or by step, whole as they were written. Knows nothing of what is done with them. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { FailureError, refusal } from '../core/types.ts';
import { listCheckpoints, verifyCheckpoint } from '../run/checkpoint.ts';
import { isInputUnchanged } from '../run/create.ts';
import { CHECKPOINT_FILES, FILES, checkpointName } from '../run/layout.ts';
import type { Manifest } from '../run/manifest.ts';
import type { Run } from '../run/reader.ts';

export interface Weights {
  /** `initial`, or the name of a checkpoint. */
  checkpoint: string;
  step: number;
  /** In Hugging Face layout. */
  folder: string;
}

/**
 * Those that are named, or the newest that are whole; the policy that the run began with where it has none. Rejects with a FailureError
 * where they are not there, or not as they were.
 */
export async function weightsOf({ folder, manifest }: Run, named: string | undefined): Promise<Weights> {
  if (named === 'initial') return initialWeights(manifest);
  const all = listCheckpoints(folder).map(name => basename(name));
  if (named !== undefined) {
    const name = /^\d+$/.test(named.replace(/^step-/, ''))
      ? checkpointName(Number(named.replace(/^step-/, '')))
      : named;
    if (!all.includes(name))
      throw refusal(`${folder} has no checkpoint ${name}.`, `Name ${[...all, 'initial'].join(', ')}.`);
    return checkpointWeights(folder, name);
  }
  const passed: string[] = [];
  for (const name of all.toReversed())
    try {
      return await checkpointWeights(folder, name);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      passed.push(error.message);
    }
  return initialWeights(manifest, passed.join(' '));
}

/**
 * Those that a step's trees were drawn with: what the step before it left, or the policy that the run began with. Rejects with a
 * FailureError that names the steps whose weights were kept.
 */
export async function weightsBefore(run: Run, step: number): Promise<Weights> {
  const { folder, manifest } = run;
  if (step > 1) {
    const name = checkpointName(step - 1);
    if (listCheckpoints(folder).some(path => basename(path) === name)) return checkpointWeights(folder, name);
    throw refusal(
      `The weights that step ${step} of ${basename(folder)} was drawn with, those after step ${step - 1}, were not kept. ${await replayable(run)}`,
      'Train with checkpoint.every 1 and checkpoint.keepEvery 1 to keep the weights of every step.',
    );
  }
  return initialWeights(manifest);
}

/** Steps whose trees and weights are both there. */
async function replayable(run: Run): Promise<string> {
  const saved = new Set(listCheckpoints(run.folder).map(path => basename(path)));
  const stored = [...new Set((await run.trees()).map(({ step }) => step))];
  const { path } = run.manifest.config.policy;
  const steps = stored.filter(step => (step === 1 ? existsSync(path) : saved.has(checkpointName(step - 1))));
  return steps.length === 0
    ? 'None of its steps can be drawn again.'
    : `Steps that can be drawn again: ${ranges(steps)}.`;
}

/** Ranges that a sentence names. */
const NAMED = 20;

/** `1, 3-7, 9`, of ascending numbers. */
function ranges(steps: readonly number[]): string {
  const found: [number, number][] = [];
  for (const step of steps) {
    const last = found.at(-1);
    if (last?.[1] === step - 1) last[1] = step;
    else found.push([step, step]);
  }
  const named = found.slice(0, NAMED).map(([from, to]) => (from === to ? from : `${from}-${to}`));
  const rest = found.length - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** Its optimiser's state may be gone: only the weights are needed. */
async function checkpointWeights(runFolder: string, name: string): Promise<Weights> {
  const folder = join(runFolder, FILES.checkpoints, name);
  try {
    const { state } = await verifyCheckpoint(folder, [CHECKPOINT_FILES.optimizer]);
    return { checkpoint: name, step: state.step, folder };
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    throw new FailureError({ ...error.failure, message: `${folder}: ${error.message}` });
  }
}

/** `passed`: what is wrong with the checkpoints that were looked at before; absent where none was. */
async function initialWeights(manifest: Manifest, passed?: string): Promise<Weights> {
  const folder = manifest.config.policy.path;
  if (!existsSync(folder)) {
    const gone = `policy that the run began with is not at ${folder} any more.`;
    const why = passed === '' ? 'There is no checkpoint' : `No checkpoint can be used (${passed})`;
    throw refusal(
      passed === undefined ? `The ${gone}` : `${why}, and the ${gone}`,
      'Put the policy back, or use a run that keeps a checkpoint.',
    );
  }
  if (await isInputUnchanged(manifest, 'policy')) return { checkpoint: 'initial', step: 0, folder };
  throw refusal(
    `The policy in ${folder} is not the one that the run began with: its hash differs.`,
    'Put the folder back as it was, or use a checkpoint.',
  );
}

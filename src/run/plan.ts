/** Reckons what a config will make of a step: trajectories, updates, epochs, memory. Knows nothing of data or tools. */
import * as fs from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { ok, warning, wrong, type CheckResult } from '../core/checkup.ts';
import type { Config } from '../core/config.ts';
import { estimate, residentBytes } from '../core/modelMemory.ts';
import { parameterCount, readShape, type ModelShape } from '../core/modelShape.ts';
import { sizeText } from './usage.ts';

export function checkArithmetic({ steps, rollout, algorithm }: Config, tasks: number): CheckResult[] {
  const { tasksPerStep, groupSize, initialRollouts } = rollout;
  const trajectories = tasksPerStep * groupSize;
  const updates = algorithm.updatesPerStep;
  const epochs = (steps * tasksPerStep) / Math.max(1, tasks);
  const sentence = `${tasksPerStep} tasks × ${groupSize} trajectories (${initialRollouts} from the prompt) = ${trajectories} a step, in ${updates} ${updates === 1 ? 'update' : 'updates'} of about ${Math.round(trajectories / updates)}; ${steps} steps read the tasks ${epochs.toFixed(2)} times.`;
  const results = [ok('batch', sentence)];
  if (tasks < tasksPerStep)
    results.push(
      warning(
        'batch',
        `A step takes ${tasksPerStep} tasks, but there are ${tasks}: tasks repeat within a step.`,
        {
          key: 'rollout.tasksPerStep',
          fix: 'Lower rollout.tasksPerStep, or give more tasks.',
        },
      ),
    );
  return results;
}

/** The shape that the policy's config.json gives. */
export const shapeOf = (folder: string): ModelShape =>
  readShape(JSON.parse(fs.readFileSync(join(folder, 'config.json'), 'utf8')));

/** Bytes that training takes at its peak on one longest trajectory, with its activations kept or computed again. */
export function memoryOf(
  shape: ModelShape,
  { maxPromptTokens, maxResponseTokens }: Pick<Config['rollout'], 'maxPromptTokens' | 'maxResponseTokens'>,
): { rows: number; kept: number; least: number } {
  const rows = maxPromptTokens + maxResponseTokens;
  const size = { rows, keysPerRow: rows };
  return { rows, kept: estimate(shape, size, true), least: estimate(shape, size, false) };
}

/** Bytes that training may use. */
export const memoryLimit = ({ memoryMB }: Pick<Config, 'memoryMB'>): number =>
  memoryMB === 0 ? 0.75 * totalmem() : memoryMB * 1024 * 1024;

/** Whether one longest trajectory fits, with its activations kept or computed again. */
export function checkMemory(shape: ModelShape, { rollout }: Config, limitBytes: number): CheckResult[] {
  const { rows, kept, least } = memoryOf(shape, rollout);
  const what = `${(parameterCount(shape) / 1e6).toFixed(1)} million parameters take ${sizeText(residentBytes(shape, true))} with gradient and moments; a trajectory of ${rows} tokens makes it ${sizeText(kept)}, or ${sizeText(least)} with activations computed again; ${sizeText(limitBytes)} may be used`;
  if (least > limitBytes)
    return [
      wrong('memory', `${what}: it does not fit.`, {
        key: 'memoryMB',
        fix: 'Lower rollout.maxResponseTokens, allow more in memoryMB, or take a smaller policy.',
      }),
    ];
  if (kept > limitBytes)
    return [
      warning('memory', `${what}: activations of the longest trees are computed again.`, {
        key: 'memoryMB',
        fix: 'It trains, a third slower; nothing need be done.',
      }),
    ];
  return [ok('memory', `${what}.`)];
}

/** The most response tokens with which one longest trajectory fits; undefined where not even one does. */
export function mostResponseTokens(
  shape: ModelShape,
  { rollout }: Config,
  limitBytes: number,
): number | undefined {
  const { maxPromptTokens } = rollout;
  const fits = (maxResponseTokens: number): boolean =>
    maxPromptTokens + maxResponseTokens <= shape.contextLength &&
    memoryOf(shape, { maxPromptTokens, maxResponseTokens }).least <= limitBytes;
  let [most, tooMany] = [0, rollout.maxResponseTokens + 1];
  // The estimate grows with the tokens.
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (fits(middle)) most = middle;
    else tooMany = middle;
  }
  return most === 0 ? undefined : most;
}

/** Whether the longest trajectory fits the model's context. */
export function checkContext({ contextLength }: ModelShape, { rollout }: Config): CheckResult[] {
  const most = rollout.maxPromptTokens + rollout.maxResponseTokens;
  if (most <= contextLength)
    return [
      ok('context', `Trajectories have at most ${most} tokens; the policy was made for ${contextLength}.`),
    ];
  return [
    wrong('context', `Trajectories may have ${most} tokens, but the policy was made for ${contextLength}.`, {
      key: 'rollout.maxResponseTokens',
      fix: `Set rollout.maxResponseTokens to at most ${Math.max(1, contextLength - rollout.maxPromptTokens)}.`,
    }),
  ];
}

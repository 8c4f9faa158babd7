/** Reckons what a config will make of a step: trajectories, updates, epochs, memory. Knows nothing of data or tools. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { ok, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { Config } from '../../core/config.ts';
import { sizeText } from '../../run/usage.ts';
import { estimate, residentBytes } from '../policy/embedded/memory.ts';
import { parameterCount, readShape, type ModelShape } from '../policy/embedded/shape.ts';

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

/** Whether one longest trajectory fits, with its activations kept or computed again. */
export function checkMemory(shape: ModelShape, { rollout }: Config, limitBytes: number): CheckResult[] {
  const rows = rollout.maxPromptTokens + rollout.maxResponseTokens;
  const kept = estimate(shape, { rows, keysPerRow: rows }, true);
  const least = estimate(shape, { rows, keysPerRow: rows }, false);
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

/** Whether the longest trajectory fits the model's context. */
export function checkContext({ contextLength }: ModelShape, { rollout }: Config): CheckResult[] {
  const most = rollout.maxPromptTokens + rollout.maxResponseTokens;
  if (most <= contextLength)
    return [
      ok('context', `Trajectories have at most ${most} tokens; the policy was made for ${contextLength}.`),
    ];
  return [
    warning(
      'context',
      `Trajectories may have ${most} tokens, but the policy was made for ${contextLength}.`,
      {
        key: 'rollout.maxResponseTokens',
        fix: `Set rollout.maxResponseTokens to at most ${Math.max(1, contextLength - rollout.maxPromptTokens)}.`,
      },
    ),
  ];
}

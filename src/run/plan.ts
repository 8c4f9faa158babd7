/** Reckons what a config will make of a step: trajectories, updates, epochs, memory. Knows nothing of data or tools. */
import * as fs from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { ok, warning, wrong, type CheckResult } from '../core/checkup.ts';
import type { Config } from '../core/config.ts';
import { whole } from '../core/figures.ts';
import { estimate, packSizeOf, residentBytes } from '../core/modelMemory.ts';
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

/** What training at once takes at its peak, in bytes. */
export interface TrainingMemory {
  /** Tokens of the largest pack: trees are packed whole. */
  tokens: number;
  /** With all activations kept, and with all computed again. */
  kept: number;
  again: number;
  /** One longest trajectory alone, its activations computed again: less never is. */
  least: number;
}

/** The memory of a mini-batch whose trees are all as large as they may be, which few are. */
export function memoryOf(
  shape: ModelShape,
  { rollout, algorithm }: Pick<Config, 'rollout' | 'algorithm'>,
): TrainingMemory {
  const { maxPromptTokens, maxResponseTokens, groupSize, tasksPerStep } = rollout;
  const longest = maxPromptTokens + maxResponseTokens;
  const treeTokens = maxPromptTokens + groupSize * maxResponseTokens;
  const tokens = treeTokens * Math.ceil(tasksPerStep / algorithm.updatesPerStep);
  const largest = packSizeOf({ tokens, treeTokens, longest });
  const alone = packSizeOf({ tokens: longest, treeTokens: longest, longest });
  return {
    tokens: largest.rows,
    kept: estimate(shape, largest, true),
    again: estimate(shape, largest, false),
    least: estimate(shape, alone, false),
  };
}

/** Bytes that training may use. */
export const memoryLimit = ({ memoryMB }: Pick<Config, 'memoryMB'>): number =>
  memoryMB === 0 ? 0.75 * totalmem() : memoryMB * 1024 * 1024;

/** Whether whole trees fit, with their activations kept or computed again; at least one longest trajectory must. */
export function checkMemory(shape: ModelShape, config: Config, limitBytes: number): CheckResult[] {
  const memory = memoryOf(shape, config);
  const what = `${(parameterCount(shape) / 1e6).toFixed(1)} million parameters take ${sizeText(residentBytes(shape, true))} with gradient and moments; trees are trained whole, and up to ${whole(memory.tokens)} tokens at once make it ${sizeText(memory.kept)}; ${sizeText(limitBytes)} may be used`;
  if (memory.kept <= limitBytes) return [ok('memory', `${what}.`)];
  const again = `with activations computed again it is ${sizeText(memory.again)}`;
  if (memory.again <= limitBytes) {
    const fix = 'It trains, a third slower; nothing need be done.';
    return [warning('memory', `${what}; ${again}, as the largest trees then are.`, { key: 'memoryMB', fix })];
  }
  const fix =
    'Lower rollout.maxResponseTokens or rollout.groupSize, allow more in memoryMB, or take a smaller policy.';
  if (memory.least <= limitBytes) {
    const sentence = `${what}; ${again}: trees as large as they may be do not fit, smaller ones do.`;
    return [warning('memory', sentence, { key: 'memoryMB', fix })];
  }
  const longest = config.rollout.maxPromptTokens + config.rollout.maxResponseTokens;
  const alone = `one trajectory of ${whole(longest)} tokens alone takes ${sizeText(memory.least)}`;
  return [wrong('memory', `${what}; ${alone}: it does not fit.`, { key: 'memoryMB', fix })];
}

/** The most response tokens with which one longest trajectory fits; undefined where not even one does. */
export function mostResponseTokens(
  shape: ModelShape,
  { rollout, algorithm }: Config,
  limitBytes: number,
): number | undefined {
  const { maxPromptTokens } = rollout;
  const fits = (maxResponseTokens: number): boolean =>
    maxPromptTokens + maxResponseTokens <= shape.contextLength &&
    memoryOf(shape, { rollout: { ...rollout, maxResponseTokens }, algorithm }).least <= limitBytes;
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

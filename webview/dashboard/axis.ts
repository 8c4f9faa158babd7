/** Where a step lies on the x axis, by what the axis counts. Knows nothing of charts. */
import type { FinishedStep } from '../../src/core/fold.ts';
import { glance } from '../../src/core/stepColumns.ts';
import { indexAt } from '../charts/plot.ts';
import { duration } from '../shared/format.ts';

export type Scale = 'step' | 'tokens' | 'calls' | 'time';

export const SCALES: Record<Scale, { label: string; meaning: string }> = {
  step: { label: 'Step', meaning: 'Optimiser steps' },
  tokens: { label: 'Tokens', meaning: 'Tokens drawn by the policy so far (Σ summary.tokens.sampled)' },
  calls: { label: 'Tool calls', meaning: 'Tool calls made so far (Σ summary.toolCalls.total)' },
  time: {
    label: 'Time',
    meaning: 'Time spent in steps so far, pauses left out (Σ summary.seconds.total)',
  },
};

/** What the steps can be laid out by: what none of them logged cannot be counted. */
export const scalesOf = (steps: readonly FinishedStep[]): ReadonlySet<Scale> =>
  new Set<Scale>([
    'step',
    'calls',
    ...(steps.some(step => glance(step).tokens !== undefined) ? (['tokens'] as const) : []),
    ...(steps.some(step => glance(step).seconds !== undefined) ? (['time'] as const) : []),
  ]);

/** Running totals behind each step, in columns of the same length. */
export interface Axis {
  steps: number[];
  tokens: number[];
  calls: number[];
  time: number[];
}

/** [step] places of the finished steps. */
export const xsOf = (axis: Axis, scale: Scale): readonly number[] =>
  scale === 'step' ? axis.steps : axis[scale];

export const emptyAxis = (): Axis => ({ steps: [], tokens: [], calls: [], time: [] });

export function growAxis(axis: Axis, finished: FinishedStep): void {
  const summary = glance(finished);
  axis.steps.push(finished.step);
  axis.tokens.push((axis.tokens.at(-1) ?? 0) + (summary.tokens?.sampled ?? 0));
  axis.calls.push((axis.calls.at(-1) ?? 0) + summary.toolCalls.total);
  axis.time.push((axis.time.at(-1) ?? 0) + (summary.seconds?.total ?? 0));
}

/** The step's own place, or that of the last finished step before it; before the first, 0. */
export function xOf(axis: Axis, scale: Scale, step: number): number {
  if (scale === 'step') return step;
  const index = indexAt(axis.steps, step);
  return index < 0 ? 0 : axis[scale][index]!;
}

/** `33`, `1.2 M`, `3 min 20 s`. */
export function nameOf(scale: Scale, x: number): string {
  if (scale === 'time') return duration(x);
  if (scale === 'step') return Number.isInteger(x) ? String(x) : '';
  return compact(x);
}

/** A large count in few characters. */
export function compact(count: number): string {
  const [divisor, unit] =
    count >= 1e9 ? [1e9, ' G'] : count >= 1e6 ? [1e6, ' M'] : count >= 1e3 ? [1e3, ' k'] : [1, ''];
  const value = count / divisor;
  return `${Number(value.toFixed(value < 10 && divisor > 1 ? 1 : 0))}${unit}`;
}

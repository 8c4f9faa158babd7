/** What the last dry run of each configuration measured. Knows nothing of how one is done. */
import { createHash } from 'node:crypto';
import type { MeasuredSummary } from '../core/events.ts';
import { plain, whole } from '../core/figures.ts';
import { number, optional, record, type Shape } from '../run/shape.ts';

export interface DryRun {
  /** ISO 8601. */
  at: string;
  /** SHA-256 of the configuration's text. */
  hash: string;
  /** Of the step. */
  seconds: number;
  /** Of worker and engine together; absent where it was not measured. */
  bytes?: number;
  /** True where no update was made, because in no group rewards differed. */
  isIdle: boolean;
}

/** The part of a step's numbers that is told of a dry run. */
export type Measured = Pick<MeasuredSummary, 'trajectories' | 'seconds' | 'memory'> & {
  reward: Pick<MeasuredSummary['reward'], 'mean'>;
  branches: Pick<MeasuredSummary['branches'], 'asked' | 'taken'>;
  toolCalls: Pick<MeasuredSummary['toolCalls'], 'total' | 'errors'>;
  tokens: Pick<MeasuredSummary['tokens'], 'unique' | 'trained'>;
};

const shape: Shape<{ dryRun: Measured }> = record<{ dryRun: Measured }>({
  dryRun: record<Measured>({
    trajectories: number,
    seconds: record<Measured['seconds']>({ total: number, rollout: number, learn: number }),
    memory: optional(record<NonNullable<Measured['memory']>>({ worker: number, engine: optional(number) })),
    reward: record<Measured['reward']>({ mean: number }),
    branches: record<Measured['branches']>({ asked: number, taken: number }),
    toolCalls: record<Measured['toolCalls']>({ total: number, errors: number }),
    tokens: record<Measured['tokens']>({ unique: number, trained: number }),
  }),
});

/** Of the last line that `train --dry-run --json` printed. */
export const readDryRun = (answer: string): Measured =>
  shape(JSON.parse(answer), 'The dry run’s answer').dryRun;

const hashOfText = (text: string): string => createHash('sha256').update(text).digest('hex');

export function dryRunOf({ seconds, memory, tokens }: Measured, text: string, at: Date): DryRun {
  return {
    at: at.toISOString(),
    hash: hashOfText(text),
    seconds: seconds.total,
    isIdle: tokens.trained === 0,
    ...(memory !== undefined && { bytes: memory.worker + (memory.engine ?? 0) }),
  };
}

/** What is said when a dry run is done. */
export function measuredText({
  trajectories,
  seconds,
  reward,
  branches,
  toolCalls,
  tokens,
}: Measured): string {
  const failed = toolCalls.errors === 0 ? '' : ` (${toolCalls.errors} failed)`;
  const idle = tokens.trained > 0 ? '' : ' In no group rewards differed, so that no update was made.';
  return `one step took ${seconds.total.toFixed(1)} s (${seconds.rollout.toFixed(1)} s rollouts, ${seconds.learn.toFixed(1)} s learning): ${trajectories} trajectories, ${whole(tokens.unique)} tokens, ${branches.taken} of ${branches.asked} branchings taken, ${toolCalls.total} tool calls${failed}, mean reward ${plain(reward.mean, 2)}.${idle}`;
}

/** As of vscode.Memento. */
interface Memory {
  get<T>(key: string, fallback: T): T;
  update(key: string, value: unknown): PromiseLike<void>;
}

const KEY = 'dryRuns';

export class DryRuns {
  readonly #memory: Memory;
  readonly #listeners = new Set<() => void>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** As of vscode.Event. */
  onDidChange = (listener: () => void): { dispose(): void } => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  of(config: string, text: string): (DryRun & { isOfThisText: boolean }) | undefined {
    const known = this.#memory.get<Record<string, DryRun>>(KEY, {})[config];
    return known && { ...known, isOfThisText: known.hash === hashOfText(text) };
  }

  async remember(config: string, dryRun: DryRun): Promise<void> {
    await this.#memory.update(KEY, {
      ...this.#memory.get<Record<string, DryRun>>(KEY, {}),
      [config]: dryRun,
    });
    for (const listener of this.#listeners) listener();
  }
}

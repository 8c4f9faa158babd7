/** How the parts of a run are opened: which engine and tools, with which settings. Knows nothing of steps, facts or files. */
import { availableParallelism } from 'node:os';
import type { Config } from '../core/config.ts';
import type { Pieces } from '../core/pieces.ts';
import { closingTag } from '../core/tags.ts';
import { FailureError, type Failure } from '../core/types.ts';
import { memoryLimit } from '../run/plan.ts';
import { openDataset, type Dataset, type Reading } from './dataset.ts';
import { openEmbedded } from './policy/embedded/client.ts';
import type { OpenSettings, Policy, PolicyInfo } from './policy/policy.ts';
import type { RolloutTokenizer } from './rollout.ts';
import { openTokenizer } from './tokenizer.ts';
import { openTools } from './tools/open.ts';
import type { ToolPool } from './tools/tool.ts';
import { unlessAborted } from './unlessAborted.ts';

export interface OpenedPolicy {
  policy: Policy;
  info: PolicyInfo;
}

export interface RunTokenizer extends RolloutTokenizer {
  readonly pieces: Pieces;
  /** Paths of the files that belong into every checkpoint. */
  readonly files: readonly string[];
  /** Source of the chat template; absent where there is none. */
  readonly template?: string;
}

/** What opens the parts of a run; tests give others. */
export interface Equipment {
  /** Rejects, and leaves nothing open, where the signal is given before it is open. */
  openPolicy(settings: OpenSettings, signal?: AbortSignal): Promise<OpenedPolicy>;
  openTokenizer(folder: string): Promise<RunTokenizer>;
  openDataset(path: string, reading: Reading): Promise<Dataset>;
  /** `warn` is told of what goes wrong beside single calls. */
  openTools(config: Config, warn?: (failure: Failure) => void): Promise<ToolPool>;
}

/** `log` gets what engines write to their standard error and output. */
export const realEquipment = (log: (text: string) => void): Equipment => ({
  openPolicy: (settings, signal) => openEngine(settings, log, signal),
  openTokenizer,
  openDataset,
  // A run's paths are absolute already.
  openTools: (config, warn) => openTools(config, '/', warn),
});

async function openEngine(
  settings: OpenSettings,
  log: (text: string) => void,
  signal?: AbortSignal,
): Promise<OpenedPolicy> {
  const policy = await openEmbedded({ log });
  try {
    const opening = policy.open(settings);
    return { policy, info: await (signal ? unlessAborted(opening, signal, calledOff()) : opening) };
  } catch (error) {
    await policy.close();
    throw error;
  }
}

const calledOff = (): FailureError =>
  new FailureError({ where: 'policy', message: 'Opening the policy was called off.' });

/** What an engine is for: only training needs gradients; an evaluation runs beside the training and shares the machine. */
export type Purpose = 'training' | 'reference' | 'evaluation';

/** An engine's settings by what it is for. */
export function engineSettings(
  config: Config,
  purpose: Purpose,
  from: { folder: string; tokenizer: RunTokenizer; tags: readonly string[] },
): OpenSettings {
  const { rollout, device } = config;
  return {
    folder: from.folder,
    device: device === 'webgpu' ? 'webgpu' : 'cpu',
    threads: threadsOf(config, purpose),
    maxPathTokens: rollout.maxPromptTokens + rollout.maxResponseTokens,
    pieces: from.tokenizer.pieces,
    stops: from.tags.map(closingTag),
    endIds: from.tokenizer.endIds,
    trainable: purpose === 'training',
    memoryLimitBytes: memoryLimit(config),
  };
}

/** Engines that run at the same time share the cores: threads that wait for each other's core are slower than fewer. */
function threadsOf({ threads, evaluation }: Config, purpose: Purpose): number {
  const all = threads === 0 ? availableParallelism() : threads;
  const isShared = evaluation.tasks > 0 && (evaluation.before || evaluation.every > 0);
  if (!isShared) return all;
  return Math.max(1, purpose === 'evaluation' ? Math.floor(all / 2) : Math.ceil(all / 2));
}

/** What an evaluation is made with, so that two of them can be told apart. Reads files for their hashes; knows nothing of results. */
import { createHash } from 'node:crypto';
import type { Config } from '../core/config.ts';
import type { Provenance } from '../core/evaluation.ts';
import { hashFile, hashWeights } from '../run/checkpoint.ts';
import { timestamp } from '../run/clock.ts';

export interface Measuring {
  config: Config;
  /** Folder of the weights. */
  weights: string;
  /** SHA-256 of the tasks' file as it was read; absent where it was read only now. */
  tasksHash?: string | undefined;
  /** Source of the chat template. */
  template: string | undefined;
  /** Tags of the tools. */
  tools: readonly string[];
  versions: Readonly<Record<string, string>>;
  /** As it was given; absent where a run evaluates itself. */
  command?: string;
}

/** Rejects where the weights or the tasks cannot be read. */
export async function provenanceOf(measuring: Measuring): Promise<Provenance> {
  const { config, weights, template, tools, versions, command } = measuring;
  const { data, reward } = config;
  const { module, command: program } = reward.custom;
  const [weightsHash, tasksHash] = await Promise.all([
    hashWeights(weights),
    measuring.tasksHash ?? hashFile(data.heldOut),
  ]);
  return {
    at: timestamp(),
    ...(command !== undefined && { command }),
    weights: { folder: weights, hash: weightsHash },
    dataset: { path: data.heldOut, hash: tasksHash },
    ...(template !== undefined && { templateHash: createHash('sha256').update(template).digest('hex') }),
    seed: config.seed,
    temperature: config.rollout.temperature,
    maxResponseTokens: config.rollout.maxResponseTokens,
    tools,
    cache: config.tools.cache === '' ? 'off' : 'on',
    cassette: config.tools.cassette.mode,
    ...(module !== '' && { isModule: true }),
    reward: module !== '' ? module : program.length > 0 ? program.join(' ') : 'paper',
    versions,
  };
}

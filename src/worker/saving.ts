/** Saves a run's checkpoints, each once. Knows nothing of when one is due or of what is learned. */
import { basename, join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Fact } from '../core/events.ts';
import { pruneCheckpoints, saveCheckpoint, type Checkpoint } from '../run/checkpoint.ts';
import { elapsed } from '../run/clock.ts';
import { copy } from '../run/disk.ts';
import type { Journal } from '../run/journal.ts';
import type { RunTokenizer } from './equipment.ts';
import { keepsWeights, type Keeper } from './keeper.ts';
import type { Policy } from './policy/policy.ts';
import type { Control } from './status.ts';
import type { Training } from './train.ts';

export interface Saving {
  runFolder: string;
  config: Config;
  control: Control;
  journal: Journal;
  keeper: Keeper;
  policy: Policy;
  tokenizer: RunTokenizer;
  /** The checkpoint that the run went on from. */
  checkpoint: Checkpoint | undefined;
  tell(fact: Fact, step: number): void;
}

/** Saves what a step left, and drops the optimiser state of old checkpoints. */
export function saver({ runFolder, config, control, journal, tell, ...of }: Saving): Training['save'] {
  const { policy, tokenizer, keeper, checkpoint } = of;
  let last = checkpoint && { step: checkpoint.state.step, name: checkpoint.name };
  return async step => {
    if (last?.step === step) return last.name;
    const started = elapsed();
    control.phase('saving');
    // What the checkpoint stands on must be on the medium before it.
    keeper.sync();
    journal.sync();
    const state = {
      step,
      seed: config.seed,
      journalSeq: journal.nextSeq,
    };
    const fill = async (folder: string): Promise<void> => {
      await policy.save(folder, true);
      for (const file of tokenizer.files) await copy(file, join(folder, basename(file)));
    };
    const { folder, hash } = await saveCheckpoint(runFolder, step, fill, state);
    tell({ type: 'checkpoint-saved', folder, hash, seconds: (elapsed() - started) / 1000 }, step);
    pruneCheckpoints(runFolder, config.checkpoint.keep, saved => keepsWeights(config, saved), step);
    last = { step, name: folder };
    return folder;
  };
}

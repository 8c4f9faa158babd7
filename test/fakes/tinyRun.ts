/** Makes a real run folder in a moment: the real loop and files, with a scripted policy and fake tools. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaults, type Config } from '../../src/core/config.ts';
import { createRun } from '../../src/run/create.ts';
import { type Equipment } from '../../src/worker/equipment.ts';
import { work, type Outcome, type Watcher } from '../../src/worker/session.ts';
import type { Control } from '../../src/worker/status.ts';
import { sums, sumsPolicy, sumsTools, tinyTokenizer } from './tinyWorld.ts';

export interface TinyRunOptions {
  /** Default 4. */
  steps?: number;
  seed?: number;
  /** Changes the config before the run is made. */
  change?: (config: Config) => void;
  /** Tools take a random time of up to this. */
  toolDelayMs?: number;
}

/** The run's folder, and whatever else `makeTinyRun` found out. */
export interface TinyRun {
  folder: string;
  outcome: Outcome;
}

/** Trains in `<parent>/tiny-<n>` to the end, with two evaluations. */
export async function makeTinyRun(parent: string, options: TinyRunOptions = {}): Promise<TinyRun> {
  const folder = await createTinyRun(parent, options);
  return { folder, outcome: await workTiny(folder, options) };
}

/** Only makes the folder. */
export async function createTinyRun(parent: string, options: TinyRunOptions = {}): Promise<string> {
  mkdirSync(parent, { recursive: true });
  const input = (name: string): string => {
    const path = join(parent, name);
    writeFileSync(path, '{}\n');
    return path;
  };
  const config = defaults('arpo');
  Object.assign(config, { name: 'tiny', runs: parent, steps: options.steps ?? 4, seed: options.seed ?? 1 });
  config.policy.path = input('policy.json');
  Object.assign(config.data, { train: input('train.jsonl'), heldOut: input('heldOut.jsonl') });
  Object.assign(config.rollout, {
    tasksPerStep: 4,
    groupSize: 6,
    initialRollouts: 3,
    maxResponseTokens: 400,
  });
  config.algorithm.updatesPerStep = 1;
  Object.assign(config.evaluation, {
    tasks: 6,
    samples: 2,
    greedy: true,
    before: true,
    every: 0,
    after: true,
  });
  Object.assign(config.checkpoint, { every: 2, keep: 1 });
  options.change?.(config);
  const text = `// A run of sums.\n${JSON.stringify(config, null, 2)}\n`;
  const file = join(parent, 'tiny.branchpoint.json');
  return (await createRun({ config, file, text, versions: { branchpoint: 'test' } })).folder;
}

/** Takes a tiny run from where it is to its end. */
export const workTiny = (
  folder: string,
  options: TinyRunOptions = {},
  watch: (control: Control) => Watcher = () => ({ tell: () => undefined }),
): Promise<Outcome> => work(folder, tinyEquipment(options), watch);

/** A scripted policy that saves a word where weights would be, and tools that add. */
export const tinyEquipment = ({ toolDelayMs = 0 }: TinyRunOptions = {}): Equipment => ({
  openPolicy: async settings => {
    const policy = sumsPolicy(Number(/step-(\d+)$/.exec(settings.folder)?.[1] ?? 0));
    policy.save = (folder, withOptimizer) => {
      writeFileSync(join(folder, 'config.json'), '{}\n');
      writeFileSync(join(folder, 'model.safetensors'), 'weights\n');
      if (withOptimizer) writeFileSync(join(folder, 'optimizer.safetensors'), 'moments\n');
      return Promise.resolve();
    };
    return { policy, info: await policy.open(settings) };
  },
  openTokenizer: () => Promise.resolve({ ...tinyTokenizer, files: [] }),
  openDataset: path =>
    Promise.resolve(
      path.includes('heldOut')
        ? { name: 'heldOut', tasks: sums(60).slice(40), warnings: [] }
        : { name: 'train', tasks: sums(40), warnings: [] },
    ),
  openTools: () => Promise.resolve(sumsTools(toolDelayMs)),
});

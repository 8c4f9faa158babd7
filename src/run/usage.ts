/** How much disk a run folder takes, by part. Knows nothing of what the parts mean to a reader. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { CHECKPOINT_FILES, FILES } from './layout.ts';

/** Bytes by what they are for. */
export interface Usage {
  journal: number;
  /** Trees with their index and tokens. */
  trees: number;
  weights: number;
  /** Optimiser states of the checkpoints. */
  optimizer: number;
  evaluations: number;
  /** Parquet files and TensorBoard events. */
  exports: number;
  /** All that is not named above. */
  other: number;
  total: number;
}

type Part = keyof Omit<Usage, 'total'>;

const TOP: Readonly<Record<string, Part>> = {
  [FILES.events]: 'journal',
  [FILES.trees]: 'trees',
  [FILES.treeIndex]: 'trees',
  [FILES.tokens]: 'trees',
  [FILES.evaluations]: 'evaluations',
  [FILES.checkpoints]: 'weights',
  [FILES.trajectories]: 'exports',
  [FILES.tensorboard]: 'exports',
};

/** Files that vanish while they are counted, as those of a live run do, are not counted. */
export function usageOf(runFolder: string): Usage {
  const usage: Usage = {
    ...{ journal: 0, trees: 0, weights: 0, optimizer: 0, evaluations: 0, exports: 0, other: 0, total: 0 },
  };
  for (const entry of fs.readdirSync(runFolder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    usage[partOf(path.slice(runFolder.length + 1), entry.name)] += bytes;
    usage.total += bytes;
  }
  return usage;
}

function partOf(path: string, name: string): Part {
  const part = TOP[path.split(/[\\/]/)[0]!] ?? 'other';
  return part === 'weights' && name === CHECKPOINT_FILES.optimizer ? 'optimizer' : part;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Bytes for people: 3 significant digits and a decimal unit. */
export function sizeText(bytes: number): string {
  const unit = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** unit;
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${UNITS[unit]}`;
}

/** The total, and its parts from the largest down; parts without bytes are left out. */
export function usageText({ total, ...parts }: Usage): string {
  const named = Object.entries(parts)
    .filter(([, bytes]) => bytes > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([part, bytes]) => `${part} ${sizeText(bytes)}`);
  return `${sizeText(total)} on disk${named.length > 0 ? `: ${named.join(', ')}` : ''}`;
}

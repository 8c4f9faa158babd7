/** What a run did, without when: equal for two runs that did the same. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fold } from '../../src/core/fold.ts';
import { openRun } from '../../src/run/reader.ts';
import type { TreeLine } from '../../src/run/trees.ts';

/**
 * Times and what depends on them, which of equal calls was executed and which shared its answer too; and places in files, which move
 * where steps were done again.
 */
const UNLIKE = new Set([
  'at',
  'seconds',
  'memory',
  'latencyP50Ms',
  'latencyP95Ms',
  'latencyP95MsByTool',
  'latencyMs',
  'shared',
  'span',
  'crc',
  'offset',
]);

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner: unknown) => (UNLIKE.has(key) ? undefined : inner)));

/** The folded journal, every tree that holds with its token columns, the last checkpoint's files by hash, and all file names. */
export async function deedsOf(folder: string): Promise<Record<string, unknown>> {
  const run = openRun(folder);
  const events = await run.events();
  const { run: start, ...state } = fold(events);
  delete state.last;
  const trees = await Promise.all(
    (await run.trees()).map(async ({ id }) => {
      const { tokens, ...tree }: TreeLine = await run.tree(id);
      const { alternatives, ...columns } = await run.columns(id);
      const { ids, logProbs } = alternatives ?? {};
      const bytes = [...Object.values(columns), ids, logProbs].map(
        column => column && hash(new Uint8Array(column.buffer as ArrayBuffer)),
      );
      return { tree: plain(tree), tokens: tokens.count, bytes };
    }),
  );
  const last = state.checkpoints.at(-1)?.folder ?? '';
  const isFile = (name: string): boolean => !['checkpoint.json', 'worker.log'].includes(name);
  const weights = readdirSync(join(folder, last)).filter(isFile);
  return {
    state: plain(state),
    started: { ...(plain(start) as object), run: '' },
    trees,
    weights: Object.fromEntries(weights.map(name => [name, hash(readFileSync(join(folder, last, name)))])),
    files: readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isFile).sort(),
  };
}

const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

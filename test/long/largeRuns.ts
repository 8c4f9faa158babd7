/** Run folders that are larger than any test makes: many steps, many trees. Knows nothing of the editor. */
import { appendFileSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '../../src/core/events.ts';
import { createRun } from '../../src/run/create.ts';
import { FILES } from '../../src/run/layout.ts';
import { openRun } from '../../src/run/reader.ts';
import { closeTrees, openTrees, writeTrees } from '../../src/run/trees.ts';

/** A run whose journal is the given events, made from the configuration of another. */
export async function makeLongRun(like: string, parent: string, events: readonly Event[]): Promise<string> {
  const folder = await emptyLike(like, parent, 'long');
  const lines = events.map(event => `${JSON.stringify(event)}\n`);
  writeFileSync(join(folder, FILES.events), lines.join(''));
  return folder;
}

/** A run with the trees of another over and over until its files have so many bytes; every tree is a step of its own. */
export async function makeBigRun(like: string, parent: string, bytes: number): Promise<string> {
  const source = openRun(like);
  const grown = await Promise.all(
    (await source.trees()).map(async ({ id }) => ({
      tree: await source.tree(id),
      columns: await source.columns(id),
    })),
  );
  const folder = await emptyLike(like, parent, 'big');
  const files = openTrees(folder);
  try {
    for (let step = 1; files.trees.length + files.tokens.length < bytes; step++) {
      const { tree, columns } = grown[step % grown.length]!;
      writeTrees(files, [{ tree: { ...tree, id: `${step}.0`, step }, columns }]);
    }
  } finally {
    closeTrees(files);
  }
  const [start] = await source.events();
  appendFileSync(join(folder, FILES.events), `${JSON.stringify({ ...start, run: 'big-1' })}\n`);
  return folder;
}

async function emptyLike(like: string, parent: string, name: string): Promise<string> {
  mkdirSync(parent, { recursive: true });
  const { config } = openRun(like).manifest;
  const { folder } = await createRun({
    config: { ...config, name, runs: parent },
    file: join(parent, `${name}.branchpoint.json`),
    text: '{}\n',
    versions: { branchpoint: 'test' },
  });
  const pieces = join(like, FILES.pieces);
  if (existsSync(pieces)) copyFileSync(pieces, join(folder, FILES.pieces));
  return folder;
}

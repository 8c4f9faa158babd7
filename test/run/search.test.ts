import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { TrajectoryQuery } from '../../src/core/trajectorySearch.ts';
import { readOffsets } from '../../src/run/offsets.ts';
import { openRun } from '../../src/run/reader.ts';
import { searchTrees } from '../../src/run/search.ts';

describe('a search through trees.jsonl', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchpoint-search-'));
    cpSync('media/sample/run', folder, { recursive: true });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const find = async (query: TrajectoryQuery): Promise<{ id: string; paths: number[] }[]> => {
    const found = [];
    const entries = await openRun(folder).trees();
    for await (const batch of searchTrees(folder, entries, query, new AbortController().signal))
      found.push(...batch.found);
    return found.map(({ entry, matches }) => ({ id: entry.id, paths: matches.map(({ path }) => path) }));
  };

  it('finds the trajectories that a look at every tree finds', async () => {
    const run = openRun(folder);
    const wanted = [];
    for (const { id } of await run.trees()) {
      const tree = await run.tree(id);
      const paths = tree.paths.flatMap(({ reward }, path) => (reward!.total > 1 ? [path] : []));
      if (paths.length > 0) wanted.push({ id, paths });
    }
    assert.ok(wanted.length > 3);
    assert.deepEqual(await find({ minimum: 1.05 }), wanted);
  });

  it('finds text that the lines hold, and one prompt across steps', async () => {
    const [first] = await find({ text: 'aRGENTINA' });
    assert.equal(first?.id, '1.0');
    const trees = await openRun(folder).trees();
    const { question } = trees[0]!;
    assert.deepEqual(
      await find({ prompt: question }),
      trees.filter(entry => entry.question === question).map(({ id }) => ({ id, paths: [] })),
    );
    assert.deepEqual(await find({ prompt: question, text: 'Babruysk' }).then(([tree]) => tree?.id), '1.0');
    assert.deepEqual(await find({ text: 'no such text' }), []);
  });

  it('ends quietly when it is cancelled', async () => {
    const stop = new AbortController();
    const entries = await openRun(folder).trees();
    stop.abort();
    let batches = 0;
    for await (const { bytes } of searchTrees(folder, entries, { text: 'a' }, stop.signal)) batches += bytes;
    assert.equal(batches, 0);
  });

  it('tells how far a look without an index has come, and can be ended', async () => {
    const told: number[] = [];
    const entries = await readOffsets(folder, [], { told: (bytes, so) => told.push(bytes, so().length) });
    assert.deepEqual(told.slice(-1), [entries.length]);
    const stop = new AbortController();
    stop.abort(new Error('closed'));
    await assert.rejects(readOffsets(folder, [], { signal: stop.signal }), /closed/);
  });
});

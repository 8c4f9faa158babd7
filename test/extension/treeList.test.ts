import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { TreeList } from '../../src/extension/treeList.ts';
import type { TreeListing } from '../../src/protocol/verbs.ts';
import { openRun } from '../../src/run/reader.ts';

const FOLDER = 'media/sample/run';
const SIZE = statSync(join(FOLDER, 'trees.jsonl')).size;

/** A list, and what a view was told of it. */
function listing(): { list: TreeList; told: { listing: TreeListing; isNew: boolean }[] } {
  const told: { listing: TreeListing; isNew: boolean }[] = [];
  const list = new TreeList(openRun(FOLDER), (listing, isNew) => {
    told.push({ listing, isNew });
    return Promise.resolve();
  });
  return { list, told };
}

describe('the list of trees', () => {
  it('has all trees, in windows', async () => {
    const { list } = listing();
    await list.read(SIZE);
    const trees = await openRun(FOLDER).trees();
    assert.deepEqual(list.listing, { rows: trees.length, trees: trees.length, share: 1 });
    assert.deepEqual(
      list.rows(10, 3).map(({ id }) => id),
      trees.slice(10, 13).map(({ id }) => id),
    );
    assert.equal(list.rows(0, 1)[0]!.matches, undefined);
    list.close();
  });

  it('has those that were looked for, and all again afterwards; one search voids the other', async () => {
    const { list } = listing();
    await list.read(SIZE);
    const first = list.find({ text: 'zzz' });
    await list.find({ minimum: 1.05 });
    await first;
    const { rows, found, trees } = list.listing;
    assert.ok(rows > 0 && rows < trees && found! >= rows);
    assert.ok(list.rows(0, 100).every(({ matches }) => matches!.length > 0));
    await list.find({});
    assert.equal(list.listing.rows, trees);
    assert.equal(list.listing.found, undefined);
    list.close();
  });

  it('finds each once where the list is still read', async () => {
    const { list } = listing();
    const reading = list.read(SIZE);
    await list.find({ minimum: 1.05 });
    await reading;
    const early = list.listing.found;
    await list.find({ minimum: 1.05 });
    assert.ok(early! > 0);
    assert.equal(early, list.listing.found);
    list.close();
  });

  it('tells one word at a time, a new list as new, and why it could not go on', async () => {
    const { list, told } = listing();
    await list.read(SIZE);
    list.fail('The file is broken.');
    await new Promise(resolve => setTimeout(resolve, 150));
    assert.equal(told[0]?.isNew, true);
    assert.equal(told.at(-1)?.listing.problem, 'The file is broken.');
    assert.equal(told.at(-1)?.isNew, false);
    list.close();
  });
});

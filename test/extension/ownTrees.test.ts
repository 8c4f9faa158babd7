import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { mustBeOwn } from '../../src/extension/ownTrees.ts';
import { createTinyRun } from '../fakes/tinyRun.ts';

describe('what a policy can go on from', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'own-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is a tree of a run of our own, and no other', async () => {
    const own = await createTinyRun(folder);
    mustBeOwn(own, '1.0');
    mustBeOwn(own, '1.0~1');
    assert.throws(() => mustBeOwn(own, '1.0 replay 2'), /Tree 1\.0 replay 2 was drawn again/);
    writeFileSync(join(folder, '1.jsonl'), '{"input": "2 + 2?", "output": "4", "score": 1, "step": 1}\n');
    assert.throws(() => mustBeOwn(folder, '1.0'), /imported from verl: there is no policy/);
  });
});

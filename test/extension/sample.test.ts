import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { copySample } from '../../src/extension/sample.ts';

describe('the sample', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'branchpoint-sample-'));
    for (const folder of ['from/make', 'from/run/checkpoints', 'from/tasks'])
      mkdirSync(join(root, folder), { recursive: true });
    for (const file of [
      'make/world.ts',
      'run/run.json',
      'run/checkpoints/x',
      'tasks/train.parquet',
      'sample.branchpoint.json',
    ])
      writeFileSync(join(root, 'from', file), file);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('is copied without its generators, its recorded run among the runs', async () => {
    const sample = await copySample(join(root, 'from'), join(root, 'a', 'to'));
    assert.deepEqual(
      ['make', 'run', 'tasks/train.parquet', 'runs/recorded/run.json', 'runs/recorded/checkpoints/x'].map(
        name => existsSync(join(root, 'a/to', name)),
      ),
      [false, false, true, true, true],
    );
    assert.equal(sample.config, join(root, 'a/to/sample.branchpoint.json'));
    assert.equal(sample.recorded, join(sample.runs, 'recorded'));
  });

  it('leaves what the user changed as it is when it is copied again', async () => {
    const { config } = await copySample(join(root, 'from'), join(root, 'to'));
    writeFileSync(config, 'mine');
    rmSync(join(root, 'to/tasks/train.parquet'));
    await copySample(join(root, 'from'), join(root, 'to'));
    assert.equal(readFileSync(config, 'utf8'), 'mine');
    assert.ok(existsSync(join(root, 'to/tasks/train.parquet')));
  });
});

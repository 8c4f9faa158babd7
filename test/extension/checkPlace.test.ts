import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { ok, warning, wrong } from '../../src/core/checkup.ts';
import { placeOf, readCheckup, trajectoryOf } from '../../src/extension/checkPlace.ts';
import { smallTree } from './fixture.ts';
import { segmentsOf } from '../../src/core/tree.ts';

describe('a check’s results', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchpoint-place-'));
    mkdirSync(at('run-1'));
    mkdirSync(at('run-1/checkpoint'));
    writeFileSync(at('a.branchpoint.json'), '{}');
  });
  after(() => rmSync(folder, { recursive: true }));

  it('are read from the last line, and only if it holds results', () => {
    const results = [ok('config', 'It is.'), wrong('trees.masks', 'It is not.', { tree: '3.0', token: 17 })];
    assert.deepEqual(readCheckup(`opening\n${JSON.stringify({ checks: results })}\n`), results);
    assert.equal(readCheckup(''), undefined);
    assert.equal(readCheckup('branchpoint: no such file'), undefined);
    assert.throws(() => readCheckup('{"checks":[{"id":1}]}'), /checks\[0\]\.id should be a text/);
  });

  it('point at a key of the configuration, a line of another file, or the whole', () => {
    const subject = at('a.branchpoint.json');
    const place = (extras: object) => placeOf(subject, warning('memory', '…', extras));
    assert.deepEqual(place({ key: 'memoryMB', file: subject, line: 7 }), {
      ...{ kind: 'key', file: subject, key: 'memoryMB' },
    });
    assert.deepEqual(place({ key: 'data.train', file: at('t.jsonl'), line: 4 }), {
      ...{ kind: 'line', file: at('t.jsonl'), line: 4 },
    });
    assert.deepEqual(place({ key: 'data.train', file: at('t.parquet') }), {
      ...{ kind: 'key', file: subject, key: 'data.train' },
    });
    assert.deepEqual(place({}), { kind: 'line', file: subject, line: 1 });
  });

  it('point into a run: at a tree, a file, or the manifest where no editor shows what it names', () => {
    const subject = at('run-1');
    const place = (extras: object) => placeOf(subject, wrong('trees.masks', '…', extras));
    assert.deepEqual(place({ tree: '3.0', token: 17 }), {
      ...{ kind: 'tree', runFolder: subject, tree: '3.0', token: 17 },
    });
    assert.deepEqual(place({ file: at('run-1/events.jsonl') }), {
      ...{ kind: 'line', file: at('run-1/events.jsonl'), line: 1 },
    });
    const manifest = { kind: 'line', file: at('run-1/run.json'), line: 1 };
    assert.deepEqual(place({ file: at('run-1/checkpoint') }), manifest);
    assert.deepEqual(place({}), manifest);
  });

  it('find a trajectory that passes through the token', () => {
    const tree = smallTree().tree;
    tree.segments.forEach(({ start, count }, index) => {
      if (count === 0) return;
      const found = trajectoryOf(tree, { token: start + count - 1 });
      assert.equal(found?.segment, index);
      assert.ok(segmentsOf(tree, found.path).includes(index));
    });
    const last = tree.paths.length - 1;
    assert.deepEqual(trajectoryOf(tree, { path: last }), { path: last });
    const broken = { ...tree, segments: tree.segments.map(segment => ({ ...segment, parent: 2 })) };
    assert.equal(trajectoryOf(broken, { segment: 1 }), undefined);
  });
});

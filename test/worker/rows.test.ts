import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import parquet from 'parquetjs-lite';
import { below, streamKey } from '../../src/core/random.ts';
import { FailureError } from '../../src/core/types.ts';
import { readRows, valueAt } from '../../src/worker/rows.ts';

describe('rows', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'rows-'))));
  after(() => rmSync(folder, { recursive: true }));

  async function write(compression: string): Promise<string> {
    const path = join(folder, `${compression}.parquet`);
    const text = { type: 'UTF8', optional: true, compression };
    const schema = new parquet.ParquetSchema({
      question: text,
      answer: text,
      other: { type: 'LIST', fields: { list: { repeated: true, fields: { element: text } } } },
    });
    const writer = await parquet.ParquetWriter.openFile(schema, path);
    for (let i = 0; i < 100; i++)
      await writer.appendRow({
        question: `Question ${i}?`,
        answer: String(i),
        other: { list: [{ element: 'x' }] },
      });
    await writer.close();
    return path;
  }

  for (const compression of ['UNCOMPRESSED', 'GZIP', 'SNAPPY'])
    it(`come from ${compression} parquet, only the columns that are wanted`, async () => {
      const rows = await readRows(await write(compression), ['question', 'answer']);
      assert.equal(rows.length, 100);
      assert.deepEqual(rows[41], { row: { question: 'Question 41?', answer: '41' }, place: 42 });
    });

  it('are read or refused by name where a parquet file was broken, and the process goes on', async function () {
    this.timeout(60_000);
    let refused = 0;
    for (const compression of ['UNCOMPRESSED', 'GZIP', 'SNAPPY']) {
      const whole = readFileSync(await write(compression));
      for (let seed = 0; seed < 15; seed++) {
        const key = streamKey(seed, compression);
        const bytes = Buffer.from(whole);
        for (let i = 0; i < 4; i++) bytes[below(key, 2 * i, bytes.length)] = below(key, 2 * i + 1, 256);
        const path = join(folder, 'broken.parquet');
        writeFileSync(path, seed % 3 === 0 ? bytes.subarray(0, below(key, 9, bytes.length)) : bytes);
        try {
          await readRows(path, ['question', 'answer', 'other'], { limitMs: 2_000 });
        } catch (error) {
          assert.ok(
            error instanceof FailureError && error.failure.fix,
            `${compression}, seed ${seed}: ${String(error)}`,
          );
          assert.ok(error.message.includes(path));
          refused++;
        }
      }
    }
    assert.ok(refused > 15, String(refused));
    assert.equal(
      process.listenerCount('unhandledRejection', () => undefined),
      0,
    );
  });

  it('have values at dotted names, through objects and lists', () => {
    const row = { a: { b: [{ c: 1 }, { c: 2 }] }, 'a.d': 3 };
    assert.deepEqual(
      ['a.b.1.c', 'a.d', 'a.b.2.c', 'a.b.x', 'a.length', 'toString'].map(name => valueAt(row, name)),
      [2, 3, undefined, undefined, undefined, undefined],
    );
  });
});

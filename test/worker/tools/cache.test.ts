/** Examples of results that runs share. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'mocha';
import { FailureError, type Failure } from '../../../src/core/types.ts';
import { cachedPool, openCache, type ResultCache } from '../../../src/worker/tools/cache.ts';
import { openPool } from '../../../src/worker/tools/pool.ts';
import type { ToolPool, ToolResult } from '../../../src/worker/tools/tool.ts';

describe('cache of tool results', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-cache-'));
  after(() => rmSync(folder, { recursive: true }));
  const executed: string[] = [];
  const warnings: Failure[] = [];
  /** Answers `text 1`, `text 2` … and fails on request. */
  const pooled = (cache: ResultCache): ToolPool => {
    const run = (argument: string): Promise<ToolResult> => {
      executed.push(argument);
      if (argument === 'fail') return Promise.reject(new Error('down'));
      const outcome = argument === 'wrong' ? 'error' : 'ok';
      return Promise.resolve({ outcome, text: argument === 'empty' ? '' : `text ${executed.length}` });
    };
    const tool = { tag: 'search', description: 'd', run, close: () => Promise.resolve() };
    return cachedPool(openPool([tool], { timeoutMs: 1000, concurrency: 2 }), cache, failure =>
      warnings.push(failure),
    );
  };
  const withPool = async (file: string, identity: string, work: (pool: ToolPool) => Promise<void>) => {
    const pool = pooled(openCache(join(folder, file), { search: identity }));
    await work(pool);
    await pool.close();
  };

  it('answers a call again without executing it, also in another run, and says so', async () => {
    await withPool('a/b.sqlite', 'one', async pool => {
      const first = await pool.call('search', 'Bern');
      assert.deepEqual([first.text, first.shared], ['text 1', false]);
      const second = await pool.call('search', 'Bern');
      assert.deepEqual([second.outcome, second.text, second.shared], ['ok', 'text 1', true]);
    });
    await withPool('a/b.sqlite', 'one', async pool => {
      const { text, shared } = await pool.call('search', 'Bern');
      assert.deepEqual([text, shared], ['text 1', true]);
      assert.equal((await pool.call('search', 'bern')).shared, false, 'the argument counts to the letter');
    });
    assert.deepEqual(executed, ['Bern', 'bern']);
  });

  it('keeps empty results, but no errors', async () => {
    executed.length = 0;
    await withPool('errors.sqlite', 'one', async pool => {
      for (const argument of ['empty', 'wrong', 'fail', 'empty', 'wrong', 'fail'])
        await pool.call('search', argument);
      assert.equal((await pool.call('browse', 'x')).outcome, 'refused');
    });
    assert.deepEqual(executed, ['empty', 'wrong', 'fail', 'wrong', 'fail']);
  });

  it('does not answer for a tool that answers by something else', async () => {
    executed.length = 0;
    for (const identity of ['corpus 1', 'corpus 2', 'corpus 1'])
      await withPool('identity.sqlite', identity, async pool => void (await pool.call('search', 'Bern')));
    assert.deepEqual(executed, ['Bern', 'Bern']);
  });

  it('takes the writes of four processes at the same time, all of them', async function () {
    this.timeout(60_000);
    const file = join(folder, 'many.sqlite');
    const writer = join(import.meta.dirname, 'cacheWriter.ts');
    const endings = ['a', 'b', 'c', 'd'].map(
      name =>
        new Promise<string>(resolve => {
          const child = spawn(process.execPath, [writer, file, name, '100'], {
            stdio: ['ignore', 'ignore', 'pipe'],
          });
          let said = '';
          child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
          child.on('close', status => resolve(status === 0 ? '' : said));
        }),
    );
    assert.deepEqual(await Promise.all(endings), ['', '', '', '']);
    const cache = openCache(file, { search: 'corpus' });
    for (const name of 'abcd')
      for (let i = 0; i < 100; i++) assert.equal(cache.find('search', `${name} ${i}`), `answer ${i}`);
    assert.match(cache.find('search', 'same') ?? '', /^[abcd]$/);
    cache.close();
    const database = new DatabaseSync(file);
    assert.deepEqual({ ...database.prepare('select count(*) as n from results').get() }, { n: 401 });
    assert.deepEqual({ ...database.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
    database.close();
  });

  it('is left out after its first failure, which is told once, and calls are executed', async () => {
    executed.length = 0;
    const broken = (): never => {
      throw new Error('database or disk is full');
    };
    const pool = pooled({ find: () => undefined, keep: broken, close: () => undefined });
    for (const argument of ['a', 'a', 'b']) assert.equal((await pool.call('search', argument)).outcome, 'ok');
    assert.deepEqual(executed, ['a', 'a', 'b']);
    assert.deepEqual(
      warnings.map(({ where, message }) => [where, message]),
      [['store', 'The cache of tool results is no longer used: database or disk is full']],
    );
    await pool.close();
  });

  it('refuses a file that is something else, with the key and the fix', () => {
    const path = (name: string): string => join(folder, name);
    writeFileSync(path('text.sqlite'), 'This is no database, but long enough to be one. '.repeat(99));
    const other = new DatabaseSync(path('other.sqlite'));
    other.exec('create table mine(x)');
    other.close();
    const newer = new DatabaseSync(path('newer.sqlite'));
    newer.exec('create table results(x); pragma user_version = 2');
    newer.close();
    const cases: [string, RegExp][] = [
      ['text.sqlite', /text\.sqlite cannot be opened \(file is not a database\)/],
      ['other.sqlite', /other\.sqlite is a database, but no cache/],
      ['newer.sqlite', /newer\.sqlite is a cache of version 2; this program knows 1/],
      ['', /cannot be opened/],
    ];
    for (const [name, message] of cases)
      assert.throws(
        () => openCache(path(name), {}),
        error => {
          assert(error instanceof FailureError);
          assert.match(error.failure.message, message);
          assert.match(error.failure.message, /^tools\.cache: /);
          assert.match(error.failure.fix ?? '', /set tools\.cache to ""/);
          return true;
        },
      );
  });
});

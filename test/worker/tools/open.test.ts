/** Examples of opening the tools that a config names. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'mocha';
import { defaults, type Config } from '../../../src/core/config.ts';
import { FailureError } from '../../../src/core/types.ts';
import { openTools } from '../../../src/worker/tools/open.ts';

describe('opening tools', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-tools-'));
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'corpus.jsonl'), '{"title": "Bern", "text": "Bern: capital of Switzerland."}\n');
  type Python = Config['tools']['python'];
  const config = (corpus: string, python: Partial<Python>): Pick<Config, 'tools' | 'seed'> => ({
    seed: 1,
    tools: {
      ...defaults().tools,
      timeoutSeconds: 5,
      concurrency: 2,
      python: { enabled: true, sandbox: 'auto', memoryMB: 256, ...python },
      search: { ...defaults().tools.search, corpus, results: 2, resultCharacters: 100 },
    },
  });
  const withoutPrograms = async <T>(action: () => Promise<T>): Promise<T> => {
    const path = process.env.PATH;
    process.env.PATH = folder;
    try {
      return await action();
    } finally {
      process.env.PATH = path;
    }
  };

  it('finds the corpus beside the config and leaves out what is not wanted', async () => {
    const pool = await openTools(config('corpus.jsonl', { enabled: false }), folder);
    assert.deepEqual(pool.describe(), { search: '1 document' });
    const { text, outcome } = await pool.call('search', 'Bern');
    assert.deepEqual({ text, outcome }, { outcome: 'ok', text: 'Page 1: Bern: capital of Switzerland.' });
    assert.equal((await pool.call('python', '1')).outcome, 'refused');
    await pool.close();
    const none = await openTools(config('', { enabled: false }), folder);
    assert.deepEqual(none.tags, []);
    await none.close();
  });

  it('needs nothing installed: without bubblewrap Python runs in Pyodide, and search beside it', async () => {
    const pool = await withoutPrograms(() => openTools(config('corpus.jsonl', {}), folder));
    assert.deepEqual(pool.tags, ['search', 'python']);
    assert.match(pool.describe().python ?? '', /^Pyodide /);
    await pool.close();
  });

  it('closes what it has opened where a later tool cannot be', async () => {
    const beats = join(folder, 'beats');
    writeFileSync(
      join(folder, 'alive.mjs'),
      `import { appendFileSync } from 'node:fs';
      setInterval(() => appendFileSync(${JSON.stringify(beats)}, '.'), 20);
      export default async () => { await new Promise(done => setTimeout(done, 60)); return { text: 'here' }; };`,
    );
    writeFileSync(join(folder, 'broken.mjs'), 'export default () => ({});');
    const own = ['alive', 'broken'].map(tag => ({ tag, module: `${tag}.mjs`, command: [], folder: '.' }));
    const { tools, seed } = config('', { enabled: false });
    await assert.rejects(
      openTools({ seed, tools: { ...tools, custom: own } }, folder),
      /the tool broken does not work/,
    );
    const before = statSync(beats).size;
    assert.ok(before > 0);
    await new Promise(done => setTimeout(done, 120));
    assert.equal(statSync(beats).size, before, 'its heart still beats');
  });

  it('names the key and the fix where a tool cannot be opened', async () => {
    const refused = (message: RegExp, fix: RegExp) => (error: unknown) => {
      assert(error instanceof FailureError);
      assert.equal(error.failure.where, 'config');
      assert.match(error.failure.message, message);
      assert.match(error.failure.fix ?? '', fix);
      return true;
    };
    const missing = openTools(config('none.jsonl', { enabled: false }), folder);
    await assert.rejects(
      missing,
      refused(/^tools\.search\.corpus: .*none\.jsonl does not exist/, /JSON-Lines/),
    );
    const noSandbox = withoutPrograms(() => openTools(config('', { sandbox: 'bubblewrap' }), folder));
    await assert.rejects(noSandbox, refused(/^tools\.python\.sandbox .*bubblewrap/, /Install bubblewrap/));
  });
});

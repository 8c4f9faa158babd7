/** Examples of searching in kept answers; the published ones where they are at hand. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'mocha';
import { FailureError } from '../../../src/core/types.ts';
import { openAnswerFile } from '../../../src/worker/tools/answerFile.ts';
import type { Tool } from '../../../src/worker/tools/tool.ts';

const PUBLISHED = join(import.meta.dirname, '../../../../shared/data/arpo/search_cache.json');

describe('search in kept answers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-answers-'));
  after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const cacheFile = write(
    'answers.json',
    JSON.stringify({
      'capital "Bern"': 'Page 1: Bern\nis old.\nPage 2: Aare\nPage 3: Alps',
      'capital Bern': 'Page 1: exact',
      '"Rhine"': 'No search results found.',
    }),
  );
  const signal = AbortSignal.timeout(10_000);
  const next: Tool = {
    tag: 'search',
    description: '3 documents',
    run: query => Promise.resolve({ outcome: 'ok', text: `live ${query}` }),
    close: () => Promise.resolve(),
  };

  it('looks the query up as it is, then as it is cleaned, and cuts pages', async () => {
    const tool = await openAnswerFile({ cacheFile, results: 2, resultCharacters: 9 });
    assert.equal(tool.description, '3 kept answers');
    const ask = async (query: string): Promise<string> => (await tool.run(query, signal)).text;
    assert.equal(await ask('capital "Bern"'), 'Page 1: Bern\nis o\nPage 2: Aare');
    assert.equal(await ask(' capital Bern '), 'Page 1: exact');
    assert.equal(await ask('Rhine'), 'No search results found.');
  });

  it('asks the next tool for the others, or says that nothing is found and counts it as an error', async () => {
    const alone = await openAnswerFile({ cacheFile, results: 2, resultCharacters: 9 });
    assert.deepEqual(await alone.run('Oslo', signal), { outcome: 'error', text: 'No search results found.' });
    const both = await openAnswerFile({ cacheFile, results: 2, resultCharacters: 9 }, next);
    assert.equal(both.description, '3 kept answers, then 3 documents');
    assert.deepEqual(await both.run('Oslo', signal), { outcome: 'ok', text: 'live Oslo' });
  });

  it('answers all 1,000 published queries with the published text', async function () {
    if (!existsSync(PUBLISHED)) {
      console.log('      skipped: ARPO’s search_cache.json is not beside this checkout.');
      return this.skip();
    }
    const published = JSON.parse(readFileSync(PUBLISHED, 'utf8')) as Record<string, string>;
    const tool = await openAnswerFile({ cacheFile: PUBLISHED, results: 10, resultCharacters: 1_000_000 });
    let answered = 0;
    for (const [query, text] of Object.entries(published)) {
      const result = await tool.run(query, signal);
      assert.equal(result.outcome, 'ok');
      // Published pages may hold what looks like further pages: the text is what counts.
      assert.equal(result.text.replaceAll(/Page \d+: /g, ''), text.replaceAll(/Page \d+: /g, ''), query);
      answered++;
    }
    assert.equal(answered, 1000);
    assert.equal(tool.description, '1,000 kept answers');
  });

  it('refuses what is no such file, with the reason', async () => {
    const cases: [string, RegExp][] = [
      [join(folder, 'none.json'), /none\.json does not exist/],
      [write('torn.json', '{"a": "b'), /torn\.json cannot be read \(.*JSON/],
      [write('list.json', '[]'), /list\.json is no JSON object/],
      [write('number.json', '{"a": "b", "c": 3}'), /number\.json has no text at "c"/],
    ];
    for (const [path, message] of cases)
      await assert.rejects(openAnswerFile({ cacheFile: path, results: 1, resultCharacters: 1 }), error => {
        assert(error instanceof FailureError);
        assert.match(error.failure.message, message);
        assert.match(error.failure.fix ?? '', /search_cache\.json/);
        return true;
      });
  });
});

/** Examples of the search tool: what it finds first, the text it gives, and what it says when it cannot. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { FailureError } from '../../../src/core/types.ts';
import { openSearch, searchIndex, type SearchIndex } from '../../../src/worker/tools/search.ts';

const PLACES = [
  ['Mexico City', 'Mexico City: city in Mexico. Population 12294193.'],
  ['Mexico', 'Mexico: country in North America. Capital Mexico City. Currency MXN.'],
  ['Zürich', 'Zürich: city in Switzerland. Population 341730.'],
  ['Winterthur', 'Winterthur: city in Switzerland. Population 91908.'],
  ['Winterthur Museum', 'A museum in Delaware, not far from the population of Wilmington.'],
  ['Tanda', 'Tanda: city in Egypt. Population 404901.'],
  ['Tānda', 'Tānda: city in India. Population 44822.'],
  ['Port Louis', 'Port Louis: city in Mauritius. Population 155226.'],
  ['Saint Louis', 'Saint Louis: city in the United States. Population 315685.'],
];

describe('search tool', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-search-'));
  const write = (name: string, lines: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, lines.join('\n'));
    return path;
  };
  const flash = PLACES.map(([title, text], id) =>
    JSON.stringify({ id: String(id), contents: `"${title}"\n${text}` }),
  );
  let places: SearchIndex;
  before(() => {
    places = searchIndex({ corpus: write('places.jsonl', flash), results: 2, resultCharacters: 1000 });
  });
  after(() => {
    places.close();
    rmSync(folder, { recursive: true });
  });
  const first = (query: string): string => places.search(query).text.split('\n')[0] ?? '';

  it('gives the document of a rare whole name first', () => {
    assert.equal(
      first('population of Winterthur'),
      'Page 1: Winterthur: city in Switzerland. Population 91908.',
    );
    assert.match(first('zurich population'), /^Page 1: Zürich:/);
  });

  it('prefers the longest title in the query, and a title over its mention', () => {
    assert.match(first('population of Mexico City'), /^Page 1: Mexico City:/);
    assert.match(first('capital of Mexico'), /^Page 1: Mexico: country/);
    assert.match(first('population of Port Louis'), /^Page 1: Port Louis:/);
  });

  it('tells names apart that differ in diacritics only', () => {
    assert.match(first('population of Tanda'), /Egypt/);
    assert.match(first('population of Tānda'), /India/);
  });

  it("answers in ARPO's lines and puts the title before a text that does not begin with it", () => {
    assert.deepEqual(places.search('"Winterthur Museum"'), {
      outcome: 'ok',
      text:
        'Page 1: Winterthur Museum: A museum in Delaware, not far from the population of Wilmington.\n' +
        'Page 2: Winterthur: city in Switzerland. Population 91908.',
    });
  });

  it('says so when nothing is found or nothing is asked', () => {
    assert.deepEqual(places.search('12 * 34'), { outcome: 'ok', text: 'No search results found.' });
    assert.deepEqual(places.search('+-*/'), { outcome: 'ok', text: 'No search results found.' });
    assert.deepEqual(places.search(' "" '), { outcome: 'error', text: 'The search query is empty.' });
  });

  it('takes any text as a query', () => {
    for (const query of [
      'NEAR(a b)',
      'title:x AND',
      "'); drop table",
      '*',
      'a"b"c',
      '한국 東京',
      'the',
      'x '.repeat(5000),
    ]) {
      assert.equal(places.search(query).outcome, 'ok', query);
    }
  });

  it('cuts each document to whole characters and gives the same text once', () => {
    const lines = [0, 1, 2].map(() => JSON.stringify({ text: '𝒜𝒷𝒸 apple pie' }));
    const index = searchIndex({ corpus: write('same.jsonl', lines), results: 3, resultCharacters: 5 });
    assert.equal(index.search('apple').text, 'Page 1: 𝒜𝒷𝒸 a');
    index.close();
  });

  it('gives the same texts opened at once or in the background', async () => {
    const tool = await openSearch({
      corpus: join(folder, 'places.jsonl'),
      results: 2,
      resultCharacters: 1000,
    });
    assert.equal(tool.tag, 'search');
    assert.equal(tool.description, '9 documents');
    for (const query of ['population of Saint Louis', 'city in Switzerland', 'currency']) {
      assert.deepEqual(await tool.run(query, AbortSignal.timeout(1000)), places.search(query));
    }
    await tool.close();
  });

  it('refuses a missing, empty or malformed corpus with file, line and fix', async () => {
    const open = (corpus: string): void => void searchIndex({ corpus, results: 1, resultCharacters: 9 });
    const cases: [string, RegExp, RegExp][] = [
      [join(folder, 'none.jsonl'), /none\.jsonl does not exist/, /tools\.search\.corpus/],
      [folder, /cannot be read/, /tools\.search\.corpus/],
      [write('empty.jsonl', ['', ' ']), /holds no documents/, /contents/],
      [write('torn.jsonl', [flash[0] ?? '', '', '{"id": "1", "con']), /torn\.jsonl:3: not JSON/, /contents/],
      [write('list.jsonl', ['[1]']), /list\.jsonl:1: not a JSON object/, /contents/],
      [write('other.jsonl', ['{"id": "1"}']), /other\.jsonl:1: a document needs a string/, /contents/],
      [
        write('blank.jsonl', ['{"title": "a", "text": " "}']),
        /blank\.jsonl:1: the document has no text/,
        /contents/,
      ],
    ];
    for (const [corpus, message, fix] of cases) {
      const refused = (error: unknown): boolean => {
        assert(error instanceof FailureError);
        assert.match(error.failure.message, message);
        assert.match(error.failure.fix ?? '', fix);
        assert.equal(error.failure.where, 'config');
        return true;
      };
      assert.throws(() => open(corpus), refused);
      await assert.rejects(openSearch({ corpus, results: 1, resultCharacters: 9 }), refused);
    }
  });
});

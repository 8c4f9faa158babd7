/**
 * The search tool: a local full-text index over a JSON-Lines corpus, answering in ARPO's text format. Knows nothing of
 * token streams, tags in text or the network.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { counted } from '../../core/figures.ts';
import { FailureError, errorText } from '../../core/types.ts';
import { CORPUS_FIX, parseDocument, type Document } from './corpus.ts';
import { cleanQuery, pagesText, snippetOf } from './pages.ts';
import type { Tool, ToolResult } from './tool.ts';

export interface SearchOptions {
  /** Path of the JSON-Lines file. */
  corpus: string;
  /** Most documents in one answer. */
  results: number;
  /** Characters that each document is cut to. */
  resultCharacters: number;
}

export interface SearchIndex {
  /** Number of documents. */
  readonly size: number;
  search(query: string): ToolResult;
  close(): void;
}

/** Function words: they stand in nearly every document of prose, say nothing about which one is meant, and are slow to rank. */
const STOP_WORDS = new Set(
  (
    'a an and are as at be by did do does for from has have how in is it its many much of on or that the this to was ' +
    'were what when where which who whom whose why will with'
  ).split(' '),
);

/** A model may write any query; these bound the work that one query makes. */
const MAX_QUERY_WORDS = 64;
const MAX_TITLE_WORDS = 12;

/** SQLite's page cache in KiB: indexes up to this size stay in memory, larger ones spill into a private temporary file. */
const CACHE_KIB = 131_072;

/** Opens the search tool without holding the event loop for long, however large the corpus is. */
export async function openSearch(options: SearchOptions): Promise<Tool> {
  const builder = startIndex(options);
  const input = createReadStream(options.corpus, 'utf8');
  try {
    const lines = createInterface({ input, crlfDelay: Infinity });
    for await (const line of lines) builder.add(line);
    return searchTool(builder.finish());
  } catch (error) {
    builder.abandon();
    throw readFailure(options.corpus, error);
  } finally {
    input.destroy();
  }
}

/** The same index, built at once: for generators that need exactly the texts that the tool will give. */
export function searchIndex(options: SearchOptions): SearchIndex {
  const builder = startIndex(options);
  try {
    for (const line of readFileSync(options.corpus, 'utf8').split(/\r?\n/)) builder.add(line);
    return builder.finish();
  } catch (error) {
    builder.abandon();
    throw readFailure(options.corpus, error);
  }
}

function searchTool(index: SearchIndex): Tool {
  return {
    tag: 'search',
    description: counted(index.size, 'document'),
    run: query => Promise.resolve(index.search(query)),
    close: () => {
      index.close();
      return Promise.resolve();
    },
  };
}

interface IndexBuilder {
  add(line: string): void;
  finish(): SearchIndex;
  abandon(): void;
}

function startIndex({ corpus, results, resultCharacters }: SearchOptions): IndexBuilder {
  const database = openDatabase();
  const insert = database.prepare('insert into documents(rowid, title, text) values (?, ?, ?)');
  const insertTitle = database.prepare('insert into titles(words, spelling, row) values (?, ?, ?)');
  let lineNumber = 0;
  let size = 0;
  return {
    add(line) {
      lineNumber++;
      const document = parseDocument(
        lineNumber === 1 ? line.replace(/^\uFEFF/, '') : line,
        `${corpus}:${lineNumber}`,
      );
      if (!document) return;
      size++;
      insert.run(size, document.title, document.text);
      const words = wordsOf(document.title);
      if (words.length > 0 && words.length <= MAX_TITLE_WORDS)
        insertTitle.run(words.join(' '), document.title.toLowerCase(), size);
    },
    finish() {
      if (size === 0)
        throw new FailureError({
          where: 'config',
          message: `${corpus} holds no documents.`,
          fix: CORPUS_FIX,
        });
      database.exec('commit');
      return indexOver(database, size, { results, resultCharacters });
    },
    abandon: () => database.close(),
  };
}

/** An empty name makes SQLite's private temporary database: gone when closed. */
function openDatabase(): DatabaseSync {
  const database = new DatabaseSync('');
  try {
    database.exec(`
      pragma journal_mode = off;
      pragma synchronous = off;
      pragma cache_size = -${CACHE_KIB};
      create virtual table documents using fts5(title, text, tokenize = "porter unicode61 remove_diacritics 2");
      create table titles(words text, spelling text, row integer, primary key (words, row)) without rowid;
      begin`);
  } catch (error) {
    database.close();
    throw new FailureError({
      where: 'tool',
      message: `The search tool needs SQLite with FTS5, which this runtime lacks (${String(error)}).`,
      fix: 'Use Node 22.18 or newer, or a current VS Code; or set tools.search.corpus to "".',
    });
  }
  return database;
}

function indexOver(
  database: DatabaseSync,
  size: number,
  limits: { results: number; resultCharacters: number },
): SearchIndex {
  const rank = rankingOver(database, size);
  const read = database.prepare('select title, text from documents where rowid = ?');
  const snippetAt = (row: number): string => {
    const document = read.get(row) as unknown as Document;
    return snippetOf(document, limits.resultCharacters);
  };
  return {
    size,
    search(query) {
      const cleaned = cleanQuery(query);
      if (cleaned === '') return { outcome: 'error', text: 'The search query is empty.' };
      // Some documents may have the same text: ask for more, then keep the first of each.
      const rows = rank(cleaned, limits.results * 4);
      const snippets = [...new Set(rows.map(snippetAt))].slice(0, limits.results);
      return { outcome: 'ok', text: pagesText(snippets) };
    },
    close: () => database.close(),
  };
}

/**
 * Rows, best first: documents whose whole title stands in the query (the longest first, of the
 * same words the one spelled like the query), then the others by BM25 with the title weighing twice. Equal scores keep the corpus's order, so that an answer never depends on chance.
 */
function rankingOver(database: DatabaseSync, size: number): (query: string, limit: number) => number[] {
  const byScore = database.prepare(
    'select rowid as row from documents where documents match ? order by bm25(documents, 2.0, 1.0), rowid limit ?',
  );
  const byTitle = database.prepare(
    'select row from titles where words = ? order by instr(?, spelling) = 0, row limit ?',
  );
  const isTelling = frequencyOver(database, size);
  const rowsOf = (found: unknown[]): number[] => (found as { row: number }[]).map(({ row }) => row);
  return (query, limit) => {
    const words = wordsOf(query).slice(0, MAX_QUERY_WORDS);
    const spelled = query.toLowerCase();
    const unique = [...new Set(words)];
    const content = firstNotEmpty(unique.filter(isTelling), unique.filter(isContent), unique);
    if (content.length === 0) return [];
    const titled = titlesIn(words, title => rowsOf(byTitle.all(title, spelled, limit)));
    const scored = rowsOf(byScore.all(content.map(quoted).join(' OR '), limit));
    return [...new Set([...titled, ...scored])].slice(0, limit);
  };
}

/**
 * Whether a word tells documents apart: not a function word, and not in more than half of them. BM25 gives the latter
 * (almost) no weight, and ranking them is what makes a query slow.
 */
function frequencyOver(database: DatabaseSync, size: number): (word: string) => boolean {
  const count = database.prepare('select count(*) as n from documents where documents match ?');
  const isCommon = new Map<string, boolean>();
  return word => {
    if (!isContent(word)) return false;
    let common = isCommon.get(word);
    if (common === undefined) {
      common = (count.get(quoted(word)) as { n: number }).n > size / 2;
      if (isCommon.size < 100_000) isCommon.set(word, common);
    }
    return !common;
  };
}

/** Rows of the titles that stand in the words as a whole and inside no longer title; longest first, then from the left. */
function titlesIn(words: readonly string[], rowsOfTitle: (title: string) => number[]): number[] {
  const rows: number[] = [];
  const taken = words.map(() => false);
  for (let length = Math.min(words.length, MAX_TITLE_WORDS); length > 0; length--) {
    for (let start = 0; start + length <= words.length; start++) {
      const span = words.slice(start, start + length);
      if (taken[start] || taken[start + length - 1] || !span.some(isContent)) continue;
      const found = rowsOfTitle(span.join(' '));
      if (found.length === 0) continue;
      rows.push(...found);
      taken.fill(true, start, start + length);
    }
  }
  return rows;
}

/** Words as the index sees them, but for their endings: lower case, without diacritics, letters and digits only. */
function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

const isContent = (word: string): boolean => !STOP_WORDS.has(word);
const quoted = (word: string): string => `"${word}"`;
const firstNotEmpty = (...lists: string[][]): string[] => lists.find(list => list.length > 0) ?? [];

function readFailure(corpus: string, error: unknown): FailureError {
  if (error instanceof FailureError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return new FailureError({
    where: 'config',
    message:
      code === 'ENOENT'
        ? `tools.search.corpus: ${corpus} does not exist.`
        : `tools.search.corpus: ${corpus} cannot be read (${errorText(error)}).`,
    fix: 'Set tools.search.corpus to a JSON-Lines file, or to "" for no search tool.',
  });
}

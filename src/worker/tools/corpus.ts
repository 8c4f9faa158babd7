/** Reads one line of a search corpus into a document. Knows nothing of files, indexes or queries. */
import { FailureError, errorText } from '../../core/types.ts';

export interface Document {
  /** '' where the line has none. */
  title: string;
  /** One line of text; never empty. */
  text: string;
}

export const CORPUS_FIX =
  'Write one JSON object per line: {"title": "…", "text": "…"} or {"contents": "\\"Title\\"\\ntext"} (FlashRAG, wiki-18).';

/**
 * The document on a line, or undefined for a blank line. Accepts `{title, text}` and FlashRAG's `{contents}`, whose first
 * line is the quoted title. `where` (file and line number) is used in the FailureError for anything else.
 */
export function parseDocument(line: string, where: string): Document | undefined {
  return line.trim() === '' ? undefined : documentOf(parseObject(line, where), where);
}

/** The document that an object is, in one of both forms. */
export function documentOf(row: object, where: string): Document {
  const title = 'title' in row && typeof row.title === 'string' ? row.title : '';
  if ('text' in row && typeof row.text === 'string') return checked(title, row.text, where);
  if ('contents' in row && typeof row.contents === 'string') {
    const quoted = /^\s*"([^\n]*)"\s*(?:\n|$)/.exec(row.contents);
    return quoted
      ? checked(quoted[1] ?? '', row.contents.slice(quoted[0].length), where)
      : checked(title, row.contents, where);
  }
  throw refusal(`${where}: a document needs a string "text" or "contents".`);
}

function parseObject(line: string, where: string): object {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    throw refusal(`${where}: not JSON (${errorText(error)}).`);
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw refusal(`${where}: not a JSON object.`);
  }
  return row;
}

function checked(title: string, text: string, where: string): Document {
  const document = { title: onOneLine(title), text: onOneLine(text) };
  if (document.text === '') throw refusal(`${where}: the document has no text.`);
  return document;
}

const onOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

const refusal = (message: string): FailureError =>
  new FailureError({ where: 'config', message, fix: CORPUS_FIX });

/** The text of search results, in ARPO's format, wherever they come from. Knows nothing of how anything is found. */
import type { Document } from './corpus.ts';

/** upstream: the same sentence. */
export const NOTHING_FOUND = 'No search results found.';

/** upstream: quotes are the only characters that ARPO removes from a query. */
export const cleanQuery = (query: string): string => query.replaceAll('"', '').trim();

/** One line per text, numbered from 1; a sentence where there is none. */
export const pagesText = (texts: readonly string[]): string =>
  texts.map((text, i) => `Page ${i + 1}: ${text}`).join('\n') || NOTHING_FOUND;

/** The texts that a result was made of. */
export const pagesOf = (result: string): string[] =>
  result.split(/(?:^|\n)Page \d+: /).filter(text => text.trim() !== '');

/** The title is put before a text that does not begin with it, so that the reader knows what the text is about. */
export function snippetOf({ title, text }: Document, characters: number): string {
  return cutTo(title === '' || text.startsWith(title) ? text : `${title}: ${text}`, characters);
}

/** Whole characters. */
export const cutTo = (text: string, characters: number): string =>
  [...text.slice(0, characters * 2)].slice(0, characters).join('');

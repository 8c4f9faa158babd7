/** The search tool over answers that were kept: one JSON object of texts by query, ARPO's own cache. Knows nothing of where they came from. */
import { readFile } from 'node:fs/promises';
import { whole } from '../../core/figures.ts';
import { FailureError } from '../../core/types.ts';
import { cleanQuery, cutTo, NOTHING_FOUND, pagesOf, pagesText } from './pages.ts';
import type { Tool, ToolResult } from './tool.ts';

export interface AnswerFileOptions {
  cacheFile: string;
  results: number;
  resultCharacters: number;
}

/**
 * Looks a query up as it is, then as ARPO cleans it; what is not in the file is asked of `next`, and is an error where there
 * is none. Owns `next`. Throws a FailureError that names the key where the file is no such object.
 */
export async function openAnswerFile(options: AnswerFileOptions, next?: Tool): Promise<Tool> {
  const answers = await readAnswers(options.cacheFile);
  const size = `${whole(answers.size)} kept answers`;
  addCleaned(answers);
  return {
    tag: 'search',
    description: next ? `${size}, then ${next.description}` : size,
    async run(query, signal): Promise<ToolResult> {
      const kept = answers.get(query) ?? answers.get(cleanQuery(query));
      if (kept !== undefined) return { outcome: 'ok', text: shortened(kept, options) };
      // The policy reads the same as after a search without result; the run counts it as an error.
      return next ? next.run(query, signal) : { outcome: 'error', text: NOTHING_FOUND };
    },
    close: () => next?.close() ?? Promise.resolve(),
  };
}

/** Queries come as ARPO cleans them; one that is spelled so keeps its own answer. */
function addCleaned(answers: Map<string, string>): void {
  for (const [query, text] of [...answers]) {
    const cleaned = cleanQuery(query);
    if (!answers.has(cleaned)) answers.set(cleaned, text);
  }
}

function shortened(text: string, { results, resultCharacters }: AnswerFileOptions): string {
  if (text === NOTHING_FOUND) return text;
  if (!text.startsWith('Page 1: ')) return cutTo(text, results * resultCharacters);
  return pagesText(
    pagesOf(text)
      .slice(0, results)
      .map(page => cutTo(page, resultCharacters)),
  );
}

async function readAnswers(path: string): Promise<Map<string, string>> {
  const refusal = (why: string): FailureError =>
    new FailureError({
      where: 'config',
      message: `tools.search.cacheFile: ${path} ${why}`,
      fix: 'Name one JSON object of texts by query, such as ARPO’s search_cache.json, or set it to "".',
    });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refusal(isMissing ? 'does not exist.' : `cannot be read (${(error as Error).message}).`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refusal('is no JSON object.');
  const answers = new Map<string, string>();
  for (const [query, text] of Object.entries(value as Record<string, unknown>)) {
    if (typeof text !== 'string') throw refusal(`has no text at ${JSON.stringify(query)}.`);
    answers.set(query, text);
  }
  return answers;
}

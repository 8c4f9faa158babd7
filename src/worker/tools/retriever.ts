/**
 * The search tool over a retriever that speaks the protocol of Search-R1 and verl: POST {queries, topk, return_scores}. Knows
 * nothing of what the retriever looks in.
 */
import { isObject } from '../../core/configValues.ts';
import { streamKey } from '../../core/random.ts';
import { errorText, FailureError } from '../../core/types.ts';
import { PassingError, retrying } from '../retry.ts';
import { documentOf } from './corpus.ts';
import { cleanQuery, pagesText, snippetOf } from './pages.ts';
import type { Tool, ToolResult } from './tool.ts';

export interface RetrieverOptions {
  url: string;
  /** Most documents in one answer. */
  results: number;
  /** Characters that each document is cut to. */
  resultCharacters: number;
  /** For the question that it is tried with; later ones have the pool's limit. */
  timeoutMs: number;
  retries: number;
}

/** Longer answers are not read. */
const LONGEST_BODY = 16 << 20;

/** Asks one question first. Throws a FailureError that names the key where no answer comes or it is in another form. */
export async function openRetriever(options: RetrieverOptions): Promise<Tool> {
  const { url, results, resultCharacters, retries } = options;
  const search = async (query: string, signal: AbortSignal): Promise<ToolResult> => {
    const cleaned = cleanQuery(query);
    if (cleaned === '') return { outcome: 'error', text: 'The search query is empty.' };
    const rows = rowsIn(await post(url, { queries: [cleaned], topk: results, return_scores: true }, signal));
    const snippets = rows.map(row => snippetOf(documentOf(row, url), resultCharacters));
    return { outcome: 'ok', text: pagesText([...new Set(snippets)].slice(0, results)) };
  };
  const signal = AbortSignal.timeout(options.timeoutMs);
  try {
    await retrying(() => search('capital of France', signal), { retries, key: streamKey(url), signal });
  } catch (error) {
    const why = signal.aborted ? `no answer within ${options.timeoutMs / 1000} seconds` : errorText(error);
    throw new FailureError({
      where: 'config',
      message: `tools.search.url: ${url} cannot be searched: ${why}`,
      fix: 'Start the retriever, or correct tools.search.url; it must answer {"queries": […], "topk": 3} with {"result": [[…]]}.',
    });
  }
  return { tag: 'search', description: url, run: search, close: () => Promise.resolve() };
}

/** The parsed body. A PassingError where the server is busy, broken or cannot be reached. */
async function post(url: string, body: object, signal: AbortSignal): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal };
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, init);
    text = await bodyOf(response);
  } catch (error) {
    if (signal.aborted || error instanceof RangeError) throw error;
    const { cause } = error as { cause?: unknown };
    throw new PassingError(`no connection (${errorText(cause ?? error)}).`);
  }
  const { status } = response;
  if (!response.ok) {
    const message = `status ${status}${text === '' ? '.' : `: ${text.trim().slice(0, 200)}`}`;
    throw status >= 500 || status === 408 || status === 429 ? new PassingError(message) : new Error(message);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`its answer is not JSON: ${text.slice(0, 200)}`);
  }
}

async function bodyOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > LONGEST_BODY) throw new RangeError('its answer has no end.');
  }
  return text + decoder.decode();
}

/** The documents of the first and only query, with or without scores around them. */
function rowsIn(body: unknown): object[] {
  const [rows] = (
    isObject(body) && 'result' in body && Array.isArray(body.result) ? body.result : []
  ) as unknown[];
  if (!Array.isArray(rows) || !rows.every(isObject))
    throw new Error('its answer has no {"result": [[…]]} of documents.');
  return rows.map(row => ('document' in row && isObject(row.document) ? row.document : row));
}

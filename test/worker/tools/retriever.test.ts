/** Examples of searching by HTTP, against a retriever on this machine that does what it is told. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'mocha';
import { defaults, type Config } from '../../../src/core/config.ts';
import { FailureError } from '../../../src/core/types.ts';
import { openTools } from '../../../src/worker/tools/open.ts';
import type { ToolPool } from '../../../src/worker/tools/tool.ts';

const DOCUMENTS = [
  { id: '1', contents: '"Bern"\nBern is the capital of Switzerland.' },
  { id: '2', contents: '"Aare"\nA river through\nBern.' },
  { id: '3', contents: '"Copy"\nBern is the capital of Switzerland.' },
];

describe('search by HTTP', () => {
  let server: Server;
  let pool: ToolPool | undefined;
  /** One for each request; the last one stays. */
  let replies: ((request: IncomingMessage, response: ServerResponse) => void)[] = [];
  let asked: unknown[] = [];
  const json = (body: unknown) => (_: IncomingMessage, response: ServerResponse) =>
    response.end(JSON.stringify(body));
  const status = (code: number) => (_: IncomingMessage, response: ServerResponse) => {
    response.statusCode = code;
    response.end('Out of order');
  };
  const cut = (_: IncomingMessage, response: ServerResponse): void => void response.destroy();
  const hang = (): void => undefined;
  const scored = json({ result: [DOCUMENTS.map(document => ({ document, score: 0.5 }))] });

  before(done => {
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        asked.push(JSON.parse(body));
        (replies.length > 1 ? replies.shift()! : replies[0]!)(request, response);
      });
    }).listen(0, '127.0.0.1', done);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(async () => {
    await pool?.close();
    pool = undefined;
    asked = [];
  });
  const address = (): string => {
    const bound = server.address();
    assert(typeof bound === 'object' && bound !== null);
    return `http://127.0.0.1:${bound.port}/retrieve`;
  };
  const open = async (change: Partial<Config['tools']> = {}, url = address()): Promise<ToolPool> => {
    const { tools } = defaults();
    const search = { ...tools.search, url, results: 2, resultCharacters: 30 };
    const python = { ...tools.python, enabled: false };
    return (pool = await openTools({ seed: 1, tools: { ...tools, python, search, ...change } }, '/'));
  };
  const call = async (query: string): Promise<[string, string]> => {
    const { outcome, text } = await pool!.call('search', query);
    return [outcome, text];
  };

  it('asks as Search-R1 and verl do, and answers in ARPO’s lines', async () => {
    replies = [scored];
    await open();
    assert.deepEqual(pool!.describe(), { search: address() });
    assert.deepEqual(await call(' "capital" of Switzerland '), [
      'ok',
      'Page 1: Bern is the capital of Switzer\nPage 2: Aare: A river through Bern.',
    ]);
    assert.deepEqual(asked.at(-1), { queries: ['capital of Switzerland'], topk: 2, return_scores: true });
    assert.equal(asked.length, 2);
  });

  it('reads results without scores, and none', async () => {
    replies = [
      json({ result: [DOCUMENTS.slice(0, 1)] }),
      json({ result: [DOCUMENTS.slice(1, 2)] }),
      json({ result: [[]] }),
    ];
    await open();
    assert.deepEqual(await call('x'), ['ok', 'Page 1: Aare: A river through Bern.']);
    assert.deepEqual(await call('y'), ['ok', 'No search results found.']);
    assert.equal(asked.length, 3, 'an empty result is not asked for again');
    assert.deepEqual(await call(' "" '), ['error', 'The search query is empty.']);
    assert.equal(asked.length, 3);
  });

  it('asks again after a server’s error or a lost connection, but no more often than it may', async () => {
    replies = [scored, status(503), cut, scored];
    await open({ retries: 2 });
    assert.match((await call('a'))[1], /^Page 1: Bern/);
    assert.equal(asked.length, 4);
    replies = [status(500)];
    const [outcome, text] = await call('b');
    assert.equal(outcome, 'failed');
    assert.match(text, /^Error: Tool\(search\).*status 500: Out of order/);
    assert.equal(asked.length, 7);
    // Too many requests at once, or one that took too long there: later it may be answered.
    replies = [status(429), status(408), scored];
    assert.match((await call('c'))[1], /^Page 1: Bern/);
    assert.equal(asked.length, 10);
  });

  it('names a document once, however often it was found, and reads no answer without end', async () => {
    replies = [scored, json({ result: [[DOCUMENTS[1], DOCUMENTS[1], DOCUMENTS[0]]] })];
    await open();
    assert.equal(
      (await call('a'))[1],
      'Page 1: Aare: A river through Bern.\nPage 2: Bern is the capital of Switzer',
    );
    const endless = (_: unknown, response: ServerResponse): void => {
      const more = (): boolean => response.write('x'.repeat(1 << 20), () => !response.destroyed && more());
      more();
    };
    replies = [endless];
    const [outcome, text] = await call('b');
    assert.deepEqual([outcome, text.slice(-27)], ['failed', 'message: its answer has no end.'.slice(-27)]);
  });

  it('does not ask again what the server refuses or answers in another form', async () => {
    replies = [scored, status(404), json({ results: [] }), json({ result: [[{ title: 'x' }]] }), (_, response) => response.end('<html>')]; // prettier-ignore
    await open({ retries: 2 });
    const failures = [/status 404/, /no \{"result"/, /a string "text" or "contents"/, /not JSON: <html>/];
    for (const [i, pattern] of failures.entries()) {
      const [outcome, text] = await call(String(i));
      assert.deepEqual([outcome, asked.length], ['failed', 2 + i]);
      assert.match(text, pattern);
    }
  });

  it('gives up after the time', async () => {
    replies = [scored, hang];
    await open({ timeoutSeconds: 0.2 });
    assert.deepEqual(await call('a'), ['timed-out', 'Tool(search) did not answer within 0.2 seconds.']);
  });

  it('refuses at the start a retriever that is not there, names the key and the fix', async () => {
    const refused = (pattern: RegExp) => (error: unknown) => {
      assert(error instanceof FailureError);
      assert.match(error.failure.message, /^tools\.search\.url: http/);
      assert.match(error.failure.message, pattern);
      assert.match(error.failure.fix ?? '', /Start the retriever/);
      return true;
    };
    await assert.rejects(open({ retries: 0 }, 'http://127.0.0.1:1/retrieve'), refused(/no connection/));
    replies = [json({})];
    await assert.rejects(open(), refused(/no \{"result"/));
    replies = [hang];
    await assert.rejects(open({ timeoutSeconds: 0.1 }), refused(/no answer within 0\.1 seconds/));
  });
});

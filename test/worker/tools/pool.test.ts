/** Examples of the tool pool: order, sharing, limits, and an answer to every call. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { openPool } from '../../../src/worker/tools/pool.ts';
import type { Tool, ToolResult } from '../../../src/worker/tools/tool.ts';

interface ScriptedTool extends Tool {
  /** Arguments in the order in which execution began. */
  readonly begun: string[];
  readonly aborted: string[];
  isClosed: boolean;
  finish(argument: string, result?: ToolResult): void;
}

/** Answers when it is told to. */
function scriptedTool(tag: string, concurrency?: number): ScriptedTool {
  const pending = new Map<string, (result: ToolResult) => void>();
  return {
    tag,
    description: `scripted ${tag}`,
    ...(concurrency === undefined ? {} : { concurrency }),
    begun: [],
    aborted: [],
    isClosed: false,
    run(argument, signal) {
      this.begun.push(argument);
      signal.addEventListener('abort', () => this.aborted.push(argument));
      return new Promise(resolve => pending.set(argument, resolve));
    },
    finish(argument, result = { outcome: 'ok', text: `answer to ${argument}` }) {
      pending.get(argument)?.(result);
    },
    close() {
      this.isClosed = true;
      return Promise.resolve();
    },
  };
}

const immediate = (tag: string, run: (argument: string) => ToolResult): Tool => ({
  tag,
  description: tag,
  run: argument => Promise.resolve().then(() => run(argument)),
  close: () => Promise.resolve(),
});

const turn = (): Promise<void> => new Promise(done => setImmediate(done));

describe('tool pool', () => {
  it('describes its tools and answers with what they answer and how long it took', async () => {
    const pool = openPool([immediate('echo', text => ({ outcome: 'ok', text }))], {
      timeoutMs: 1000,
      concurrency: 2,
    });
    assert.deepEqual(pool.tags, ['echo']);
    assert.deepEqual(pool.describe(), { echo: 'echo' });
    const { latencyMs, ...result } = await pool.call('echo', 'hello');
    assert.deepEqual(result, { outcome: 'ok', text: 'hello', shared: false });
    assert(latencyMs >= 0 && Number.isFinite(latencyMs));
    await pool.close();
  });

  it('runs identical calls in flight once, and again when they have ended', async () => {
    const tool = scriptedTool('a');
    const pool = openPool([tool, scriptedTool('b')], { timeoutMs: 5000, concurrency: 4 });
    const first = ['same', 'same', 'other', 'same'].map(argument => pool.call('a', argument));
    void pool.call('b', 'same');
    await turn();
    assert.deepEqual(tool.begun, ['same', 'other']);
    for (const argument of tool.begun) tool.finish(argument);
    const results = await Promise.all(first);
    assert.deepEqual(results.map(({ shared }) => shared), [false, true, false, true]); // prettier-ignore
    assert.deepEqual(results.map(({ text }) => text), ['same', 'same', 'other', 'same'].map(x => `answer to ${x}`)); // prettier-ignore
    const again = pool.call('a', 'same');
    await turn();
    tool.finish('same');
    assert.equal((await again).shared, false);
    assert.deepEqual(tool.begun, ['same', 'other', 'same']);
    await pool.close();
  });

  it('executes no more calls at once than allowed, in the order in which they came', async () => {
    const tool = scriptedTool('a');
    const pool = openPool([tool], { timeoutMs: 5000, concurrency: 2 });
    const calls = ['1', '2', '3', '4'].map(argument => pool.call('a', argument));
    await turn();
    assert.deepEqual(tool.begun, ['1', '2']);
    tool.finish('2');
    await turn();
    assert.deepEqual(tool.begun, ['1', '2', '3']);
    tool.finish('1');
    await turn();
    assert.deepEqual(tool.begun, ['1', '2', '3', '4']);
    tool.finish('3');
    tool.finish('4');
    await Promise.all(calls);
    await pool.close();
  });

  it('lets calls pass those that wait for a busy tool', async () => {
    const [narrow, wide] = [scriptedTool('narrow', 1), scriptedTool('wide')];
    const pool = openPool([narrow, wide], { timeoutMs: 5000, concurrency: 2 });
    const calls = [pool.call('narrow', '1'), pool.call('narrow', '2'), pool.call('wide', '3')];
    await turn();
    assert.deepEqual([narrow.begun, wide.begun], [['1'], ['3']]);
    narrow.finish('1');
    await turn();
    assert.deepEqual(narrow.begun, ['1', '2']);
    narrow.finish('2');
    wide.finish('3');
    await Promise.all(calls);
    await pool.close();
  });

  it('answers for a tool that does not, tells it to stop and goes on', async () => {
    const tool = scriptedTool('slow');
    const pool = openPool([tool], { timeoutMs: 20, concurrency: 1 });
    const [late, next] = [pool.call('slow', '1'), pool.call('slow', '2')];
    const { outcome, text, shared } = await late;
    const sentence = 'Tool(slow) did not answer within 0.02 seconds.';
    assert.deepEqual([outcome, text, shared], ['timed-out', sentence, false]);
    assert.deepEqual(tool.aborted, ['1']);
    await next;
    assert.deepEqual(tool.begun, ['1', '2']);
    await pool.close();
  });

  it('makes a result of what goes wrong', async () => {
    const tools = [
      immediate('throws', () => {
        throw new Error('no luck');
      }),
      immediate('empty', () => ({ outcome: 'ok', text: ' \n' })),
    ];
    const pool = openPool(tools, { timeoutMs: 1000, concurrency: 1 });
    const call = async (tag: string): Promise<ToolResult> => {
      const { outcome, text } = await pool.call(tag, 'x');
      return { outcome, text };
    };
    const text = 'Error: Tool(throws) execution failed with message: no luck';
    assert.deepEqual(await call('throws'), { outcome: 'failed', text });
    assert.deepEqual(await call('empty'), { outcome: 'ok', text: 'Tool(empty) returned empty output.' });
    assert.deepEqual(await call('browse'), {
      outcome: 'refused',
      text: 'There is no tool browse; the tools are: throws, empty.',
    });
    await pool.close();
  });

  it('answers all calls and closes its tools when it is closed', async () => {
    const tool = scriptedTool('a');
    const pool = openPool([tool], { timeoutMs: 60_000, concurrency: 1 });
    const calls = [pool.call('a', '1'), pool.call('a', '2')];
    await turn();
    await pool.close();
    const outcomes = (await Promise.all(calls)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['failed', 'failed']);
    assert.deepEqual(tool.aborted, ['1']);
    assert.equal(tool.isClosed, true);
    assert.deepEqual(tool.begun, ['1']);
    assert.equal((await pool.call('a', '3')).outcome, 'failed');
  });
});

/** Examples of recorded tool calls. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'mocha';
import { FailureError, type Failure } from '../../../src/core/types.ts';
import { interceptWrites } from '../../../src/run/disk.ts';
import { openCassette, type CassetteOptions } from '../../../src/worker/tools/cassette.ts';
import { openPool } from '../../../src/worker/tools/pool.ts';
import type { ToolPool, ToolResult } from '../../../src/worker/tools/tool.ts';

describe('cassette of tool calls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-cassette-'));
  after(() => rmSync(folder, { recursive: true }));
  let executed: string[] = [];
  let warnings: Failure[] = [];
  beforeEach(() => {
    executed = [];
    warnings = [];
  });
  const path = (name: string): string => join(folder, name);
  const livePool = (): Promise<ToolPool> => {
    const run = (argument: string): Promise<ToolResult> => {
      executed.push(argument);
      if (argument === 'fail') return Promise.reject(new Error('down'));
      return Promise.resolve({
        outcome: argument === 'wrong' ? 'error' : 'ok',
        text: `text ${executed.length}`,
      });
    };
    const tool = { tag: 'search', description: '9 documents', run, close: () => Promise.resolve() };
    return Promise.resolve(openPool([tool], { timeoutMs: 1000, concurrency: 2 }));
  };
  const open = (mode: CassetteOptions['mode'], name: string, openTools = livePool): Promise<ToolPool> =>
    openCassette({ mode, file: path(name), openPool: openTools, warn: failure => warnings.push(failure) });
  const calls = async (pool: ToolPool, ...wanted: string[]): Promise<[string, string, boolean][]> => {
    const results: [string, string, boolean][] = [];
    for (const argument of wanted) {
      const { outcome, text, shared } = await pool.call('search', argument);
      results.push([outcome, text, shared]);
    }
    return results;
  };
  const lines = (name: string): unknown[] =>
    readFileSync(path(name), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as unknown);

  it('records what was answered, once, and not what failed', async () => {
    const pool = await open('record', 'new/a.jsonl');
    const results = await calls(pool, 'a', 'wrong', 'fail', 'a');
    assert.deepEqual(results.map(([outcome]) => outcome), ['ok', 'error', 'failed', 'ok']); // prettier-ignore
    await pool.close();
    assert.deepEqual(executed, ['a', 'wrong', 'fail', 'a'], 'every call is executed');
    assert.deepEqual(lines('new/a.jsonl'), [
      { tools: { search: '9 documents' } },
      { tag: 'search', argument: 'a', outcome: 'ok', text: 'text 1' },
      { tag: 'search', argument: 'wrong', outcome: 'error', text: 'text 2' },
      { tag: 'search', argument: 'a', outcome: 'ok', text: 'text 4' },
    ]);
  });

  it('replays without opening a tool; a call that is not there fails and is named', async () => {
    const pool = await open('replay', 'new/a.jsonl', () => Promise.reject(new Error('opened')));
    assert.deepEqual(pool.tags, ['search']);
    assert.deepEqual(pool.describe(), { search: 'recording of 9 documents' });
    assert.deepEqual(await calls(pool, 'wrong', 'a', 'b'), [
      ['error', 'text 2', true],
      ['ok', 'text 4', true],
      ['failed', 'The recording has no answer to this call of search: b', false],
    ]);
    await pool.close();
  });

  it('replays what it has and records the rest, also for two pools of one run', async () => {
    const pools = [
      await open('replay-or-record', 'b.jsonl'),
      await open('replay-or-record', 'b.jsonl'),
    ] as const;
    assert.deepEqual(await calls(pools[0], 'a', 'a'), [['ok', 'text 1', false], ['ok', 'text 1', true]]); // prettier-ignore
    assert.deepEqual(await calls(pools[1], 'a', 'b'), [['ok', 'text 1', true], ['ok', 'text 2', false]]); // prettier-ignore
    await pools[0].close();
    assert.deepEqual(await calls(pools[1], 'c'), [['ok', 'text 3', false]]);
    await pools[1].close();
    assert.equal(lines('b.jsonl').length, 4);
    const again = await open('replay-or-record', 'b.jsonl');
    assert.deepEqual(await calls(again, 'c'), [['ok', 'text 3', true]]);
    await again.close();
    assert.equal(lines('b.jsonl').length, 4);
  });

  it('leaves a torn last line alone, and cuts it off before it records more', async () => {
    writeFileSync(
      path('torn.jsonl'),
      '{"tag":"search","argument":"a","outcome":"ok","text":"kept"}\n{"tag":"sea',
    );
    const replayed = await open('replay', 'torn.jsonl');
    assert.deepEqual(await calls(replayed, 'a'), [['ok', 'kept', true]]);
    await replayed.close();
    const pool = await open('replay-or-record', 'torn.jsonl');
    await calls(pool, 'b');
    await pool.close();
    assert.deepEqual(lines('torn.jsonl').length, 3);
  });

  it('warns where a call cannot be recorded, and answers it', async () => {
    const pool = await open('record', 'full.jsonl');
    const release = interceptWrites(operation => {
      if (operation === 'append') throw new Error('ENOSPC: no space left');
    });
    try {
      assert.deepEqual(await calls(pool, 'a'), [['ok', 'text 1', false]]);
    } finally {
      release();
    }
    await pool.close();
    assert.deepEqual(warnings.map(({ message }) => message), ['A call of search was not recorded: ENOSPC: no space left']); // prettier-ignore
  });

  it('refuses a recording that is missing or broken, with file, line and fix', async () => {
    const good = '{"tools":{"search":"d"}}\n';
    writeFileSync(path('text.jsonl'), `${good}nonsense\n`);
    writeFileSync(path('list.jsonl'), `${good}\n[1]\n`);
    writeFileSync(path('other.jsonl'), '{"tag":"search","argument":"a","outcome":"great","text":"t"}\n');
    const cases: [CassetteOptions['mode'], string, RegExp][] = [
      ['replay', 'none.jsonl', /none\.jsonl cannot be opened \(ENOENT/],
      ['replay', 'text.jsonl', /text\.jsonl:2 is not JSON/],
      ['record', 'list.jsonl', /list\.jsonl:3 is no JSON object/],
      ['replay-or-record', 'other.jsonl', /other\.jsonl:1 is neither/],
    ];
    for (const [mode, name, message] of cases)
      await assert.rejects(open(mode, name), error => {
        assert(error instanceof FailureError);
        assert.match(error.failure.message, message);
        assert.match(error.failure.fix ?? '', /record one/);
        return true;
      });
    appendFileSync(path('none.jsonl'), good);
    await (await open('replay', 'none.jsonl')).close();
  });
});

/** What the doctor says of tools that do not answer as they should. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults } from '../../../src/core/config.ts';
import type { ToolOutcome } from '../../../src/core/types.ts';
import { checkTools } from '../../../src/worker/doctor/tools.ts';
import type { ToolPool } from '../../../src/worker/tools/tool.ts';
import { sums } from '../../fakes/tinyWorld.ts';

/** Tools that answer so, and what they were asked. */
function answering(answers: Record<string, [ToolOutcome, string]>): { pool: ToolPool; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    pool: {
      tags: Object.keys(answers),
      describe: () => Object.fromEntries(Object.keys(answers).map(tag => [tag, `a ${tag}`])),
      call: (tag, argument) => {
        asked.push(argument);
        const [outcome, text] = answers[tag]!;
        return Promise.resolve({ outcome, text, latencyMs: 7.4, shared: false });
      },
      close: () => Promise.resolve(),
    },
  };
}
const { tools } = defaults();
const check = (answers: Record<string, [ToolOutcome, string]>) =>
  checkTools(answering(answers).pool, sums(1)[0], tools);

describe('the doctor, of tools', () => {
  it('asks Python to compute and others the first question, and says what came and when', async () => {
    const { pool, asked } = answering({ python: ['ok', '42\n'], search: ['ok', 'Page 1: 13'] });
    const results = await checkTools(pool, sums(1)[0], tools);
    assert.deepEqual(asked, ['print(6 * 7)', 'What is 11 + 2?']);
    assert.deepEqual(
      results.map(({ id, status, message }) => [id, status, message]),
      [
        ['tools.python', 'ok', 'a python answered in 7 ms: "42\\n".'],
        ['tools.search', 'ok', 'a search answered in 7 ms: "Page 1: 13".'],
      ],
    );
  });

  it('finds a Python that computes wrongly, or not at all', async () => {
    for (const answer of [
      ['ok', '41'],
      ['error', '42'],
    ] as [ToolOutcome, string][]) {
      const [result] = await check({ python: answer });
      assert.deepEqual([result!.status, result!.key], ['error', 'tools.python.sandbox']);
      assert.match(result!.message, /but print\(6 \* 7\) gave "4[12]"/);
    }
  });

  it('warns of a tool that answers with an error, and finds one that fails or is late', async () => {
    const statusOf = async (outcome: ToolOutcome): Promise<string> =>
      (await check({ search: [outcome, 'Sorry.'] }))[0]!.status;
    assert.equal(await statusOf('ok'), 'ok');
    assert.equal(await statusOf('error'), 'warning');
    for (const outcome of ['failed', 'timed-out', 'too-large'] as const)
      assert.equal(await statusOf(outcome), 'error', outcome);
  });

  it('warns where no trajectory can call: without tools, or without calls', async () => {
    const [none] = await check({});
    assert.deepEqual([none!.status, none!.key], ['warning', 'tools.python.enabled']);
    const { pool, asked } = answering({ search: ['ok', 'x'] });
    const [forbidden, ...others] = await checkTools(pool, undefined, { ...tools, callLimit: 0 });
    assert.deepEqual(
      [forbidden!.status, forbidden!.key, others, asked],
      ['warning', 'tools.callLimit', [], []],
    );
  });
});

/** Examples of a tool of the user's own, behind the pool as in a run. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'mocha';
import { defaults } from '../../../src/core/config.ts';
import type { ToolsConfig } from '../../../src/core/configTools.ts';
import { FailureError } from '../../../src/core/types.ts';
import { openTools } from '../../../src/worker/tools/open.ts';
import type { ToolPool } from '../../../src/worker/tools/tool.ts';

const SAMPLE = join(import.meta.dirname, '../../../media/sample');

describe('tool of one’s own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-own-tool-'));
  after(() => rmSync(folder, { recursive: true }));
  let pool: ToolPool | undefined;
  afterEach(async () => {
    await pool?.close();
    pool = undefined;
  });
  const open = async (own: object, change: Partial<ToolsConfig> = {}, base = folder): Promise<ToolPool> => {
    const { tools } = defaults();
    const custom = [{ tag: 'roll', module: '', command: [], folder: '.', ...own }];
    const python = { ...tools.python, enabled: false };
    return (pool = await openTools({ seed: 1, tools: { ...tools, python, custom, ...change } }, base));
  };
  const call = async (argument: string): Promise<[string, string]> => {
    const { outcome, text } = await pool!.call('roll', argument);
    return [outcome, text];
  };
  const module = (name: string, body: string): { module: string } => {
    writeFileSync(join(folder, name), `export default async ({ argument, probe }) => { ${body} };`);
    return { module: name };
  };

  it('answers calls as the sample shows it', async () => {
    await open({ module: 'own/roll.mjs' }, {}, SAMPLE);
    assert.deepEqual(pool!.tags, ['roll']);
    assert.deepEqual(pool!.describe(), { roll: 'roll.mjs' });
    assert.deepEqual(await call('3d6'), ['ok', 'The mean of 3d6 is 10.5.']);
    assert.deepEqual(await call('three'), ['error', 'Write it as 2d6.']);
  });

  it('has failures that are results', async () => {
    const body = `
      if (argument === 'throw') throw new Error('no luck');
      if (argument === 'number') return { text: 3 };
      if (argument === 'outcome') return { text: 'x', outcome: 'great' };
      if (argument === 'hang') await new Promise(() => setInterval(() => 0, 1000));
      if (argument === 'exit') process.exit(1);
      if (argument === 'empty') return { text: '' };
      return { text: 'fine' };`;
    await open(module('bad.mjs', body), { timeoutSeconds: 1, retries: 0 });
    const failed = 'Error: Tool(roll) execution failed with message: ';
    const [outcome, text] = await call('throw');
    assert.deepEqual([outcome, text.startsWith(`${failed}Error: no luck`)], ['failed', true]);
    assert.deepEqual(await call('number'), ['failed', `${failed}Its "text" must be a text, but is 3.`]);
    assert.deepEqual(await call('outcome'), ['failed', `${failed}Its "outcome" must be "ok" or "error", but is "great".`]); // prettier-ignore
    assert.deepEqual(await call('empty'), ['ok', 'Tool(roll) returned empty output.']);
    assert.deepEqual(await call('hang'), ['timed-out', 'Tool(roll) did not answer within 1 seconds.']);
    assert.match((await call('exit'))[1], /ended with status 1/);
    assert.deepEqual(await call('x'), ['ok', 'fine']);
  });

  it('is asked again where it ended for once', async () => {
    const marker = join(folder, 'once').replaceAll('\\', '/');
    const body = `
      const { existsSync, writeFileSync } = await import('node:fs');
      if (!probe && !existsSync('${marker}')) { writeFileSync('${marker}', ''); process.exit(1); }
      return { text: 'second time' };`;
    await open(module('once.mjs', body), { retries: 1 });
    assert.deepEqual(await call('x'), ['ok', 'second time']);
  });

  it('takes an error for an answer to the probe, and refuses at the start what does not answer', async () => {
    await open(module('strict.mjs', 'if (probe) throw new Error("x"); return { text: argument };'));
    assert.deepEqual(await call('y'), ['ok', 'y']);
    await pool!.close();
    await assert.rejects(open(module('wrong.mjs', 'return { answer: 1 };')), error => {
      assert(error instanceof FailureError);
      assert.match(error.failure.message, /^tools\.custom: the tool roll does not work: Its "text" must be/);
      assert.match(error.failure.fix ?? '', /Let it answer \{"id": 1, "text"/);
      return true;
    });
  });
});

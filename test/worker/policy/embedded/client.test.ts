/** Examples of an engine's process whose channel breaks while asks are open. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { ObjectiveSettings } from '../../../../src/core/objective.ts';
import type { FailureError } from '../../../../src/core/types.ts';
import { realEquipment } from '../../../../src/worker/equipment.ts';
import { openEmbedded } from '../../../../src/worker/policy/embedded/client.ts';
import { explained } from '../../../../src/worker/policy/explained.ts';
import type { OpenSettings } from '../../../../src/worker/policy/policy.ts';
import { openTokenizer } from '../../../../src/worker/tokenizer.ts';
import { makeTinyModel } from '../../../fakes/tinyModel.ts';
import { packPieces } from './fixtures.ts';

const OBJECTIVE: ObjectiveSettings = {
  ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.3, dualClip: 3, klWeight: 0, entropyWeight: 0 },
};

describe('the embedded engine’s process', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'client-'))));
  after(() => rmSync(folder, { recursive: true }));

  const breaking: [string, string, RegExp][] = [
    ['sends what is no message', 'process.send("nonsense")', /was ended \(.*no message\.\)/],
    [
      'hangs up and goes on',
      'if (process.connected) process.disconnect()',
      /was ended \(The other process has gone\.\)/,
    ],
    ['ends', 'process.exit(7)', /ended with exit code 7/],
  ];
  for (const [what, body, message] of breaking)
    it(`rejects every open ask where it ${what}, and is gone`, async () => {
      const program = join(folder, `${what.replaceAll(' ', '-')}.cjs`);
      writeFileSync(program, `setInterval(() => 0, 1000); process.on('message', () => { ${body}; });`);
      const policy = await openEmbedded({ program });
      const exited = new Promise(resolve => policy.onExit(resolve));
      const asked = [policy.forget('1.'), policy.save(folder, false)].map(open =>
        assert.rejects(open, { name: 'FailureError', message }),
      );
      await Promise.all(asked);
      await exited;
      assert.throws(() => process.kill(policy.pid, 0), { code: 'ESRCH' });
      await policy.close();
    });

  it('is ended where it does not end when it is closed, as one that computes for ever', async () => {
    const program = join(folder, 'endless.cjs');
    writeFileSync(program, "process.on('message', () => { for (;;); });");
    const policy = await openEmbedded({ program, closingMs: 100 });
    let exits = 0;
    policy.onExit(() => exits++);
    await policy.close();
    assert.equal(exits, 0);
    assert.throws(() => process.kill(policy.pid, 0), { code: 'ESRCH' });
  });

  it('is ended at once where it is closed while it opens a policy', async () => {
    const program = join(folder, 'opening.cjs');
    writeFileSync(program, "process.on('message', () => setInterval(() => 0, 1000));");
    const policy = await openEmbedded({ program, closingMs: 600_000 });
    let exits = 0;
    policy.onExit(() => exits++);
    const refused = assert.rejects(policy.open({} as OpenSettings), { message: 'The policy was closed.' });
    await policy.close();
    await refused;
    assert.equal(exits, 0);
    assert.throws(() => process.kill(policy.pid, 0), { code: 'ESRCH' });
    const opening = realEquipment(() => undefined).openPolicy({} as OpenSettings, AbortSignal.abort());
    await assert.rejects(opening, /Opening the policy was called off/);
  });

  it('is ended where it refuses to be closed, and the refusal is told', async () => {
    const program = join(folder, 'refusing.cjs');
    const answer = "{ kind: 'refusal', id, failure: { where: 'policy', message: 'no' } }";
    writeFileSync(program, `process.on('message', ({ id }) => process.send(${answer}));`);
    const policy = await openEmbedded({ program });
    let exits = 0;
    policy.onExit(() => exits++);
    await assert.rejects(policy.close(), { name: 'FailureError', message: 'no' });
    assert.equal(exits, 0);
    assert.throws(() => process.kill(policy.pid, 0), { code: 'ESRCH' });
  });

  it('says what can be done where memory runs out while it trains', async function () {
    if (spawnSync('prlimit', ['--version']).status !== 0) {
      console.log('      skipped: there is no prlimit here to take memory away with.');
      return this.skip();
    }
    const model = await makeTinyModel(join(folder, 'model'), { vocabulary: 60_000, contextLength: 3000 });
    const { pieces, endIds } = await openTokenizer(model);
    const policy = await openEmbedded();
    await policy.open({
      ...{ folder: model, device: 'cpu', threads: 1, maxPathTokens: 3000, pieces, stops: [], endIds },
      ...{ trainable: true, memoryLimitBytes: 8e9 },
    });
    const status = readFileSync(`/proc/${policy.pid}/status`, 'utf8');
    const bytes = 1024 * Number(/VmData:\s+(\d+)/.exec(status)![1]);
    // What the head's scores alone take is ten times as much.
    assert.equal(spawnSync('prlimit', ['--pid', `${policy.pid}`, `--data=${bytes + 5e7}`]).status, 0);
    const ids = Array.from({ length: 2500 }, (_, i) => i % 50);
    const tree = packPieces([{ parent: -1, ids, terms: ids.map(() => [{ advantage: 1, weight: 1 }]) }]);
    await assert.rejects(policy.accumulate({ trees: [tree], temperature: 1 }, OBJECTIVE), error => {
      const { where, message, fix } = (error as FailureError).failure;
      assert.equal(where, 'policy');
      assert.match(message, /^The engine ran out of memory\. .*bad_alloc/s);
      assert.match(fix!, /lower memoryMB/);
      return true;
    });
    // Without memory it may also end before it is asked to.
    await policy.close().catch((error: Error) => assert.match(error.message, /was killed \(SIGABRT\)/));
  });

  it('takes a kill, a failed array and a full heap for want of memory, and nothing else', () => {
    const toldOf = (message: string): boolean => explained({ where: 'bug', message }).fix !== undefined;
    const wants = [
      'Array buffer allocation failed',
      'Invalid typed array length: 9000000000',
      'Failed to allocate memory for requested buffer of size 8',
      "The engine's process was killed (SIGKILL).",
      "The engine's process was killed (SIGABRT). It wrote last:\nFATAL ERROR: JavaScript heap out of memory",
    ];
    assert.deepEqual(wants.filter(message => !toldOf(message)), []); // prettier-ignore
    assert.equal(toldOf('The policy is not open.'), false);
    assert.equal(toldOf("The engine's process ended with exit code 7."), false);
  });
});

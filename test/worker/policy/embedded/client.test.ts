/** Examples of an engine's process whose channel breaks while asks are open. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { openEmbedded } from '../../../../src/worker/policy/embedded/client.ts';

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
});

/** Hostile programs are contained: each ends as it may, and reaches nothing. They run beside each other, through one pool. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { FailureError } from '../../../src/core/types.ts';
import { openPool } from '../../../src/worker/tools/pool.ts';
import { openPython } from '../../../src/worker/tools/python.ts';
import type { PooledResult, ToolPool } from '../../../src/worker/tools/tool.ts';
import { hostilePrograms, type Prey } from './hostilePrograms.ts';

const SECRET = 'a-secret-of-the-host';
const LIMITS = { timeoutMs: 1_000, memoryMB: 256, outputBytes: 2_048, concurrency: 2 };
const NOWHERE: Prey = { port: 0, secret: '', folder: '' };

describe('hostile programs', () => {
  it('are at least thirty', () => assert(hostilePrograms(NOWHERE).length >= 30));
});

for (const sandbox of ['bubblewrap', 'pyodide'] as const) {
  describe(`hostile programs in ${sandbox}`, function () {
    // An interpreter that was ended starts again; where the machine has other work that takes its time.
    this.timeout(180_000);
    const folder = mkdtempSync(join(tmpdir(), 'branchpoint-hostile-'));
    const secret = join(folder, 'secret');
    writeFileSync(secret, SECRET);
    let pool: ToolPool | undefined;
    let server: Server;
    let connections = 0;
    let results = new Map<string, Promise<PooledResult>>();

    before(async function () {
      process.env.BRANCHPOINT_SECRET = SECRET;
      server = createServer(socket => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      assert(typeof address === 'object' && address !== null);
      try {
        const tool = await openPython({ sandbox, ...LIMITS });
        pool = openPool([tool], { timeoutMs: 150_000, concurrency: 2 });
      } catch (error) {
        assert(error instanceof FailureError);
        console.log(`      skipped: ${error.message}`);
        return this.skip();
      }
      const all = hostilePrograms({ port: address.port, secret, folder });
      results = new Map(all.map(({ name, lines }) => [name, pool!.call('python', lines.join('\n'))]));
    });
    after(async () => {
      delete process.env.BRANCHPOINT_SECRET;
      await pool?.close();
      server.close();
      rmSync(folder, { recursive: true });
    });

    for (const { name, ending } of hostilePrograms(NOWHERE))
      it(`contain one that ${name}`, async () => {
        const result = await results.get(name);
        assert(result);
        assert.match(
          `${result.outcome}: ${result.text}`,
          ending instanceof RegExp ? ending : ending[sandbox],
        );
        assert(!result.text.includes(SECRET));
        assert(result.text.length < LIMITS.outputBytes + 100);
      });

    it('have reached nothing, and leave a clean sandbox', async () => {
      await Promise.all(results.values());
      assert.equal(connections, 0);
      assert.equal(readFileSync(secret, 'utf8'), SECRET);
      assert.deepEqual(readdirSync(folder), ['secret']);
      const look = ['import os', 'print(sorted(os.listdir("/tmp")), os.listdir("."))'].join('\n');
      const seen = await Promise.all([1, 2, 3, 4].map(n => pool!.call('python', `${look} # ${n}`)));
      assert.deepEqual(seen.map(({ text }) => text), Array(4).fill("['program'] []")); // prettier-ignore
    });
  });
}

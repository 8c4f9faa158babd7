/** Examples of a resident interpreter that does not keep to the protocol. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'mocha';
import { Resident } from '../../../src/worker/tools/resident.ts';

const LIMITS = { timeoutMs: 200, memoryMB: 64, outputBytes: 1_000 };
const STREAM = '{ head: "1", tail: "", dropped: 0 }';
const REPORT = `{ id: id++, status: 0, verdict: null, stdout: ${STREAM}, stderr: ${STREAM} }`;

describe('resident interpreter', () => {
  let resident: Resident;
  afterEach(() => resident.end());
  /** A process that says it is ready, then does this for every line that it reads. */
  const answering = (program: string): Resident => {
    const tell =
      'let id = 1; const tell = message => console.log(JSON.stringify(message)); tell({ ready: "3.0.0" });';
    const args = ['-e', `${tell} process.stdin.on("data", () => { ${program} })`];
    return new Resident({ command: process.execPath, args, env: {} }, LIMITS);
  };
  const run = (): ReturnType<Resident['run']> => resident.run('1', AbortSignal.timeout(10_000));

  it('answers program after program', async () => {
    resident = answering(`tell(${REPORT})`);
    assert.equal(await resident.ready, '3.0.0');
    assert.equal((await run()).stdout.head, '1');
    assert.equal((await run()).verdict, null);
    assert.equal(resident.isUsable, true);
  });

  it('takes no other program after the one that it calls its last', async () => {
    resident = answering(`tell({ ...${REPORT}, isLast: true })`);
    assert.equal((await run()).verdict, null);
    assert.equal(resident.isUsable, false);
  });

  it('is ended where it talks nonsense, too much or not at all', async () => {
    const answers: [string, string][] = [
      ['console.log("nonsense")', 'crash'],
      ['tell({ id: 1, status: 0 })', 'crash'],
      [`id = 9; tell(${REPORT})`, 'crash'],
      ['process.stdout.write("x".repeat(200_000))', 'crash'],
      ['process.exit(0)', 'crash'],
      ['', 'timed-out'],
    ];
    for (const [program, verdict] of answers) {
      resident = answering(program);
      assert.equal((await run()).verdict, verdict, program);
      assert.equal(resident.isUsable, false, program);
    }
  });

  it('is ended where an answer came that nobody asked for', async () => {
    resident = answering(`const report = ${REPORT}; tell(report); tell(report)`);
    await run();
    assert.equal((await run()).verdict, 'crash');
  });

  it('is ended when its caller gives up', async () => {
    resident = answering('');
    await resident.ready;
    assert.equal((await resident.run('1', AbortSignal.timeout(10))).verdict, 'timed-out');
    assert.equal(resident.isUsable, false);
  });

  it('says why it cannot be started', async () => {
    resident = new Resident({ command: 'no-such-program', args: [], env: {} }, LIMITS);
    await assert.rejects(resident.ready, /no-such-program ENOENT/);
    const node = (script: string): Resident =>
      new Resident({ command: process.execPath, args: ['-e', script], env: {} }, LIMITS);
    resident = node('console.error("no rights"); process.exitCode = 1');
    await assert.rejects(resident.ready, /^Error: no rights$/);
    resident = node('');
    await assert.rejects(resident.ready, /ended before it was ready/);
  });
});

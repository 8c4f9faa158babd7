/**
 * The tests of this process get a temporary folder of their own, in which nothing may be left at the end, nor a process that was
 * started from here, nor anything that keeps this one from ending. Knows nothing of what is tested.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { end, processesOf } from './processes.mjs';

/** What the last test lets go of may take so long to end. */
const PATIENCE_MS = 10_000;

// A short name: sockets are made in it, whose paths must be short.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bp-')));
for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder;
// Not once: a signal may come from several sides, and the second would end this process amid its clearing up.
for (const name of ['SIGTERM', 'SIGHUP'])
  process.on(name, () => {
    processesOf(folder).forEach(end);
    process.exit(1);
  });
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));

/** Root hooks of mocha. */
export const mochaHooks = {
  async afterAll() {
    this.timeout(2 * PATIENCE_MS);
    try {
      await assertNothingLeft();
    } finally {
      // Mocha ends when nothing is alive any more: a server that a failed test left open would be waited for without an end.
      setTimeout(sayWhatIsAlive, PATIENCE_MS).unref();
    }
  },
};

/** Throws where files or processes are left; the processes are ended. */
export async function assertNothingLeft() {
  const look = () => ({ files: readdirSync(folder), processes: processesOf(folder) });
  let left = look();
  const isLeft = () => left.files.length + left.processes.length > 0;
  for (const limit = Date.now() + PATIENCE_MS; isLeft() && Date.now() < limit; left = look()) await wait(100);
  left.processes.forEach(end);
  assert.deepEqual(left, { files: [], processes: [] }, 'the tests left something behind');
}

function sayWhatIsAlive() {
  console.error(`The tests are over, but still alive are: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}

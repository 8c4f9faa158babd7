/** One worker owns a run folder; a dead one does not. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { mock } from 'node:test';
import { describe, it } from 'mocha';
import { serve } from '../../src/protocol/channel.ts';
import type { WorkerStatus, WorkerVerbs } from '../../src/protocol/verbs.ts';
import { setClock } from '../../src/run/clock.ts';
import { acquireLock, connectWorker, liveLock, readLock } from '../../src/run/lock.ts';
import type { LockContent } from '../../src/run/lock.ts';
import { socketPort } from '../../src/run/ports.ts';
import { inFolder } from './fixtures.ts';

const write = (folder: string, content: LockContent): void =>
  writeFileSync(join(folder, 'run.lock'), JSON.stringify(content));

/** Process id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0']);
  await once(child, 'exit');
  return child.pid!;
}

describe('lock', () => {
  it('names its owner, for its owner’s eyes only, and goes with it', () =>
    inFolder(folder => {
      const lock = acquireLock(folder);
      const stored = readLock(folder);
      assert.deepEqual(stored, lock.content);
      assert.equal(stored?.pid, process.pid);
      assert.ok(stored.socket.length <= 100);
      assert.equal(liveLock(folder)?.token, lock.content.token);
      if (process.platform !== 'win32') {
        assert.equal(statSync(join(folder, 'run.lock')).mode & 0o777, 0o600);
        assert.equal(statSync(dirname(stored.socket)).mode & 0o777, 0o700);
      }
      lock.release();
      assert.equal(readLock(folder), undefined);
      assert.ok(!existsSync(dirname(stored.socket)));
      lock.release();
    }));

  it('is refused while its owner lives', () =>
    inFolder(folder => {
      const lock = acquireLock(folder);
      assert.throws(() => acquireLock(folder), new RegExp(`process ${process.pid}, since .* owns`));
      lock.release();
      acquireLock(folder).release();
    }));

  it('is taken over from a dead process, and from a new process with an old id', () =>
    inFolder(async folder => {
      const first = acquireLock(folder);
      write(folder, { ...first.content, pid: await deadPid(), token: 'dead' });
      assert.equal(liveLock(folder), undefined);
      const second = acquireLock(folder);
      assert.notEqual(second.content.token, first.content.token);
      if (process.platform === 'linux') {
        const [boot] = second.content.birth.split(':');
        write(folder, { ...second.content, birth: `${boot}:1`, token: 'old' });
        assert.equal(liveLock(folder), undefined);
        const { where: _, ...earlier } = second.content;
        write(folder, { ...earlier, birth: 'an earlier boot:1', token: 'of an earlier version' });
        assert.equal(liveLock(folder), undefined);
        acquireLock(folder).release();
      }
      second.release();
      first.release();
    }));

  it('goes to one of several processes that find it dead at once', () =>
    inFolder(async folder => {
      const lock = acquireLock(folder);
      write(folder, { ...lock.content, pid: await deadPid(), token: 'dead' });
      const module = JSON.stringify(join(import.meta.dirname, '../../src/run/lock.ts'));
      const program = `
        const { acquireLock } = await import(${module});
        let lock;
        try { lock = acquireLock(${JSON.stringify(folder)}); } catch (error) { if (!error.failure) throw error; }
        process.stdout.write(lock ? 'won' : 'lost');
        process.stdin.on('end', () => lock?.release()).resume();`;
      const children = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ['--input-type=module', '-e', program], {
          stdio: ['pipe', 'pipe', 'inherit'],
        }),
      );
      const words = await Promise.all(
        children.map(async child => String(((await once(child.stdout, 'data')) as [Buffer])[0])),
      );
      for (const child of children) child.stdin.end();
      await Promise.all(children.map(child => once(child, 'exit')));
      assert.deepEqual(words.sort(), ['lost', 'lost', 'lost', 'won']);
      assert.equal(readLock(folder), undefined);
      lock.release();
    }));

  it('is taken over where it is damaged', () =>
    inFolder(folder => {
      writeFileSync(join(folder, 'run.lock'), '{"pid":');
      const lock = acquireLock(folder);
      assert.equal(readLock(folder)?.token, lock.content.token);
      lock.release();
    }));

  it('of another machine is believed', () =>
    inFolder(async folder => {
      const lock = acquireLock(folder);
      write(folder, { ...lock.content, host: `not-${hostname()}`, token: 'far' });
      assert.throws(() => acquireLock(folder), /cannot be reached from here/);
      await assert.rejects(connectWorker(folder), /cannot be reached from here/);
      lock.release();
      assert.match(readFileSync(join(folder, 'run.lock'), 'utf8'), /far/, 'only its own lock is released');
    }));

  it('of another container or machine of the same name is believed as long as it is touched', () =>
    inFolder(async folder => {
      const lock = acquireLock(folder);
      const path = join(folder, 'run.lock');
      const { birth } = lock.content;
      const namesakes: Partial<LockContent>[] = [
        { where: 'another container', token: 'far' },
        ...(birth === '' ? [] : [{ birth: 'another boot:1', token: 'far' }]),
      ];
      for (const namesake of namesakes) {
        // Here its process id is ours, or nobody's.
        for (const pid of [process.pid, await deadPid()]) {
          write(folder, { ...lock.content, ...namesake, pid });
          assert.equal(liveLock(folder)?.token, 'far');
          assert.throws(
            () => acquireLock(folder),
            /on another container or machine named .*, which cannot be reached/,
          );
          await assert.rejects(connectWorker(folder), /cannot be reached from here/);
          const silent = Date.now() / 1000 - 61;
          utimesSync(path, silent, silent);
          assert.equal(liveLock(folder), undefined);
          acquireLock(folder).release();
        }
      }
      lock.release();
    }));

  it('is touched by its owner, and only while it is its own', () =>
    inFolder(folder => {
      const path = join(folder, 'run.lock');
      const later = Date.now() + 3600_000;
      const restore = setClock(() => later);
      mock.timers.enable({ apis: ['setInterval'] });
      try {
        const isTouched = (): boolean => statSync(path).mtimeMs > later - 1000;
        const lock = acquireLock(folder);
        assert.equal(isTouched(), false);
        mock.timers.tick(10_000);
        assert.equal(isTouched(), true);
        write(folder, { ...lock.content, token: 'theirs' });
        mock.timers.tick(10_000);
        assert.equal(isTouched(), false);
        rmSync(path);
        mock.timers.tick(10_000);
        lock.release();
        const next = acquireLock(folder);
        write(folder, lock.content);
        mock.timers.tick(10_000);
        assert.equal(isTouched(), false, 'who has released it does not touch it');
        next.release();
      } finally {
        mock.timers.reset();
        restore();
      }
    }));

  it('leads to the worker’s verbs', () =>
    inFolder(async folder => {
      await assert.rejects(connectWorker(folder), /No worker runs/);
      const lock = acquireLock(folder);
      await assert.rejects(connectWorker(folder), /cannot be reached/);
      const status: WorkerStatus = {
        protocol: 1,
        pid: process.pid,
        run: 'test-1',
        state: 'running',
        step: 3,
        steps: 40,
        phase: 'training',
      };
      const nothing = (): void => undefined;
      const server = createServer(socket => {
        serve<WorkerVerbs>(socketPort(socket), {
          status: () => status,
          pause: nothing,
          resume: nothing,
          stop: nothing,
        });
      });
      server.listen(lock.content.socket);
      await once(server, 'listening');
      let closed: (() => void) | undefined;
      const hasClosed = new Promise<void>(resolve => (closed = resolve));
      const worker = await connectWorker(folder, () => closed?.());
      assert.deepEqual(await worker.remote.status(), status);
      worker.close();
      await hasClosed;
      await assert.rejects(worker.remote.status(), /has gone/);
      server.close();
      await once(server, 'close');
      lock.release();
    }));
});

/** A write happens as a whole or leaves what was there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import {
  append,
  appendAmong,
  besideName,
  close,
  interceptWrites,
  openAppend,
  remove,
  removeInterrupted,
  writeAtomically,
  writeNew,
} from '../../src/run/disk.ts';
import { writeEvaluation } from '../../src/run/evaluations.ts';
import { lastWholeLine, wholeLines } from '../../src/run/lines.ts';
import { evaluationOf, right } from '../fakes/evaluations.ts';
import { inFolder } from './fixtures.ts';

describe('disk', () => {
  it('cuts off what a failing append has written', () =>
    inFolder(folder => {
      const path = join(folder, 'log');
      const file = openAppend(path);
      append(file, Buffer.from('one\n'));
      const restore = interceptWrites((operation, at, bytes) => {
        if (operation !== 'append') return;
        writeFileSync(at, bytes!.subarray(0, 2), { flag: 'a' });
        throw new Error('ENOSPC');
      });
      assert.throws(() => append(file, Buffer.from('two\n')), /ENOSPC/);
      restore();
      append(file, Buffer.from('three\n'));
      close(file);
      assert.equal(readFileSync(path, 'utf8'), 'one\nthree\n');
    }));

  it('cuts nothing off a file that others append to', () =>
    inFolder(folder => {
      const path = join(folder, 'log');
      const [mine, theirs] = [openAppend(path), openAppend(path)];
      appendAmong(mine, Buffer.from('one\n'));
      appendAmong(theirs, Buffer.from('two\n'));
      const restore = interceptWrites(() => {
        throw new Error('ENOSPC');
      });
      assert.throws(() => appendAmong(mine, Buffer.from('three\n')), /ENOSPC/);
      restore();
      [mine, theirs].forEach(close);
      assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
    }));

  it('keeps the old file where the new one cannot take its place', () =>
    inFolder(folder => {
      const path = join(folder, 'file');
      writeAtomically(path, 'old');
      const restore = interceptWrites(operation => {
        if (operation === 'rename') throw new Error('EIO');
      });
      assert.throws(() => writeAtomically(path, 'new'), /EIO/);
      restore();
      assert.equal(readFileSync(path, 'utf8'), 'old');
      assert.deepEqual(readdirSync(folder), ['file']);
    }));

  it('makes a new file once, with the rights that were asked for', () =>
    inFolder(folder => {
      const path = join(folder, 'file');
      writeNew(path, 'mine', 0o600);
      assert.throws(() => writeNew(path, 'yours'), /EEXIST/);
      assert.equal(readFileSync(path, 'utf8'), 'mine');
      if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600);
      remove(path);
      remove(path);
      assert.deepEqual(readdirSync(folder), []);
    }));
});

describe('what killed processes left beside files', () => {
  /** The name of a process that has ended, or of the one given. */
  const beside = (name: string, pid = spawnSync(process.execPath, ['-e', '']).pid): string =>
    besideName(name, 'tmp').replace(`.${process.pid}-`, `.${pid}-`);

  it('is removed, unless its process lives or it was named by nobody of ours', () =>
    inFolder(folder => {
      const kept = [
        beside('b', process.ppid),
        'c.tmp',
        beside('d', 0),
        `${beside('e')}.json`,
        'mine.2024.tmp',
      ];
      mkdirSync(join(folder, beside('.saving')));
      for (const name of [beside('a'), beside('a').replace(/tmp$/, 'new'), besideName('a', 'tmp'), ...kept])
        writeFileSync(join(folder, name), '');
      removeInterrupted(folder);
      assert.deepEqual(readdirSync(folder).sort(), kept.sort());
      removeInterrupted(join(folder, 'none'));
    }));

  it('stays for a day where another machine or container may be writing it, whose processes are not known here', () =>
    inFolder(folder => {
      const elsewhere = (name: string): string => beside(name).replace(/-[0-9a-f]{8}/, '-0badc0de');
      const own = elsewhere('c').replace(/\d+-/, `${process.pid}-`);
      const [young, old] = [elsewhere('a'), elsewhere('b')];
      for (const name of [young, old, own]) writeFileSync(join(folder, name), '');
      const dayAgo = Date.now() / 1000 - 90_000;
      utimesSync(join(folder, old), dayAgo, dayAgo);
      removeInterrupted(folder);
      assert.deepEqual(readdirSync(folder).sort(), [young, own].sort());
    }));

  it('goes with the next evaluation that is written there', () =>
    inFolder(folder => {
      mkdirSync(join(folder, 'evaluations'));
      writeFileSync(join(folder, 'evaluations', beside('step-4.json')), '{"summ');
      writeEvaluation(folder, evaluationOf([[right()]]));
      assert.deepEqual(readdirSync(join(folder, 'evaluations')), ['step-8.json']);
    }));
});

describe('lines', () => {
  it('are whole, with their places in bytes, over chunks and characters of many bytes', () =>
    inFolder(async folder => {
      const path = join(folder, 'log');
      const texts = ['é'.repeat(700_000), '', 'x'.repeat(1_200_000), 'last'];
      writeFileSync(path, `${texts.join('\n')}\ntorn é`);
      const lines = [];
      let end = 0;
      for await (const batch of wholeLines(path, 0)) {
        lines.push(...batch.lines);
        end = batch.next;
      }
      assert.deepEqual(
        lines.map(({ text }) => text),
        texts,
      );
      assert.equal(end, statSync(path).size - Buffer.byteLength('torn é'));
      const bytes = readFileSync(path);
      for (const { text, offset, length } of lines)
        assert.equal(bytes.toString('utf8', offset, offset + length), text);
      assert.deepEqual(lastWholeLine(path), { line: lines.at(-1), end });
    }));

  it('are none in a file that is empty, missing or has no line feed', () =>
    inFolder(folder => {
      const path = join(folder, 'log');
      assert.deepEqual(lastWholeLine(path), { end: 0 });
      writeFileSync(path, '');
      assert.deepEqual(lastWholeLine(path), { end: 0 });
      writeFileSync(path, 'torn');
      assert.deepEqual(lastWholeLine(path), { end: 0 });
      writeFileSync(path, 'x'.repeat(200_000));
      assert.deepEqual(lastWholeLine(path), { end: 0 });
    }));
});

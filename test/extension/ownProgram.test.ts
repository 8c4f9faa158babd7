import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { ownProgram } from '../../src/extension/ownProgram.ts';

describe('the worker’s own copy of its program', () => {
  let folder: string;
  const dist = (): string => join(folder, 'dist');
  const storage = (): string => join(folder, 'storage');
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchpoint-'));
    build('first');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A build as an installation has it: always in files of its own. */
  function build(text: string): void {
    rmSync(dist(), { recursive: true, force: true });
    mkdirSync(join(dist(), 'native/linux-x64'), { recursive: true });
    for (const name of ['branchpoint.cjs', 'engine.cjs', 'extension.cjs', 'native/linux-x64/a.node'])
      writeFileSync(join(dist(), name), text);
    mkdirSync(join(dist(), 'webview'));
  }

  it('has what a worker opens and nothing else, also when the extension is gone', async () => {
    const entry = await ownProgram(dist(), storage());
    rmSync(dist(), { recursive: true });
    assert.equal(readFileSync(entry, 'utf8'), 'first');
    assert.equal(readFileSync(join(entry, '../native/linux-x64/a.node'), 'utf8'), 'first');
    assert.deepEqual(readdirSync(join(entry, '..')).sort(), ['branchpoint.cjs', 'engine.cjs', 'native']);
  });

  it('is made once per build, also by two windows at once, and stays while a newer one is made', async () => {
    const [first, again] = await Promise.all([ownProgram(dist(), storage()), ownProgram(dist(), storage())]);
    assert.equal(first, again);
    build('second, longer');
    const second = await ownProgram(dist(), storage());
    assert.equal(readFileSync(first, 'utf8'), 'first');
    assert.equal(readFileSync(second, 'utf8'), 'second, longer');
    assert.equal(readdirSync(storage()).length, 2);
  });

  it('is removed when nothing was started from it for 30 days', async () => {
    const first = await ownProgram(dist(), storage());
    const past = (days: number): Date => new Date(Date.now() - days * 86_400_000);
    utimesSync(join(first, '..'), past(29), past(29));
    build('second, longer');
    await ownProgram(dist(), storage());
    assert.ok(existsSync(first));
    utimesSync(join(first, '..'), past(31), past(31));
    await ownProgram(dist(), storage());
    assert.ok(!existsSync(first));
  });
});

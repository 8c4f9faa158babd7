/**
 * A smoke test on the oldest VS Code that package.json admits: the packaged extension is installed, shows the sample, and its worker
 * trains on the runtime of that VS Code.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, describe, it } from 'mocha';
import { fold } from '../../src/core/fold.ts';
import { liveLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import { hostProgram } from '../host/workbench.mjs';
import { inOneEditor } from './editor.mjs';
import { goOnForLong, liveRunIn, sampleConfig } from './sampleFiles.mjs';
import { until } from './user.mjs';

describe('on the minimum VS Code', () => {
  let home, page, user, run;

  after(() => {
    const pid = run && liveLock(run)?.pid;
    if (pid) process.kill(pid, 'SIGKILL');
  });
  inOneEditor(
    'minimum',
    () => ({ host: 'minimum', size: [1400, 900] }),
    editor => ({ home, page, user } = editor),
  );

  it('is the version that package.json names', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
    assert.equal(`^${hostProgram('minimum').version}`, engines.vscode);
  });

  it('opens the sample, and a worker on that VS Code’s runtime trains', async () => {
    await user.openSidebar('Branchpoint');
    await page.getByRole('button', { name: 'Open Sample' }).click();
    await user.reads(await user.dashboard('recorded'), 'Reward', /at step \d+/);
    goOnForLong(sampleConfig(home.user));
    await user.command('Branchpoint: Launch Run');
    await user.pick('sample.branchpoint.json');
    run = await until(() => liveRunIn(home.user), 'a run folder with a worker');
    await user.reads(await user.dashboard(basename(run)), 'Reward', /at step [1-9]/);
  });

  it('lets the worker go on when the extension is removed, until it stops with a checkpoint', async () => {
    const state = async () => fold(await openRun(run).events());
    const [installed] = readdirSync(home.extensions).filter(name => name.startsWith('branchpoint'));
    rmSync(join(home.extensions, installed), { recursive: true });
    const { step } = await state();
    await until(async () => (await state()).step > step + 2, 'three more steps');
    await user.command('Branchpoint: Stop Run');
    await until(() => liveLock(run) === undefined, 'the worker’s end');
    const { status, checkpoints } = await state();
    assert.equal(status, 'stopped');
    assert.ok(checkpoints.length > 0);
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { fold, type RunState } from '../../../src/core/fold.ts';
import { commandId, type CommandName, VIEWS } from '../../../src/extension/names.ts';
import { lastCheckpoint } from '../../../src/run/checkpoint.ts';
import { checkpointName, FILES } from '../../../src/run/layout.ts';
import { liveLock } from '../../../src/run/lock.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, at, closeEditors, hasPage, page, row, shoot, SMALL, until } from './host.ts';

const run = (name: CommandName, argument: unknown): Thenable<unknown> =>
  vscode.commands.executeCommand(commandId(name), argument);
const stateOf = async (runFolder: string): Promise<RunState> => fold(await openRun(runFolder).events());

/** Newest run of the small configuration, once it has a worker. */
const started = (known: readonly string[]): Promise<string> =>
  until(() => {
    const folder = runsOf().find(one => !known.includes(one));
    return folder !== undefined && liveLock(folder) !== undefined && folder;
  }, 'a worker’s run folder');

const runsOf = (): string[] => {
  const runs = at('small', 'runs');
  return existsSync(runs) ? readdirSync(runs).map(name => join(runs, name)) : [];
};

const reaches = (runFolder: string, what: string, test: (state: RunState) => boolean): Promise<true> =>
  until(async () => existsSync(join(runFolder, FILES.events)) && test(await stateOf(runFolder)), what);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // No such process.
    return false;
  }
}

describe('a run’s worker', () => {
  const pids: number[] = [];
  before(async () => {
    await activated();
    if (hasPage) await vscode.commands.executeCommand(`${VIEWS.runs}.focus`);
  });
  // Nothing outlives a test that failed half-way.
  after(() => pids.filter(isAlive).forEach(pid => process.kill(pid, 'SIGKILL')));

  const known = (runFolder: string): number => {
    const { pid } = liveLock(runFolder)!;
    pids.push(pid);
    return pid;
  };

  it('is launched by the command, detached, and shown as it goes', async () => {
    const before = runsOf();
    const launching = run('launchRun', vscode.Uri.file(SMALL()));
    const runFolder = await started(before);
    const pid = known(runFolder);
    await launching;
    assert.notEqual(pid, process.pid);
    await reaches(runFolder, 'two steps', ({ step }) => step >= 2);
    if (hasPage) await row('Run small-1, running, step');
  });

  it('is paused, goes on, and is stopped with a checkpoint, each by its command', async () => {
    const runFolder = runsOf().find(folder => liveLock(folder) !== undefined)!;
    const pid = known(runFolder);
    await run('pauseRun', { runFolder });
    await reaches(runFolder, 'the pause', ({ status }) => status === 'paused');
    const paused = await stateOf(runFolder);
    if (hasPage) await row('Run small-1, paused');
    await run('resumeRun', { runFolder });
    await reaches(runFolder, 'a step after the pause', ({ step }) => step > paused.step);
    await run('stopRun', { runFolder });
    await reaches(runFolder, 'the end', ({ status }) => status === 'stopped');
    await until(() => !isAlive(pid), 'the worker’s end');
    const state = await stateOf(runFolder);
    const checkpoint = await lastCheckpoint(runFolder);
    assert.equal(checkpoint?.state.step, state.step);
    assert.ok(!existsSync(join(runFolder, FILES.lock)));
    if (hasPage) await row(`Run small-1, stopped, step ${state.step}`);
  });

  it('goes on from its checkpoint in a worker of its own when it is resumed', async () => {
    const [runFolder] = runsOf();
    const stopped = (await stateOf(runFolder!)).step;
    await run('resumeRun', { runFolder });
    await until(() => liveLock(runFolder!) !== undefined, 'the new worker');
    const pid = known(runFolder!);
    await reaches(runFolder!, 'a step after the resumption', ({ step }) => step > stopped);
    await run('stopRun', { runFolder });
    await until(() => !isAlive(pid), 'the worker’s end');
  });

  it('leaves checkpoints that a command measures on held-out tasks', async () => {
    const [runFolder] = runsOf();
    const { checkpoints } = await stateOf(runFolder!);
    const { step } = checkpoints.at(-1)!;
    const measured = await run('evaluateCheckpoint', { runFolder, checkpoint: checkpointName(step) });
    assert.equal((measured as { tasks: number }).tasks, 3);
    const { evaluations } = await stateOf(runFolder!);
    assert.equal(evaluations.at(-1)?.step, step);
    assert.equal(evaluations.at(-1)?.summary.samples, 2);
  });

  it('has its configuration offered first where it is looked at', async function () {
    if (!hasPage) this.skip();
    const [runFolder] = runsOf();
    await closeEditors();
    await run('openDashboard', { runFolder });
    await until(() => vscode.window.tabGroups.activeTabGroup.activeTab?.label === 'small-1', 'its dashboard');
    const asking = run('validateConfiguration', undefined);
    const first = '.quick-input-list .monaco-list-row[data-index="0"]';
    // A list that was shown before may still be there.
    const shown = async (): Promise<string> =>
      String(await page('text', { selector: '.quick-input-widget' }).catch(() => ''));
    await until(async () => (await shown()).includes('Configuration to check'), 'the choice');
    await until(async () => (await shown()).includes('wrong.branchpoint.json'), 'all configurations');
    assert.match(String(await page('text', { selector: first })), /small\.branchpoint\.json/);
    await shoot('likely-configuration');
    await page('press', { key: 'Escape' });
    await asking;
    await closeEditors();
  });

  it('is found when somebody else started it', async () => {
    const before = runsOf();
    const { extensionPath } = await activated();
    execFileSync(
      process.execPath,
      [join(extensionPath, 'dist', 'branchpoint.cjs'), 'train', SMALL(), '--detach'],
      { env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' } },
    );
    const runFolder = await started(before);
    const pid = known(runFolder);
    if (hasPage) await row('Run small-2, running, step');
    await run('stopRun', { runFolder });
    await reaches(runFolder, 'the end', ({ status }) => status === 'stopped');
    await until(() => !isAlive(pid), 'the worker’s end');
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { extremes } from '../../../src/core/extremes.ts';
import { fold } from '../../../src/core/fold.ts';
import { packSteps } from '../../../src/core/stepColumns.ts';
import { commandId } from '../../../src/extension/names.ts';
import { addressOf } from '../../../src/extension/trajectoryAddress.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, closeEditors, hasPage, page, shoot, until, WHOLE } from './host.ts';

const FRAME = 'body[data-view="dashboard"]';
const text = (selector: string): Promise<string> =>
  page('text', { frame: FRAME, selector }) as Promise<string>;
const evaluate = (expression: string): Promise<unknown> => page('eval', { frame: FRAME, expression });
const isThere = async (selector: string): Promise<boolean> =>
  Number(await page('count', { frame: FRAME, selector })) > 0;

describe('dashboard', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await closeEditors();
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: WHOLE() });
    await until(() => isThere('.step-bar canvas[aria-valuemax="4"]'), 'a cell for every step');
  });
  after(closeEditors);

  it('says of every step its numbers by the keyboard', async () => {
    await evaluate(`document.querySelector('.step-bar canvas').focus()`);
    await page('press', { key: 'Home' });
    const { summaries } = fold(await openRun(WHOLE()).events());
    const told = await until(async () => {
      const value = String(
        await evaluate(`document.querySelector('.step-bar canvas').getAttribute('aria-valuetext')`),
      );
      return value.startsWith('step 1,') && value;
    }, 'the first step');
    assert.ok(told.includes(`${summaries[0]!.summary.toolCalls.total} tool calls`), told);
  });

  it('pins a step and names its best, worst and longest rollouts', async () => {
    await page('press', { key: 'Enter' });
    await until(() => isThere('.pinned [data-extreme="best"]:not([disabled])'), 'the step’s rollouts');
    assert.match(await text('.pinned strong'), /^Step 1$/);
    for (const kind of ['worst', 'median', 'uncertain', 'longest', 'calls', 'mismatch'])
      assert.ok(await isThere(`.pinned [data-extreme="${kind}"]:not([disabled])`), kind);
    assert.match(await text('.steps h2'), /step 1$/);
    await shoot('dashboard-pinned');
  });

  it('moves one cursor over all charts, and names formula and raw key under the pointer', async () => {
    await page('hover', { frame: FRAME, selector: '.chart[data-chart="Reward"] canvas' });
    const readout = await until(async () => {
      const told = await text('.chart[data-chart="Reward"] .readout');
      return told.includes('reward.mean') && told;
    }, 'the numbers under the pointer');
    assert.match(readout, /Σ reward ÷ trajectories of the step/);
    // Charts that are out of sight are painted, and get their cursor, when they come into sight.
    const cursors = (await evaluate(
      `['Reward', 'Held-out accuracy'].filter(name => !document.querySelector('[data-chart="' + name + '"] .cursor').hidden).length`,
    )) as number;
    assert.equal(cursors, 2);
  });

  it('zooms all charts by the keyboard, and back', async () => {
    const isZoomed = async (): Promise<boolean> =>
      !(await evaluate(`document.querySelector('.controls button.plain').hidden`));
    await evaluate(`document.querySelector('.chart[data-chart="Reward"] canvas').focus()`);
    assert.equal(await isZoomed(), false);
    await page('press', { key: '+' });
    await until(isZoomed, 'the way back from a zoom');
    await page('press', { key: '0' });
    await until(async () => !(await isZoomed()), 'all steps again');
  });

  it('opens the longest rollout of the pinned step', async () => {
    const run = openRun(WHOLE());
    const entries = (await run.trees()).filter(({ step }) => step === 1);
    const grown = await Promise.all(
      entries.map(async ({ id }) => ({ tree: await run.tree(id), columns: await run.columns(id) })),
    );
    const { tree, path } = extremes(grown).find(({ kind }) => kind === 'longest')!;
    await page('click', { frame: FRAME, selector: '.pinned [data-extreme="longest"]' });
    const editor = await until(() => vscode.window.activeTextEditor, 'the trajectory as text');
    const address = addressOf(editor.document.uri.query);
    assert.deepEqual([address.tree, address.path], [tree, path]);
  });

  it('keeps how it is looked at, and the pinned step, over being hidden', async () => {
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: WHOLE() });
    await until(() => isThere('.segments input[value="tokens"]'), 'the x axis’s choice');
    await evaluate(`document.querySelector('.segments input[value="tokens"]').click()`);
    await until(() => isThere('.pinned:not([hidden])'), 'the pinned step');
    const pinned = await evaluate(`document.querySelector('.pinned strong').textContent`);
    await vscode.commands.executeCommand('workbench.action.nextEditor');
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: WHOLE() });
    await until(
      async () => (await evaluate(`document.querySelector('.segments input:checked')?.value`)) === 'tokens',
      'the axis of tokens again',
    );
    await until(
      async () => (await evaluate(`document.querySelector('.pinned strong')?.textContent`)) === pinned,
      'the pinned step again',
    );
  });

  it('takes the numbers of many steps in columns: those of the recorded sample', async () => {
    const { extensionPath } = await activated();
    const runFolder = join(extensionPath, 'media', 'sample', 'run');
    const facts = await openRun(runFolder).events();
    assert.ok(packSteps(facts).steps, 'it has enough of them');
    await closeEditors();
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder });
    const { step, summary } = fold(facts).summaries.at(-1)!;
    await until(() => isThere(`.step-bar canvas[aria-valuemax="${step}"]`), 'a cell for every step');
    await evaluate(`document.querySelector('.step-bar canvas').focus()`);
    await page('press', { key: 'End' });
    await until(async () => {
      const value = String(
        await evaluate(`document.querySelector('.step-bar canvas').getAttribute('aria-valuetext')`),
      );
      return value.startsWith(`step ${step},`) && value.includes(`${summary.toolCalls.total} tool calls`);
    }, 'the last step’s own numbers');
    await shoot('dashboard-sample');
    await closeEditors();
  });
});

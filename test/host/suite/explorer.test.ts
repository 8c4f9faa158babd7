import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { COMMANDS, commandId, VIEWS } from '../../../src/extension/names.ts';
import { fold } from '../../../src/core/fold.ts';
import { openRun } from '../../../src/run/reader.ts';
import {
  activated,
  closeEditors,
  foldRow,
  hasPage,
  page,
  row,
  rowLabels,
  shoot,
  TORN,
  unfold,
  until,
  WHOLE,
} from './host.ts';

describe('the run explorer', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await vscode.commands.executeCommand(`${VIEWS.runs}.focus`);
  });

  it('lists the runs of the workspace with their state, step and reward', async () => {
    const { summaries } = fold(await openRun(WHOLE()).events());
    const reward = summaries.at(-1)!.summary.reward.mean.toFixed(2);
    assert.ok(await row(`Run whole-1, finished, step 4 of 4, mean reward ${reward}`));
    const shown = String(
      await page('text', { selector: '.pane-body .monaco-list-row[aria-label^="Run whole-1"]' }),
    );
    assert.match(shown.replaceAll('\n', ' '), /whole-1 ?step 4\/4 · R [−.\d]+/);
  });

  it('says in a sentence that a newer version made a run, and reads the others', async () => {
    const label = await row('Run newer-1, unreadable');
    assert.match(label, /format 2; this version of Branchpoint reads formats up to 1/);
  });

  it('reads a run whose last line was torn: it was interrupted', async () => {
    assert.ok(await row('Run torn-1, interrupted, step 2 of 2'));
    await unfold('Run torn-1', 'Steps');
    await closeEditors();
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: TORN() });
    const header = (): Promise<unknown> =>
      page('text', { frame: 'body[data-view="dashboard"]', selector: 'header' }).catch(() => '');
    await until(async () => /interrupted · step 2 of 2/.test(String(await header())), 'an interrupted run');
    assert.match(String(await header()), /Resume/);
    assert.doesNotMatch(String(await header()), /Pause|Stop/);
    await foldRow('Run torn-1');
  });

  it('shows steps, trees, checkpoints and evaluations under a run', async () => {
    await unfold('Run whole-1', 'Steps');
    await unfold('Steps', 'Step 4, mean reward');
    await unfold('Step 4,', 'Tree 4.0');
    await unfold('Checkpoints', 'Checkpoint of step 4, held-out .');
    await unfold('Evaluations', 'Evaluation after step 4');
    const trees = (await rowLabels()).filter(label => label.startsWith('Tree 4.'));
    assert.equal(trees.length, 4);
    for (const label of trees) assert.match(label, /branched, \d+ refused, What is/);
    await shoot('explorer');
  });

  it('opens a tree where its row is clicked', async () => {
    await page('click', { selector: '.pane-body .monaco-list-row[aria-label^="Tree 4.1"]' });
    await until(
      async () =>
        Number(await page('count', { frame: 'body[data-view="tree"]', selector: 'svg[role="tree"] .bar' })) >
        0,
      'the drawing of tree 4.1',
    );
  });

  it('welcomes whoever has no run, with a button for the sample', async () => {
    const { contributes } = (await activated()).packageJSON as {
      contributes: { viewsWelcome: { view: string; contents: string }[] };
    };
    const [welcome] = contributes.viewsWelcome.filter(({ view }) => view === VIEWS.runs);
    assert.ok(
      welcome?.contents.includes(`[${COMMANDS.openSample.title}](command:${commandId('openSample')})`),
    );
  });
});

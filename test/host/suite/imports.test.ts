import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { App } from '../../../src/extension/app.ts';
import { commandId } from '../../../src/extension/names.ts';
import type { Row } from '../../../src/extension/explorerRows.ts';
import { activated, at, closeEditors, hasPage, page, rowLabels, shoot, until, WHOLE } from './host.ts';

const FRAME = 'body[data-view="dashboard"]';
const FOLDER = (): string => at('elsewhere', 'verl-1');

/** The runs of the explorer, also those under a heading. */
async function allRows(explorer: App['explorer']): Promise<Row[]> {
  const rows: Row[] = [];
  for (const row of await explorer.getChildren())
    rows.push(...(row.kind === 'group' ? await explorer.getChildren(row) : [row]));
  return rows;
}

/** Two prompts, each right once of two times. */
function writeStep(step: number): void {
  const rows = ['2 + 2?', '3 + 3?'].flatMap(question =>
    [1, 0].map(score => ({
      input: `user\n${question}\nassistant\n`,
      output: `<python>print(1)</python> <result>\n1\n</result><answer>${score}</answer>`,
      gts: '4',
      score,
      step,
    })),
  );
  const path = join(FOLDER(), `${step}.jsonl`);
  writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''));
  // As if it were written a while ago: what is being written is not yet told.
  const then = new Date(Date.now() - 60_000);
  utimesSync(path, then, then);
}

describe('imported rollouts', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await closeEditors();
    mkdirSync(FOLDER(), { recursive: true });
    writeStep(1);
    writeStep(2);
  });
  after(async () => {
    await vscode.commands.executeCommand(commandId('closeRollouts'), { runFolder: FOLDER() });
    await closeEditors();
    rmSync(at('elsewhere'), { recursive: true, force: true });
  });

  const text = (selector: string): Promise<string> =>
    page('text', { frame: FRAME, selector }) as Promise<string>;
  const hasSteps = (count: number): Promise<boolean> =>
    until(
      async () =>
        Number(
          await page('count', { frame: FRAME, selector: `.step-bar canvas[aria-valuemax="${count - 1}"]` }),
        ) > 0 ||
        Number(
          await page('count', { frame: FRAME, selector: `.step-bar canvas[aria-valuemax="${count}"]` }),
        ) > 0,
      `${count} steps`,
    );

  it('open as a run whose dashboard shows rewards and says what was not logged', async () => {
    const opened = await vscode.commands.executeCommand(commandId('openRollouts'), vscode.Uri.file(FOLDER()));
    assert.equal(opened, FOLDER());
    await hasSteps(2);
    assert.match(await text('header'), /imported from verl · step 2 · reward \.5/);
    assert.equal(await text('.chart[data-chart="Entropy (nats)"] .empty'), 'not logged');
    const shown = await page('eval', {
      frame: FRAME,
      expression: `document.querySelector('.chart[data-chart="Reward"] .empty').hidden`,
    });
    assert.equal(shown, true);
    await until(
      async () => (await rowLabels()).some(label => label.includes('imported from verl')),
      'its row',
    );
    await shoot('imported-dashboard');
  });

  it('grow by a step that is written while the dashboard is open', async () => {
    writeStep(3);
    await until(async () => (await text('header')).includes('step 3'), 'the third step', 20_000);
    assert.deepEqual(readdirSync(FOLDER()).sort(), ['1.jsonl', '2.jsonl', '3.jsonl']);
  });

  it('open as a tree and as text, with results told apart from what the policy wrote', async () => {
    await vscode.commands.executeCommand(commandId('openTree'), { runFolder: FOLDER(), tree: '1.0' });
    const frame = 'body[data-view="tree"]';
    await until(async () => Number(await page('count', { frame, selector: 'svg .bar' })) === 7, 'seven bars');
    assert.match(
      (await page('text', { frame, selector: 'header' })) as string,
      /2 trajectories of one prompt/,
    );
    await shoot('imported-tree');
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      runFolder: FOLDER(),
      tree: '1.0',
      path: 0,
    });
    const document = await until(
      () =>
        vscode.window.visibleTextEditors.find(({ document }) => document.uri.path.includes('trajectory'))
          ?.document,
      'the trajectory',
    );
    assert.match(document.getText(), /tokens not logged · 1 tool call · its end is not logged/);
    assert.match(document.getText(), /── tool · python · tokens not logged · advantage not logged ──/);
  });

  it('offer no branch, for they have no policy', async () => {
    const lensesOf = async (): Promise<string[]> => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
        'vscode.executeCodeLensProvider',
        vscode.window.activeTextEditor!.document.uri,
      );
      return lenses.map(({ command }) => command?.title ?? '');
    };
    const actions = '.editor-actions a.action-label[aria-label^="Branch from Here"]';
    const isOffered = async (): Promise<boolean> => Number(await page('count', { selector: actions })) > 0;
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      ...{ runFolder: WHOLE(), tree: '1.0', path: 0 },
    });
    await until(isOffered, 'the button above a trajectory of our own');
    assert.ok((await lensesOf()).includes('Branch from Here…'));
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      ...{ runFolder: FOLDER(), tree: '1.0', path: 0 },
    });
    await until(async () => !(await isOffered()), 'no such button above an imported one');
    assert.ok(!(await lensesOf()).includes('Branch from Here…'));
    const { explorer } = (await activated()).exports as App;
    const run = (await allRows(explorer)).find(row => row.kind === 'run' && row.runFolder === FOLDER())!;
    const [steps] = await explorer.getChildren(run);
    const [step] = await explorer.getChildren(steps);
    const [tree] = await explorer.getChildren(step);
    assert.equal((await explorer.getTreeItem(tree!)).contextValue, 'importedTree');
  });

  it('are never deleted from the list of runs', async () => {
    const app = (await activated()).exports as App;
    const before = app.confirm;
    let asked = 0;
    app.confirm = () => Promise.resolve(++asked > 0);
    try {
      await vscode.commands.executeCommand(commandId('deleteRun'), { runFolder: FOLDER() });
    } finally {
      app.confirm = before;
    }
    assert.equal(asked, 0);
    assert.equal(readdirSync(FOLDER()).length, 3);
  });
});

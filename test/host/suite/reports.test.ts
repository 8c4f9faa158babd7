import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import * as vscode from 'vscode';
import { evaluationReport } from '../../../src/core/evaluationReport.ts';
import { commandId, SAMPLE } from '../../../src/extension/names.ts';
import { evaluationIds, readEvaluation } from '../../../src/run/evaluations.ts';
import { activated, at, closeEditors, hasPage, page, shoot, TORN, until, WHOLE } from './host.ts';

const frameOf = (view: string): string => `body[data-view="${view}"]`;
const text = (view: string, selector: string): Promise<string> =>
  page('text', { frame: frameOf(view), selector }) as Promise<string>;
const count = async (view: string, selector: string): Promise<number> =>
  Number(await page('count', { frame: frameOf(view), selector }));
const evaluate = (view: string, expression: string): Promise<unknown> =>
  page('eval', { frame: frameOf(view), expression });

describe('reports on evaluations', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await closeEditors();
  });
  after(closeEditors);

  it('opens from a row with its accuracy, and opens the text of a sample that failed', async () => {
    const [first, last] = evaluationIds(WHOLE());
    const record = await readEvaluation(WHOLE(), last!);
    const report = evaluationReport({ run: 'whole-1', record });
    assert.notEqual(first, last);
    await vscode.commands.executeCommand(commandId('openEvaluation'), {
      runFolder: WHOLE(),
      evaluation: last,
    });
    await until(async () => (await count('evaluation', '[data-section="Provenance"]')) > 0, 'the report');
    assert.equal(await text('evaluation', '.accuracy'), report.accuracy.text);
    const group = report.failures[0]!;
    await page('click', {
      frame: frameOf('evaluation'),
      selector: `[data-reason="${group.reason}"] summary`,
    });
    await page('click', {
      frame: frameOf('evaluation'),
      selector: `[data-reason="${group.reason}"] li:first-child button`,
    });
    const editor = await until(() => vscode.window.activeTextEditor, 'the sample as text');
    assert.equal(editor.document.uri.scheme, SAMPLE);
    assert.equal(editor.document.languageId, SAMPLE);
    assert.ok(editor.document.getText().includes(`task ${group.samples[0]!.name}`));
    await shoot('evaluation-sample');
  });

  it('sets it against another evaluation, and opens both trajectories of what flipped', async () => {
    const [first, last] = evaluationIds(WHOLE());
    await vscode.commands.executeCommand(commandId('openEvaluation'), {
      runFolder: WHOLE(),
      evaluation: last,
    });
    await until(async () => (await count('evaluation', 'select option')) > 2, 'the choice of another');
    await evaluate(
      'evaluation',
      `(select => { select.value = '0'; select.dispatchEvent(new Event('change')); })(document.querySelector('select'))`,
    );
    await until(async () => (await count('evaluation', '[data-section="Flips"]')) > 0, 'what flipped');
    assert.ok((await text('evaluation', '[data-section="Flips"]')).includes(`whole-1 · ${first}`));
    await shoot('evaluation-flips');
    const flipped = await count('evaluation', '[data-flips] li button');
    assert.ok(flipped > 0, 'the scripted policy learns, so that tasks flip');
    await evaluate('evaluation', `document.querySelector('[data-flips] li button').click()`);
    const tab = await until(
      () =>
        vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputTextDiff &&
        vscode.window.tabGroups.activeTabGroup.activeTab.input,
      'both trajectories side by side',
    );
    assert.deepEqual([tab.original.scheme, tab.modified.scheme], [SAMPLE, SAMPLE]);
  });

  it('is exported as a page that stands alone', async () => {
    const file = vscode.Uri.file(at('exported.html'));
    const evaluation = evaluationIds(WHOLE()).at(-1);
    await vscode.commands.executeCommand(
      commandId('exportEvaluation'),
      { runFolder: WHOLE(), evaluation },
      file,
    );
    assert.ok(existsSync(file.fsPath));
    assert.match(readFileSync(file.fsPath, 'utf8'), /<h2>pass@k<\/h2>/);
    rmSync(file.fsPath);
  });
});

describe('runs side by side', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await closeEditors();
  });
  after(closeEditors);

  it('open from the selected rows, with a curve for each and what differs', async () => {
    const rows = [TORN(), WHOLE()].map(runFolder => ({ runFolder }));
    await vscode.commands.executeCommand(commandId('compareRuns'), rows[0], rows);
    await until(
      async () => (await count('compare', '.chart canvas[aria-label*="whole-1"][aria-label*="torn-1"]')) > 0,
      'both runs in one chart',
    );
    assert.equal(await text('compare', 'h1'), 'Compare 2 runs');
    assert.equal(await count('compare', '.outcomes tbody tr'), 2);
    assert.equal(await count('compare', '.behaviour tbody tr'), 2);
    assert.match(await text('compare', '.differences'), /steps/);
    await shoot('compare');
  });

  it('are aligned by tool calls, which the window remembers', async () => {
    await evaluate('compare', `document.querySelector('.segments input[value="calls"]').click()`);
    await until(
      async () => (await count('compare', '.chart canvas[aria-label*="tool calls"]')) > 0,
      'curves by tool calls',
    );
    await vscode.commands.executeCommand('workbench.action.files.newUntitledFile');
    const rows = [TORN(), WHOLE()].map(runFolder => ({ runFolder }));
    await vscode.commands.executeCommand(commandId('compareRuns'), undefined, rows);
    await until(
      async () =>
        (await evaluate('compare', `document.querySelector('.segments input:checked')?.value`)) === 'calls',
      'tool calls again',
    );
  });

  it('show two configurations as a difference', async () => {
    await until(async () => (await count('compare', '.differences button')) > 0, 'the way to the difference');
    await evaluate('compare', `document.querySelector('.differences button').click()`);
    await until(
      () => vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputTextDiff,
      'both configurations side by side',
    );
  });
});

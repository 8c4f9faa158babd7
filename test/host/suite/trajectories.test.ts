import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { BROWSER, commandId, TRAJECTORY } from '../../../src/extension/names.ts';
import { addressOf } from '../../../src/extension/trajectoryAddress.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, at, closeEditors, hasPage, page, shoot, until } from './host.ts';

const frame = 'body[data-view="trajectories"]';
const count = async (selector: string): Promise<number> => Number(await page('count', { selector, frame }));
const text = (selector: string): Promise<string> => page('text', { selector, frame }) as Promise<string>;
const SAMPLE = (): string => at('apart', 'sample-1');
const FILE = (folder: string): vscode.Uri => vscode.Uri.file(`${folder}/trees.jsonl`);

/** A person sees where the keyboard is before the next key. */
const isFocused = (name: string): Promise<unknown> =>
  until(
    async () =>
      (await page('eval', { frame, expression: 'document.activeElement?.getAttribute("aria-label")' })) ===
      name,
    `the focus on ${name}`,
  );

describe('the editor of trees.jsonl', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await page('refused', {});
  });
  after(closeEditors);

  it('opens as the file’s own editor, with the list and the first trajectory', async () => {
    await vscode.commands.executeCommand('vscode.open', FILE(SAMPLE()));
    await until(() => {
      const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
      return input instanceof vscode.TabInputCustom && input.viewType === BROWSER;
    }, 'the custom editor');
    await until(async () => (await count('.row.tree .question')) > 5, 'rows of the list');
    await until(async () => (await count('.line.heading')) > 1, 'a transcript');
    const trees = await openRun(SAMPLE()).trees();
    assert.equal(await text('.state [role="status"]'), `${trees.length} trees`);
    assert.equal(await text('.reader h1'), trees[0]!.question);
    assert.ok((await count('*')) < 400, 'a constant number of elements');
  });

  it('finds text, shows which trajectories have it, and where', async () => {
    await page('click', { selector: 'input[type="search"]', frame });
    await page('type', { text: 'argentina' });
    await until(
      async () => /trajectories in \d of/.test(await text('.state [role="status"]')),
      'what was found',
    );
    await until(async () => (await count('.line mark')) > 0, 'the text that was found, marked');
    assert.ok((await count('.path.found')) > 0);
    await shoot('trajectories-found');
  });

  it('opens the trajectory as text from the keyboard, at the segment that is read', async () => {
    await page('press', { key: 'Enter' });
    await isFocused('Trees');
    // What is still being looked for begins the list anew: then no tree is chosen for a moment, and Enter has nothing to open.
    await until(async () => (await count('.bar[hidden]')) === 1, 'the end of the search');
    await until(async () => (await count('.row.tree[aria-selected="true"]')) === 1, 'a chosen tree');
    await page('press', { key: 'Enter' });
    await isFocused('Transcript');
    await until(async () => (await count('.line')) > 0, 'the lines of the transcript');
    await page('press', { key: 'n' });
    await page('press', { key: 'Enter' });
    const editor = await until(() => {
      const active = vscode.window.activeTextEditor;
      return active?.document.uri.scheme === TRAJECTORY && active;
    }, 'the trajectory as text');
    assert.match(editor.document.lineAt(editor.selection.active.line).text, /^── /);
    assert.equal(addressOf(editor.document.uri.query).runFolder, SAMPLE());
  });

  it('opens from a run, and says of a file that is no run’s what it can do with it', async () => {
    await closeEditors();
    await vscode.commands.executeCommand(commandId('browseTrajectories'), { runFolder: SAMPLE() });
    await until(async () => (await count('.row.tree .question')) > 5, 'rows of the list');
    await closeEditors();
    await vscode.commands.executeCommand('vscode.open', FILE(at('apart', 'no-run')));
    await until(async () => (await text('#failure')).includes('run.json'), 'why it cannot be read');
    await page('click', { selector: 'text=Open as Plain Text', frame });
    await until(
      () => vscode.window.activeTextEditor?.document.getText() === 'these are no trees\n',
      'the file as it is',
    );
  });
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { commandId, TRAJECTORY } from '../../../src/extension/names.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, closeEditors, hasPage, page, until, WHOLE } from './host.ts';

const TREE = '4.0';
const overlay = (): vscode.WorkspaceConfiguration =>
  vscode.workspace.getConfiguration('branchpoint.trajectory');

/** Parts of lines that the editor paints over: one for each tinted run of tokens that is in sight. */
const tints = async (): Promise<number> =>
  Number(await page('count', { selector: '.editor-instance .view-overlays .cdr[class*="ced-"]' }));

describe('a trajectory as text', () => {
  let editor: vscode.TextEditor;
  before(async () => {
    await activated();
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      runFolder: WHOLE(),
      tree: TREE,
      path: 0,
    });
    editor = await until(() => {
      const active = vscode.window.activeTextEditor;
      return active?.document.uri.scheme === TRAJECTORY && active;
    }, 'the trajectory’s editor');
  });
  after(async () => {
    await overlay().update('overlay', undefined, vscode.ConfigurationTarget.Global);
    await closeEditors();
  });

  it('says in its head what it is, what it earned and who answered', async () => {
    const { document } = editor;
    const tree = await openRun(WHOLE()).tree(TREE);
    assert.equal(document.languageId, TRAJECTORY);
    assert.ok(document.lineAt(0).text.startsWith(`# Tree ${TREE} · trajectory 0 of ${tree.paths.length} `));
    assert.ok(document.lineAt(1).text.includes(`accepted: ${tree.task.references.join(' | ')}`));
    for (const heading of ['── prompt · ', '── turn 1 · model · '])
      assert.ok(document.getText().includes(`\n${heading}`), heading);
  });

  it('folds every turn', async () => {
    const { document } = editor;
    const folds = await vscode.commands.executeCommand<vscode.FoldingRange[]>(
      'vscode.executeFoldingRangeProvider',
      document.uri,
    );
    const headings = folds.map(({ start }) => document.lineAt(start).text);
    const turns = document
      .getText()
      .split('\n')
      .filter(line => /^── .*turn \d+/.test(line));
    assert.ok(turns.length > 0);
    assert.deepEqual(
      turns.filter(turn => !headings.includes(turn)),
      [],
    );
  });

  it('has a lens with the numbers of every segment', async () => {
    const { document } = editor;
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
      'vscode.executeCodeLensProvider',
      document.uri,
    );
    const titles = lenses.map(({ command }) => command?.title ?? '');
    const headings = document
      .getText()
      .split('\n')
      .filter(line => /^── (?!branching|here)/.test(line));
    assert.equal(titles.filter(title => title === 'Open Tree').length, headings.length + 1);
    assert.ok(
      titles.some(title => /turn 1 · \d+ tokens · H mean \d\.\d\d, highest \d\.\d\d/.test(title)),
      titles.join('\n'),
    );
  });

  it('says a token’s numbers on hover, as they were stored', async () => {
    const { document } = editor;
    const run = openRun(WHOLE());
    const [tree, columns] = [await run.tree(TREE), await run.columns(TREE)];
    const first = tree.segments.find(({ kind }) => kind === 'model')!.start;
    const heading = document
      .getText()
      .split('\n')
      .findIndex(line => /^── .*turn 1/.test(line));
    const [hover] = await vscode.commands.executeCommand<vscode.Hover[]>(
      'vscode.executeHoverProvider',
      document.uri,
      new vscode.Position(heading + 1, 0),
    );
    const text = hover!.contents.map(part => (part as vscode.MarkdownString).value).join('\n');
    assert.ok(text.includes(`${columns.entropies[first]!.toFixed(4)} nats`), text);
    assert.match(text, /Log-probability, trainer \| `−?\d/);
    assert.match(text, /Advantage, soft \| `[+−]\d/);
  });

  it('tints tokens by the overlay that is chosen', async function () {
    if (!hasPage) this.skip();
    await until(async () => (await tints()) > 0, 'tinted tokens');
    await overlay().update('overlay', 'none', vscode.ConfigurationTarget.Global);
    await until(async () => (await tints()) === 0, 'no tinted tokens');
    await vscode.commands.executeCommand(commandId('cycleOverlay'));
    await until(async () => (await tints()) > 0, 'tinted tokens again');
    assert.equal(overlay().get('overlay'), 'entropy');
  });

  it('cannot be written to', async () => {
    const before = editor.document.getText();
    await vscode.commands.executeCommand('type', { text: 'x' });
    assert.equal(editor.document.getText(), before);
  });
});

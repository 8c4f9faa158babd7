import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandId, TRAJECTORY } from '../../../src/extension/names.ts';
import type { App } from '../../../src/extension/app.ts';
import { addressOf } from '../../../src/extension/trajectoryAddress.ts';
import { siblingOf, uncertainSteps } from '../../../src/extension/trajectoryMoves.ts';
import { FILES } from '../../../src/run/layout.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, at, closeEditors, hasPage, page, shoot, until, WHOLE } from './host.ts';

const TREE = '4.0';
const overlay = (): vscode.WorkspaceConfiguration =>
  vscode.workspace.getConfiguration('branchpoint.trajectory');

/** Parts of lines that the editor paints over: one for each tinted run of tokens that is in sight. */
const tints = async (): Promise<number> =>
  Number(await page('count', { selector: '.editor-instance .view-overlays .cdr[class*="ced-"]' }));

const opened = async (): Promise<App> => (await activated()).exports as App;

/** The active editor, once it shows this path. */
const active = (path: number): Promise<vscode.TextEditor> =>
  until(() => {
    const editor = vscode.window.activeTextEditor;
    return (
      editor?.document.uri.scheme === TRAJECTORY &&
      addressOf(editor.document.uri.query).path === path &&
      editor
    );
  }, `the text of trajectory ${path}`);

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
    const { step } = await openRun(WHOLE()).tree(TREE);
    assert.equal(titles.filter(title => title === `Re-score Step ${step}…`).length, 1);
    assert.ok(
      titles.some(title => /turn 1 · \d+ tokens · H mean \d?\.\d\d, highest \d?\.\d\d/.test(title)),
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
    assert.match(text, /Advantage \| `soft [+−]\d/);
  });

  it('says on hover what else could have been said, and what decided a branch', async () => {
    const { document } = editor;
    const lines = document.getText().split('\n');
    const hoverAt = async (line: number): Promise<string> => {
      const [hover] = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        document.uri,
        new vscode.Position(line, 0),
      );
      return hover!.contents.map(part => (part as vscode.MarkdownString).value).join('\n');
    };
    const choice = await hoverAt(lines.findIndex(line => /^── .*turn 1/.test(line)) + 1);
    assert.match(choice, /\| ▸ \| &emsp;[\d.]+ % \| &emsp;\*\*`<`\*\* \| &emsp;this one, 1/);
    assert.equal(choice.split('\n\n')[0]!.match(/ % \| &emsp;/g)?.length, 4, choice);
    const question = await hoverAt(lines.findIndex(line => line.startsWith('── branching: ')));
    assert.match(question, /^Hₜ [\d.]+ was measured on these tokens: P /);
    assert.match(question, /\n\| `<` \| &emsp;\d?\.\d\d \| &emsp;[\d.]+ % \| &emsp;`=` /);
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

  it('toggles the mask, and goes back to what was shown', async () => {
    await vscode.commands.executeCommand(commandId('toggleMask'));
    assert.equal(overlay().get('overlay'), 'mask');
    await vscode.commands.executeCommand(commandId('toggleMask'));
    assert.equal(overlay().get('overlay'), 'entropy');
  });

  it('goes to the next uncertain step, from there back, and round', async () => {
    const open = await opened();
    const steps = uncertainSteps(await open.trajectories.read(editor.document.uri));
    assert.ok(steps.length > 1);
    const offset = (): number => editor.document.offsetAt(editor.selection.active);
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    for (const wanted of [steps[0], steps[1]]) {
      await vscode.commands.executeCommand(commandId('nextUncertain'));
      assert.equal(offset(), wanted);
    }
    await vscode.commands.executeCommand(commandId('previousUncertain'));
    assert.equal(offset(), steps[0]);
    await vscode.commands.executeCommand(commandId('previousUncertain'));
    assert.equal(offset(), steps.at(-1));
  });

  it('goes to the sibling and to the branch that it left, at the heading of their segment', async () => {
    const tree = await openRun(WHOLE()).tree(TREE);
    const child = tree.paths.findIndex(({ from }) => from !== undefined);
    const { from } = tree.paths[child]!;
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      runFolder: WHOLE(),
      tree: TREE,
      path: child,
    });
    await active(child);
    await vscode.commands.executeCommand(commandId('parentBranch'));
    const parent = await active(from!.path);
    const open = await opened();
    const { layout } = await open.trajectories.read(parent.document.uri);
    const heading = layout.segments.find(({ segment }) => segment === from!.segment)!.heading;
    assert.equal(parent.selection.active.line, heading);
    const sibling = siblingOf(tree, { path: from!.path, segment: from!.segment }, 1)!;
    await vscode.commands.executeCommand(commandId('nextSibling'));
    const other = await active(sibling.path);
    assert.match(other.document.lineAt(other.selection.active.line).text, /^── /);
  });

  it('compares with another in the built-in diff, both at the first token that differs', async () => {
    const one = { runFolder: WHOLE(), tree: TREE, path: 0 };
    await vscode.commands.executeCommand(commandId('compareTrajectory'), {
      ...one,
      other: { tree: TREE, path: 1 },
    });
    const input = await until(() => {
      const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
      return input instanceof vscode.TabInputTextDiff && input;
    }, 'a diff');
    const open = await opened();
    const both = [await open.trajectories.read(input.original), await open.trajectories.read(input.modified)];
    assert.deepEqual(
      both.map(({ path }) => path),
      [0, 1],
    );
    const [left, right] = both.map(({ layout, columns }) => layout.tokens.map(token => columns.ids[token]!));
    const parting = left!.findIndex((id, i) => id !== right![i]);
    assert.ok(parting > 0);
    for (const [i, uri] of [input.original, input.modified].entries()) {
      const side = await until(
        () => vscode.window.visibleTextEditors.find(({ document }) => String(document.uri) === String(uri)),
        'a side of the diff',
      );
      const start = both[i]!.layout.starts[parting]!;
      await until(() => side.document.offsetAt(side.selection.active) === start, 'the cursor at the parting');
    }
    await shoot('trajectory-diff');
  });

  it('cannot be written to', async () => {
    const before = editor.document.getText();
    await vscode.commands.executeCommand('type', { text: 'x' });
    assert.equal(editor.document.getText(), before);
  });
});

describe('a tree that still grows', () => {
  after(closeEditors);

  it('opens as text and becomes whole when it is written', async () => {
    const { runs, trajectories } = await opened();
    const folder = at('apart', 'growing-1');
    const grown = (await runs.state(folder)).live!.trees.find(({ segments }) => segments.length > 1)!;
    await vscode.commands.executeCommand(commandId('openTrajectory'), {
      runFolder: folder,
      tree: grown.id,
      path: 0,
    });
    const { document } = await active(0);
    assert.match(document.lineAt(0).text, /trajectory 0 of \d+ so far \(initial\) · growing/);
    assert.match(document.getText(), /\n\(\d+ tokens, their text is written when the tree is done\)/);
    for (const name of [FILES.events, FILES.trees])
      copyFileSync(at('apart', 'sample-1', name), join(folder, name));
    await vscode.commands.executeCommand(commandId('refreshRuns'));
    await until(() => document.lineAt(0).text.includes('ended by'), 'the whole trajectory');
    const { text } = (await trajectories.read(document.uri)).layout;
    assert.equal(document.getText(), text);
    assert.doesNotMatch(text, /is written when the tree is done/);
  });
});

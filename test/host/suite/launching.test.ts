import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { CheckResult } from '../../../src/core/checkup.ts';
import { textOf } from '../../../src/core/pieces.ts';
import type { Measured } from '../../../src/extension/dryRuns.ts';
import { openRun } from '../../../src/run/reader.ts';
import { closeTrees, openTrees, writeTrees } from '../../../src/run/trees.ts';
import { activated, at, closeEditors, hasPage, page, SMALL, shoot, until, WHOLE } from './host.ts';

const command = <T>(name: string, ...args: unknown[]): Thenable<T> =>
  vscode.commands.executeCommand<T>(`branchpoint.${name}`, ...args);
const own = (uri: vscode.Uri): vscode.Diagnostic[] =>
  vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'Branchpoint');

const THEMES = [
  ['dark', 'Default Dark Modern'],
  ['light', 'Default Light Modern'],
  ['contrast', 'Default High Contrast'],
] as const;

async function shootInThemes(name: string): Promise<void> {
  if (process.env.BRANCHPOINT_SHOTS === undefined) return;
  const workbench = vscode.workspace.getConfiguration('workbench');
  for (const [kind, theme] of THEMES) {
    await workbench.update('colorTheme', theme, vscode.ConfigurationTarget.Global);
    // Colours follow a little later, and nothing tells when.
    await new Promise(resolve => setTimeout(resolve, 1000));
    await shoot(`${name}-${kind}`);
  }
  await workbench.update('colorTheme', undefined, vscode.ConfigurationTarget.Global);
}

describe('a configuration on its way to a run', () => {
  const file = (): string => at('small', 'launching.branchpoint.json');
  const broken = (): string => at('recorded', 'broken-1');
  let document: vscode.TextDocument;
  const write = async (text: string): Promise<void> => {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), text);
    await vscode.workspace.applyEdit(edit);
  };
  const told = (code: string): Promise<vscode.Diagnostic> =>
    until(() => own(document.uri).find(found => found.code === code), `a problem ${code}`);
  const fixes = async ({ range }: vscode.Diagnostic): Promise<vscode.CodeAction[]> =>
    vscode.commands.executeCommand('vscode.executeCodeActionProvider', document.uri, range, 'quickfix');

  before(async () => {
    await activated();
    writeFileSync(file(), readFileSync(SMALL(), 'utf8').replace('"small"', '"launching"'));
    document = await vscode.workspace.openTextDocument(file());
    await vscode.window.showTextDocument(document);
  });
  after(async () => {
    await closeEditors();
    rmSync(file(), { force: true });
    rmSync(broken(), { recursive: true, force: true });
  });

  it('is told of while it is typed, once, and mended by a quick fix', async () => {
    const good = document.getText();
    await write(
      good
        .replace('"tasksPerStep": 4', '"tasksPerStep": 7')
        .replace('"updatesPerStep": 1', '"updatesPerStep": 2'),
    );
    const split = await told('impossible');
    assert.equal(document.getText(split.range), '2');
    const [fix, ...others] = await fixes(split);
    assert.equal(fix!.title, 'Set algorithm.updatesPerStep to 1');
    assert.equal(fix!.isPreferred, true);
    assert.deepEqual(
      others.map(({ title }) => title),
      ['Set rollout.tasksPerStep to 8'],
    );
    await vscode.workspace.applyEdit(fix!.edit!);
    await until(() => own(document.uri).length === 0, 'the problem to go');
    await write(good.replace('"groupSize": 4', '"grupSize": 4, "threads": 1'));
    const unknown = await until(
      () => own(document.uri).find(({ message }) => message.includes('grupSize')),
      'the unknown key',
    );
    assert.equal(document.getText(unknown.range), '"grupSize"');
    assert.deepEqual(
      (await fixes(unknown)).map(({ title }) => title),
      ['Change rollout.grupSize to rollout.groupSize', 'Remove rollout.grupSize'],
    );
    const all = vscode.languages.getDiagnostics(document.uri);
    assert.equal(
      all.filter(({ range }) => range.isEqual(unknown.range)).length,
      1,
      'nobody else tells it too',
    );
    await shootInThemes('config-problems');
    await write(good);
    await until(() => own(document.uri).length === 0, 'no problem');
    await document.save();
  });

  it('has its four lenses, and what it amounts to behind its keys', async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
      'vscode.executeCodeLensProvider',
      document.uri,
    );
    assert.deepEqual(
      lenses.map(({ command, range }) => [command?.title, range.start.line]),
      [
        ['$(play) Launch', 0],
        ['Dry Run', 0],
        ['Validate', 0],
        ['Clone', 0],
      ],
    );
    const labels = await hints();
    assert.ok(labels.includes('→ 4 × 4 = 16 trajectories a step'), labels.join('\n'));
    assert.ok(
      labels.some(label => /^→ up to .* in training$/.test(label)),
      labels.join('\n'),
    );
  });

  const hints = async (): Promise<string[]> => {
    const range = new vscode.Range(0, 0, document.lineCount, 0);
    const found = await vscode.commands.executeCommand<vscode.InlayHint[]>(
      'vscode.executeInlayHintProvider',
      document.uri,
      range,
    );
    return found.map(({ label }) => label as string);
  };

  it('is tried for one step, which its hint then tells', async () => {
    const measured = await command<Measured>('dryRun', document.uri);
    assert.equal(measured.trajectories, 16);
    assert.ok((await hints()).some(label => /^dry run: \d+(\.\d)? s a step, .*B$/.test(label)));
    await shootInThemes('config-hints');
  });

  it('is checked by the doctor, whose results stand at the keys until they are edited', async () => {
    await write(document.getText().replace('"maxPromptTokens": 64', '"maxPromptTokens": 2'));
    const results = await command<CheckResult[]>('validateConfiguration', document.uri);
    const long = results.find(({ key, status }) => status === 'error' && key === 'rollout.maxPromptTokens');
    assert.ok(long, JSON.stringify(results));
    const shown = await until(() => own(document.uri).find(({ code }) => code === long.id), 'it in Problems');
    assert.equal(document.getText(shown.range), '2');
    await closeEditors();
    await command('showCheck', { subject: file(), result: long });
    const editor = vscode.window.activeTextEditor!;
    assert.equal(editor.document.getText(editor.selection), '2');
    document = editor.document;
    await write(document.getText().replace('"maxPromptTokens": 2', '"maxPromptTokens": 64'));
    assert.deepEqual(own(document.uri), []);
    await document.save();
  });

  it('is asked for step by step, and begins without a problem', async () => {
    if (!hasPage) return;
    const made = command<vscode.Uri>('newConfiguration');
    const titled = async (counter: string): Promise<void> => {
      await until(async () => {
        const text = (await page('text', { selector: '.quick-input-titlebar' })) as string;
        return text.includes(counter);
      }, `question ${counter}`);
    };
    const accept = (): Promise<unknown> => page('press', { key: 'Enter' });
    await titled('(1/7)');
    await accept();
    await titled('(2/7)');
    await vscode.commands.executeCommand('workbench.action.quickInputBack');
    await titled('(1/7)');
    await accept();
    await titled('(2/7)');
    await page('type', { text: 'small/tasks' });
    await shoot('config-chain');
    await accept();
    await titled('(3/7)');
    await page('type', { text: 'small/policy' });
    await accept();
    for (const counter of ['(4/7)', '(5/7)', '(6/7)']) {
      await titled(counter);
      await accept();
    }
    await titled('(7/7)');
    await accept();
    const uri = await made;
    const text = await vscode.workspace.openTextDocument(uri);
    assert.match(text.getText(), /"train": "small\/tasks\.jsonl"/);
    assert.match(text.getText(), /\/\/ Folder of the policy to train/);
    await new Promise(resolve => setTimeout(resolve, 500));
    assert.deepEqual(
      vscode.languages.getDiagnostics(uri).map(({ message }) => message),
      [],
    );
    await closeEditors();
    await vscode.workspace.fs.delete(uri);
  });

  it('leads from a tree that was broken on purpose to the exact token', async () => {
    cpSync(WHOLE(), broken(), { recursive: true });
    const run = openRun(broken());
    const all = await Promise.all(
      (await run.trees()).map(async ({ id }) => ({
        tree: await run.tree(id),
        columns: await run.columns(id),
      })),
    );
    const [{ tree, columns }] = all as [(typeof all)[0]];
    const token = tree.segments.find(({ kind }) => kind === 'prompt')!.start + 1;
    columns.samplerLogProbs[token] = -0.5;
    // Of a token that seems drawn now nothing was recorded beside it.
    delete columns.alternatives;
    for (const name of ['trees.jsonl', 'trees.index', 'tokens.bin']) rmSync(join(broken(), name));
    const files = openTrees(broken());
    writeTrees(files, all);
    closeTrees(files);
    const results = await command<CheckResult[]>('checkRun', { runFolder: broken() });
    const found = results.find(({ status, tree }) => status === 'error' && tree !== undefined)!;
    assert.deepEqual([found?.tree, found?.token], [tree.id, token], JSON.stringify(results));
    await until(
      () =>
        vscode.languages
          .getDiagnostics()
          .some(([uri, all]) => uri.toString().includes('broken-1') && all.length > 0),
      'it in Problems',
    );
    await command('showCheck', { subject: broken(), result: found });
    const editor = vscode.window.activeTextEditor!;
    assert.equal(editor.document.uri.scheme, 'branchpoint-trajectory', JSON.stringify(found));
    const text = textOf((await run.pieces())!, [columns.ids[token]!]);
    assert.equal(editor.document.getText(editor.selection), text);
    await shoot('config-broken-tree');
  });
});

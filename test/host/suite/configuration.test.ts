import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { activated, at, closeEditors, until } from './host.ts';

describe('a run configuration in the editor', () => {
  before(activated);
  after(closeEditors);

  it('is JSON with comments, and what is wrong in it is marked where it stands', async () => {
    const document = await vscode.workspace.openTextDocument(at('wrong.branchpoint.json'));
    await vscode.window.showTextDocument(document);
    assert.equal(document.languageId, 'jsonc');
    const found = await until(() => {
      const all = vscode.languages.getDiagnostics(document.uri);
      return all.length >= 2 && all;
    }, 'the diagnostics of a wrong configuration');
    const marked = found.map(({ range, message }) => [document.getText(range), message] as const);
    const key = marked.find(([text]) => text.includes('stepz'));
    assert.ok(key, JSON.stringify(marked));
    assert.match(key[1], /stepz/);
    const value = marked.find(([text]) => text === '1');
    assert.match(value?.[1] ?? '', /minimum|least|2/);
    assert.ok(!marked.some(([text]) => text.startsWith('//')), 'comments are allowed');
  });

  it('completes keys and explains them', async () => {
    const file = vscode.Uri.file(at('typed.branchpoint.json'));
    await vscode.workspace.fs.writeFile(file, Buffer.from('{\n  "rollout": {\n    \n  }\n}\n'));
    const typed = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(typed);
    const labels = await until(async () => {
      const list = await vscode.commands.executeCommand<vscode.CompletionList>(
        'vscode.executeCompletionItemProvider',
        file,
        new vscode.Position(2, 4),
      );
      const names = list.items.map(({ label }) => (typeof label === 'string' ? label : label.label));
      return names.some(name => name.includes('groupSize')) && names;
    }, 'completion inside “rollout”');
    assert.ok(labels.some(name => name.includes('entropyWeight')));
    assert.ok(!labels.some(name => name.includes('learningRate')), 'only keys that fit here');
    await vscode.workspace.fs.delete(file);
  });

  it('explains a key on hover with the paper’s symbol', async () => {
    const uri = vscode.Uri.file(at('wrong.branchpoint.json'));
    const document = await vscode.workspace.openTextDocument(uri);
    const position = document.positionAt(document.getText().indexOf('groupSize') + 2);
    const text = await until(async () => {
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        uri,
        position,
      );
      const all = hovers
        .flatMap(({ contents }) => contents.map(part => (part as vscode.MarkdownString).value))
        .join('\n');
      return all.includes('Trajectories of one task') && all;
    }, 'a hover on groupSize');
    assert.match(text, /\bM\b/);
  });
});

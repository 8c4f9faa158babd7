import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { commandId } from '../../../src/extension/names.ts';
import { activated, WHOLE } from './host.ts';

describe('the diagnosis of a run', () => {
  it('opens as a text to be read before it is shared, with versions, steps and checks', async () => {
    await activated();
    await vscode.commands.executeCommand(commandId('collectDiagnosis'), { runFolder: WHOLE() });
    const { document } = vscode.window.activeTextEditor!;
    const text = document.getText();
    assert.equal(document.languageId, 'markdown');
    assert.match(text, /^# Diagnosis of whole-1/);
    assert.match(text, /\| 1 \| /);
    assert.match(text, new RegExp(`editor: .*${vscode.version.replaceAll('.', '\\.')}`));
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  });
});

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { COMMANDS, commandId, type CommandName } from '../../../src/extension/names.ts';
import { activated } from './host.ts';

/** Bytes of the extension's bundle; what is larger is read and compiled for longer at every start of a window. */
const LARGEST_BUNDLE = 600_000;

describe('activation', () => {
  it('happens by the workspace’s configurations alone', async () => {
    const extension = await activated();
    assert.ok(extension.isActive);
    assert.equal(extension.extensionKind, vscode.ExtensionKind.Workspace);
  });

  it('loads no native module into the extension host', async function () {
    if (process.platform !== 'linux') this.skip();
    await activated();
    const maps = readFileSync('/proc/self/maps', 'utf8');
    assert.ok(maps.includes('/node'), 'the host’s memory map says what it loaded');
    assert.doesNotMatch(maps, /onnxruntime|\/dist\/native\//);
  });

  it('reads one small bundle', async () => {
    const { extensionPath } = await activated();
    const { size } = statSync(join(extensionPath, 'dist', 'extension.cjs'));
    assert.ok(size < LARGEST_BUNDLE, `${size} bytes`);
  });

  it('registers every command of the table and contributes each of them', async () => {
    const extension = await activated();
    const contributed = (
      extension.packageJSON as { contributes: { commands: { command: string }[] } }
    ).contributes.commands.map(({ command }) => command);
    const registered = await vscode.commands.getCommands(true);
    const table = (Object.keys(COMMANDS) as CommandName[]).map(commandId);
    assert.deepEqual(contributed.toSorted(), table.toSorted());
    assert.deepEqual(
      table.filter(id => !registered.includes(id)),
      [],
    );
  });
});

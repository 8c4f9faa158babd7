import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandId, COMMANDS, type CommandName } from '../../../src/extension/names.ts';
import { activated, at, SMALL, TORN, until } from './host.ts';

/** Does something while a part of VS Code's interface is another one; the extension has the same interface as its tests. */
async function pretending<T extends object, R>(
  part: T,
  name: keyof T,
  value: unknown,
  act: () => PromiseLike<R>,
): Promise<R> {
  const before = Object.getOwnPropertyDescriptor(part, name)!;
  Object.defineProperty(part, name, { configurable: true, value });
  try {
    return await act();
  } finally {
    Object.defineProperty(part, name, before);
  }
}

/** What the user is told when a command fails. */
async function refusal(name: CommandName, argument: unknown): Promise<string> {
  const said: string[] = [];
  const show = (message: string): Promise<undefined> => {
    said.push(message);
    return Promise.resolve(undefined);
  };
  await pretending(vscode.window, 'showErrorMessage', show, async () => {
    await vscode.commands.executeCommand(commandId(name), argument);
    await until(() => said.length > 0, `a message of ${name}`);
  });
  assert.equal(said.length, 1, said.join('\n'));
  assert.ok(said[0]!.startsWith(`${COMMANDS[name].title}: `), said[0]);
  return said[0]!;
}

const runs = (): string[] => (existsSync(at('small', 'runs')) ? readdirSync(at('small', 'runs')) : []);

describe('what is refused', () => {
  before(activated);

  it('starts nothing in a workspace that is not trusted', async () => {
    const before = runs();
    await pretending(vscode.workspace, 'isTrusted', false, async () => {
      for (const [name, argument] of [
        ['launchRun', vscode.Uri.file(SMALL())],
        ['resumeRun', { runFolder: TORN() }],
        ['evaluateCheckpoint', { runFolder: TORN(), checkpoint: 'step-000002' }],
      ] as const)
        assert.match(await refusal(name, argument), /needs a trusted workspace.*Manage Workspace Trust/);
    });
    assert.deepEqual(runs(), before);
    assert.equal(vscode.workspace.isTrusted, true);
  });

  it('launches no configuration with a mistake, and says line, key and fix', async () => {
    const message = await refusal('launchRun', vscode.Uri.file(at('wrong.branchpoint.json')));
    assert.match(message, /wrong\.branchpoint\.json/);
    assert.match(message, /\b6\b/);
    assert.match(message, /stepz/);
    assert.match(message, /steps/);
  });

  it('stops no run that has no worker', async () => {
    assert.match(await refusal('stopRun', { runFolder: TORN() }), /No worker runs in .*torn-1/);
  });

  it('opens no tree that is not there', async () => {
    const message = await refusal('openTrajectory', { runFolder: TORN(), tree: '99.0', path: 0 });
    assert.match(message, /has no tree 99\.0/);
  });

  it('deletes nothing of another program', async () => {
    const folder = at('foreign');
    mkdirSync(folder);
    writeFileSync(join(folder, '1.jsonl'), '{"input":"2 + 2?","output":"4","score":1,"step":1}\n');
    try {
      assert.match(
        await refusal('deleteRun', { runFolder: folder }),
        /was written by another program, and is only shown here/,
      );
      assert.ok(existsSync(join(folder, '1.jsonl')));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

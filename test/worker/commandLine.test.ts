import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { helpText, usage } from '../../src/worker/commandLine.ts';
import { COMMANDS } from '../../src/worker/commands.ts';
import { runCommand } from '../fakes/commandLine.ts';

describe('the help of the command line', () => {
  it('puts only what can be left out into brackets', () => {
    assert.match(
      usage('export', COMMANDS['export']!),
      /^branchpoint export RUN --sft FILE \[--each N\] \[--json\]$/,
    );
    assert.match(usage('branch', COMMANDS['branch']!), / RUN --tree ID --path P --segment S \[--token T\] /);
    assert.match(helpText(COMMANDS, 'rescore'), /--reward FILE {5}.*\. Needed\.\n/);
    assert.match(usage('sft', COMMANDS['sft']!), / --out DIR --tokens N \[--rows N\]/);
  });

  it('is given with every command that there is, and with no other', async () => {
    for (const name of Object.keys(COMMANDS)) {
      const { code, out } = await runCommand(name, '--help');
      assert.deepEqual([code, out], [0, helpText(COMMANDS, name)], name);
    }
    for (const asked of [['trai', '--help'], ['help', 'trai'], ['trai']]) {
      const { code, out, err } = await runCommand(...asked);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, /^branchpoint: There is no command "trai"\. Did you mean train\? Commands: train, /);
    }
    assert.match((await runCommand('--version')).out, /^branchpoint \d+\.\d+\.\d+\n$/);
  });

  it('takes --json with every command that comes to something', () => {
    const without = Object.keys(COMMANDS).filter(name => !COMMANDS[name]!.options['json']);
    assert.deepEqual(without, ['help']);
  });

  it('lists every command in a line that a terminal of 132 columns holds, and says what the words in capitals are', () => {
    const text = helpText(COMMANDS);
    for (const name of Object.keys(COMMANDS)) assert.match(text, new RegExp(`^  ${name} `, 'm'));
    for (const line of text.split('\n')) assert.ok(line.length <= 132, `${line.length}: ${line}`);
    assert.match(text, /^CONFIG is .*RUN .*runs\//m);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { helpText, usage } from '../../src/worker/commandLine.ts';
import { COMMANDS } from '../../src/worker/commands.ts';

describe('the help of the command line', () => {
  it('puts only what can be left out into brackets', () => {
    assert.match(usage('export', COMMANDS['export']!), /^branchpoint export RUN --sft FILE \[--each N\]$/);
    assert.match(usage('branch', COMMANDS['branch']!), / RUN --tree ID --path P --segment S \[--token T\] /);
    assert.match(helpText(COMMANDS, 'rescore'), /--reward FILE {5}.*\. Needed\.\n/);
  });

  it('lists every command in a line that a terminal of 132 columns holds, and says what the words in capitals are', () => {
    const text = helpText(COMMANDS);
    for (const name of Object.keys(COMMANDS)) assert.match(text, new RegExp(`^  ${name} `, 'm'));
    for (const line of text.split('\n')) assert.ok(line.length <= 132, `${line.length}: ${line}`);
    assert.match(text, /^CONFIG is .*RUN .*runs\//m);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { unlinked } from '../../src/extension/unlinked.ts';

/** What VS Code takes for a link in a message. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)/i;

describe('a text of a file in a message', () => {
  it('has no link, whatever the file is called', () => {
    const text = 'run [Repair](command:workbench.action.terminal.new)-1 cannot be read.';
    assert.match(text, LINK);
    assert.equal(unlinked(text), 'run [Repair] (command:workbench.action.terminal.new)-1 cannot be read.');
    assert.doesNotMatch(unlinked(text), LINK);
  });
});

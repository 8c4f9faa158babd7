import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Remedy } from '../../src/core/configRemedy.ts';
import { set, remove } from '../../src/core/configRemedy.ts';
import { edited } from '../../src/run/configEdit.ts';
import { checkConfigText } from '../../src/run/configFile.ts';

const TEXT = `// A run.
{
  // Its seed.
  "seed": 1, // one
  // The policy.
  "policy": { "path": "policy" },
  "data": {
    // Tasks.
    "train": "t.jsonl",
    // More tasks.
    "heldOut": "h.jsonl"
  },
  "groupSize": 8
}
`;

describe('a remedy in a config’s text', () => {
  it('sets a value where it stands', () => {
    assert.equal(edited(TEXT, set('seed', 7)), TEXT.replace('"seed": 1', '"seed": 7'));
  });

  it('adds a key to its group, and a group that is not there', () => {
    const added = edited(TEXT, set('data.shuffle', false));
    assert.match(added, /"heldOut": "h.jsonl",\n {4}"shuffle": false\n {2}\}/);
    assert.match(
      edited(TEXT, set('rollout.threshold', 0.5)),
      /8,\n {2}"rollout": \{\n {4}"threshold": 0.5\n {2}\}\n\}/,
    );
  });

  it('removes a key with its comma and the comment above it, and no other', () => {
    assert.equal(
      edited(TEXT, remove('data.heldOut')),
      TEXT.replace('"t.jsonl",', '"t.jsonl"').replace('    // More tasks.\n    "heldOut": "h.jsonl"\n', ''),
    );
    assert.equal(edited(TEXT, remove('seed')), TEXT.replace('  // Its seed.\n  "seed": 1, // one\n', ''));
    assert.equal(edited(TEXT, remove('policy.path')), TEXT.replace('"path": "policy"', ''));
    assert.equal(edited(TEXT, remove('nothing')), TEXT);
  });

  it('finds the comma of a key behind comments, which may have commas too', () => {
    const text = '{ "a": 1 /* x, y */, "b": 2 // x, y\n, "c": 3 }';
    assert.equal(edited(text, remove('a')), '{  "b": 2 // x, y\n, "c": 3 }');
    assert.equal(edited(text, remove('b')), '{ "a": 1 /* x, y */,  "c": 3 }');
    assert.equal(edited(text, remove('c')), '{ "a": 1 /* x, y */, "b": 2 // x, y\n  }');
  });

  it('renames a key in its place, or moves it to the group that it belongs to', () => {
    const rename = (from: string, to: string): Remedy => ({
      ...{ kind: 'rename', path: from.split('.'), to: to.split('.') },
    });
    assert.equal(edited(TEXT, rename('seed', 'steps')), TEXT.replace('"seed"', '"steps"'));
    const moved = edited(TEXT, rename('groupSize', 'rollout.groupSize'));
    assert.match(moved, /"rollout": \{\n {4}"groupSize": 8\n {2}\}/);
    assert.equal(moved.match(/groupSize/g)?.length, 1);
    assert.ok('config' in checkConfigText(moved, '/tmp/a.branchpoint.json'), moved);
    assert.equal(edited(TEXT, rename('seed', 'policy')), TEXT, 'the name is taken');
  });

  it('reaches into lists', () => {
    const text = '{ "tools": { "custom": [{ "tag": "a" }, { "tag": "a" }] } }';
    const path = ['tools', 'custom', '1', 'tag'];
    assert.equal(edited(text, { kind: 'set', path, value: 'a2' }), text.replace('"a" }]', '"a2" }]'));
    assert.equal(
      edited(text, { kind: 'set', path: ['tools', 'custom', '0', 'module'], value: 'm' }).replaceAll(
        /\s/g,
        '',
      ),
      '{"tools":{"custom":[{"tag":"a","module":"m"},{"tag":"a"}]}}',
    );
  });
});

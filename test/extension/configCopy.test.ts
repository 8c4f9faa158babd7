import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { parse } from 'jsonc-parser';
import { defaults } from '../../src/core/config.ts';
import { configText, freshPath, renamed } from '../../src/extension/configCopy.ts';

describe('a copy of a configuration', () => {
  it('has a name that no file in the folder has', () => {
    const folder = mkdtempSync(join(tmpdir(), 'branchpoint-copy-'));
    try {
      writeFileSync(join(folder, 'sums.branchpoint.json'), '{}');
      const first = freshPath(folder, 'sums', '.branchpoint.json');
      assert.deepEqual(first, { name: 'sums-2', path: join(folder, 'sums-2.branchpoint.json') });
      writeFileSync(first.path, '{}');
      assert.equal(freshPath(folder, 'sums-2', '.branchpoint.json').name, 'sums-3');
      assert.equal(freshPath(folder, 'sums', '.branchpoint.json').name, 'sums-3');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is the text with another name, its comments kept', () => {
    const text = '// Sums.\n{\n  // What it is called.\n  "name": "sums",\n  "steps": 40\n}\n';
    assert.equal(renamed(text, 'sums-2'), text.replace('"sums"', '"sums-2"'));
    const unnamed = renamed('{\n  "steps": 40\n}\n', 'sums-2');
    assert.deepEqual(parse(unnamed), { name: 'sums-2', steps: 40 });
  });

  it('of a run whose file has gone has every key, and paths as the folder sees them', () => {
    const config = defaults('arpo');
    config.runs = '/project/runs';
    config.policy.path = '/models/tiny';
    const text = configText(config, '/project/configs');
    const { runs, policy, rollout } = parse(text) as typeof config;
    assert.deepEqual([runs, policy.path], ['../runs', '../../models/tiny']);
    assert.deepEqual(rollout, config.rollout);
    assert.ok(text.startsWith('// Every key'));
  });
});

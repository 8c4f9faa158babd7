import assert from 'node:assert/strict';
import { parse, type ParseError } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { validate } from '../../src/core/config.ts';
import { PRESETS } from '../../src/core/configKeys.ts';
import type { Preset } from '../../src/core/configKeys.ts';
import { configurationText, nameProblem } from '../../src/extension/newConfiguration.ts';

describe('a new configuration', () => {
  for (const preset of Object.keys(PRESETS) as Preset[])
    it(`is strict JSON with comments that the worker accepts as it is (${preset})`, () => {
      const errors: ParseError[] = [];
      const text = configurationText(preset, 'my-run');
      const value: unknown = parse(text, errors, { allowTrailingComma: false });
      assert.deepEqual(errors, [], text);
      const result = validate(value);
      assert.ok('config' in result, JSON.stringify(result));
      assert.deepEqual(
        [result.config.preset, result.config.name, result.config.policy.path],
        [preset, 'my-run', 'policy'],
      );
      assert.ok(text.split('\n').filter(line => line.trim().startsWith('//')).length > 15);
    });

  it('is not named so that its run folders could not be', () => {
    assert.deepEqual(
      ['my-run_2.b', '', '../x', 'a b', '-x', 'x'.repeat(65)].map(name => nameProblem(name) === undefined),
      [true, false, false, false, false, false],
    );
  });
});

import assert from 'node:assert/strict';
import { parse, type ParseError } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { validate } from '../../src/core/config.ts';
import { PRESETS } from '../../src/core/configKeys.ts';
import type { Preset } from '../../src/core/configKeys.ts';
import {
  BUDGETS,
  configurationText,
  isCorpusName,
  isHeldOutName,
  lengthsFor,
  nameProblem,
} from '../../src/extension/newConfiguration.ts';

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

  it('says what was chosen, and is valid with every budget under every preset', () => {
    for (const preset of Object.keys(PRESETS) as Preset[])
      for (const { answers } of BUDGETS) {
        const chosen = {
          ...answers,
          'data.heldOut': '',
          'evaluation.tasks': 0,
          'tools.search.corpus': 'c.jsonl',
        };
        const text = configurationText(preset, 'mine', { ...chosen, ...lengthsFor(512) });
        const result = validate(parse(text));
        assert.ok('config' in result, `${preset}: ${JSON.stringify(result)}`);
        const { rollout, steps, tools, algorithm } = result.config;
        assert.deepEqual(
          [steps, rollout.tasksPerStep, rollout.groupSize, algorithm.updatesPerStep, tools.search.corpus],
          [
            answers.steps,
            answers['rollout.tasksPerStep'],
            answers['rollout.groupSize'],
            answers['algorithm.updatesPerStep'],
            'c.jsonl',
          ],
        );
        assert.deepEqual([rollout.maxPromptTokens, rollout.maxResponseTokens], [128, 384]);
        assert.equal(
          rollout.initialRollouts,
          preset.startsWith('a') ? rollout.groupSize / 2 : rollout.groupSize,
        );
      }
    assert.deepEqual(lengthsFor(32_768), {});
  });

  it('tells tasks from what is held out and from documents by their names', () => {
    const names = [
      'tasks/train.parquet',
      'tasks/held-out.parquet',
      'gsm8k_test.jsonl',
      'latest.jsonl',
      'corpus.jsonl',
    ];
    assert.deepEqual(names.map(isHeldOutName), [false, true, true, false, false]);
    assert.deepEqual(names.map(isCorpusName), [false, false, false, false, true]);
  });

  it('is not named so that its run folders could not be', () => {
    assert.deepEqual(
      ['my-run_2.b', '', '../x', 'a b', '-x', 'x'.repeat(65)].map(name => nameProblem(name) === undefined),
      [true, false, false, false, false, false],
    );
  });
});

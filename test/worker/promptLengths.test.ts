import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults, type Config } from '../../src/core/config.ts';
import { FailureError, type Message, type Task } from '../../src/core/types.ts';
import type { Dataset } from '../../src/worker/dataset.ts';
import { fitPrompts, measurePrompts } from '../../src/worker/promptLengths.ts';

/** One token per character, and two for each message. */
const tokenizer = {
  encodePrompt: (messages: readonly Message[]): ArrayLike<number> => ({
    length: messages.reduce((sum, { content }) => sum + content.length + 2, 0),
  }),
};

const task = (id: string, ...contents: string[]): Task => ({
  id,
  messages: contents.map((content, i) => ({ role: i === 0 ? 'system' : 'user', content })),
  references: ['1'],
  ability: '',
  source: '',
});

const dataset: Dataset = {
  name: 'tasks',
  tasks: [
    task('a', 'brief', 'q'),
    task('b', 'brief', 'x'.repeat(20) + 'END'),
    task('c', 'brief', 'y'.repeat(10)),
  ],
  warnings: [],
};

function config(maxPromptTokens: number, longPrompts: Config['data']['longPrompts']): Config {
  const base = defaults();
  return { ...base, data: { ...base.data, longPrompts }, rollout: { ...base.rollout, maxPromptTokens } };
}

describe('lengths of prompts', () => {
  it('are measured with the tokenizer, longest and too long ones by row', async () => {
    assert.deepEqual(await measurePrompts(dataset.tasks, tokenizer, 18), {
      lengths: [10, 32, 19],
      longest: 32,
      longestTask: 1,
      tooLong: [1, 2],
    });
  });

  it('change nothing where all fit', async () => {
    assert.equal(await fitPrompts(dataset, tokenizer, config(32, 'refuse')), dataset);
  });

  it('leave long tasks out, with one warning that counts and names them', async () => {
    const { tasks, warnings } = await fitPrompts(dataset, tokenizer, config(18, 'leave-out'));
    assert.deepEqual(
      tasks.map(({ id }) => id),
      ['a'],
    );
    assert.deepEqual(warnings, [
      {
        where: 'config',
        message:
          'tasks: 2 of 3 prompts have more than the 18 tokens of rollout.maxPromptTokens, the longest 32: b (32), c (19). They were left out.',
        fix: 'Raise rollout.maxPromptTokens to 32 to keep them.',
      },
    ]);
  });

  it('refuse where the config says so, and where nothing would be left', async () => {
    await assert.rejects(fitPrompts(dataset, tokenizer, config(18, 'refuse')), /does not start/);
    await assert.rejects(fitPrompts(dataset, tokenizer, config(5, 'leave-out')), (error: unknown) => {
      assert.ok(error instanceof FailureError);
      assert.match(error.message, /3 of 3 prompts .* None is left/);
      assert.equal(error.failure.fix, 'Raise rollout.maxPromptTokens to 32.');
      return true;
    });
  });

  it('cut as little as is needed from the beginning of the longest message', async () => {
    const { tasks } = await fitPrompts(dataset, tokenizer, config(18, 'truncate'));
    assert.deepEqual(
      tasks.map(({ messages }) => messages.map(({ content }) => content)),
      [
        ['brief', 'q'],
        ['brief', 'xxxxxxEND'],
        ['brief', 'yyyyyyyyy'],
      ],
    );
    await assert.rejects(
      fitPrompts(dataset, tokenizer, config(8, 'truncate')),
      /even without its longest message/,
    );
  });
});

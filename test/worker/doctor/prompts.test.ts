/** What the doctor says of tokenizers and templates that are not as they should be. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults } from '../../../src/core/config.ts';
import type { Message } from '../../../src/core/types.ts';
import {
  checkAppending,
  checkLengths,
  checkTags,
  checkTemplate,
} from '../../../src/worker/doctor/prompts.ts';
import type { RunTokenizer } from '../../../src/worker/equipment.ts';
import type { Dataset } from '../../../src/worker/dataset.ts';
import { sums, tinyTokenizer } from '../../fakes/tinyWorld.ts';

const WHOLE = { ...tinyTokenizer, files: [] } as RunTokenizer;
const DATASET: Dataset = { name: 'sums', tasks: sums(3), warnings: [] };
const shown = (results: readonly { status: string; message: string }[]): string =>
  results.map(({ status, message }) => `${status} ${message}`).join('; ');

/** A tokenizer that renders conversations so. */
const rendering = (text: (messages: readonly Message[]) => string): RunTokenizer => ({
  ...WHOLE,
  encodePrompt: messages => WHOLE.encode(text(messages)),
});
const plain = (messages: readonly Message[]): string =>
  messages.map(({ role, content }) => `${role}: ${content}\n`).join('');

describe('the doctor, of prompts', () => {
  it('finds nothing where messages survive the tokenizer and the template shows them', () => {
    assert.equal(
      shown(checkTemplate(WHOLE, DATASET)),
      'ok 3 prompts are rendered, and their messages survive the tokenizer.',
    );
  });

  it('tells a message that the vocabulary changes, a prompt without tokens, and one that lacks the question', () => {
    const lossy = { ...WHOLE, decode: (ids: ArrayLike<number>) => WHOLE.decode(ids).replaceAll('+', '?') };
    assert.match(
      shown(checkTemplate(lossy, DATASET)),
      /^warning A message of task sums#1 does not survive the tokenizer: "What is 11 \+ 2\?"/,
    );
    assert.match(
      shown(
        checkTemplate(
          rendering(() => ''),
          DATASET,
        ),
      ),
      /^error .* sums#1 has no tokens/,
    );
    const deaf = rendering(messages => plain(messages).replace('What', 'That'));
    assert.match(shown(checkTemplate(deaf, DATASET)), /^error .* sums#1 lacks what the user asks/);
  });

  it('tells templates that render earlier turns anew, drop their thoughts, or refuse them', () => {
    assert.match(shown(checkAppending(rendering(plain), DATASET)), /^ok The template only appends/);
    const thoughtless = rendering(messages => plain(messages).replace(/<think>.*?<\/think>/, ''));
    assert.match(
      shown(checkAppending(thoughtless, DATASET)),
      /^warning .* drops thoughts from earlier turns/,
    );
    const counting = rendering(messages => `${messages.length} turns\n${plain(messages)}`);
    assert.match(shown(checkAppending(counting, DATASET)), /^warning .* renders earlier turns anew/);
    const strict = rendering(messages => {
      if (messages.length > 1) throw new Error('one at a time');
      return plain(messages);
    });
    assert.match(
      shown(checkAppending(strict, DATASET)),
      /^warning .* several turns \(Error: one at a time|one at a time/,
    );
  });

  it('tells closing tags that cannot be written', () => {
    assert.match(shown(checkTags(WHOLE, ['search'])), /^ok Tags in tokens: <\/search> 9, <\/result> 9/);
    const without = {
      ...WHOLE,
      decode: (ids: ArrayLike<number>) => WHOLE.decode(ids).replace('</search>', ''),
    };
    const [result] = checkTags(without, ['search']);
    assert.deepEqual([result!.status, result!.key], ['error', 'policy.path']);
    assert.match(result!.message, /^<\/search> cannot be written with this vocabulary/);
  });

  it('counts the tokens of prompts: the middle, the most, and the limit', async () => {
    const [result] = await checkLengths(WHOLE, 'data.train', DATASET, defaults());
    assert.equal(result!.status, 'ok');
    assert.match(
      result!.message,
      /^Prompts have \d+ tokens in the middle, .* at most \(sums#\d\); 1536 are allowed/,
    );
  });
});

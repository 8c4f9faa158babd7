/** Chats that are encoded in parts come to the ids of the whole. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { after, before, describe, it } from 'mocha';
import { streamKey, uniform } from '../../src/core/random.ts';
import { bySections, type AddedToken } from '../../src/worker/sections.ts';
import { makeTinyTokenizer, SPECIALS, TAGS } from '../fakes/tinyModel.ts';

describe('encoding by sections', () => {
  let folder: string;
  let definition: { added_tokens: AddedToken[] };
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sections-'));
    await makeTinyTokenizer(folder);
    definition = JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')) as typeof definition;
  });
  after(() => rmSync(folder, { recursive: true }));

  /** The library's own encoding with other added tokens beside those there are, and how often it was asked. */
  function encoders(more: AddedToken[] = []): {
    whole(text: string): number[];
    parts(text: string): number[];
    asked(): number;
  } {
    const added = [...definition.added_tokens, ...more.map((token, i) => ({ id: 5000 + i, ...token }))];
    const inner = new Tokenizer({ ...definition, added_tokens: added }, {});
    let asked = 0;
    const whole = (text: string): number[] => (
      asked++,
      inner.encode(text, { add_special_tokens: false }).ids
    );
    return { whole, parts: bySections(whole, added), asked: () => asked };
  }

  it('gives the ids of the whole for texts of control tokens, tags and anything between', () => {
    const words = [...SPECIALS, ...TAGS.slice(0, 4), ' ', '\n', 'the thing', '<|', '|>', '12', 'é', '  in a'];
    const more: AddedToken[][] = [
      [],
      [{ content: ' <|wide|> ', special: true }],
      [{ content: `a${SPECIALS[0]}b`, special: true }],
      [{ content: '<|left|>', special: true, lstrip: true }],
      [{ content: `${SPECIALS[0]}<|`, special: false }],
    ];
    const stream = streamKey('sections');
    for (const [m, extra] of more.entries()) {
      const { whole, parts } = encoders(extra);
      const all = [...words, ...extra.map(({ content }) => content), 'a', 'b'];
      for (let i = 0; i < 100; i++) {
        const at = (j: number): number => Math.floor(uniform(stream, (m * 100 + i) * 12 + j) * all.length);
        const text = Array.from({ length: 12 }, (_, j) => all[at(j)]!).join('');
        assert.deepEqual(parts(text), whole(text), JSON.stringify(text));
      }
    }
  });

  it('encodes a system prompt once, however many prompts begin with it', () => {
    const { parts, asked } = encoders();
    const [end, user, , system] = SPECIALS;
    for (let i = 0; i < 200; i++) parts(`${system}Answer the thing.${end}${user}What is ${i}?${end}`);
    // The system's and the end's parts, and each question's.
    assert.equal(asked(), 202);
  });
});

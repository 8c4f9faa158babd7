import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'mocha';
import { pieceOf, textOf } from '../../src/core/pieces.ts';
import { streamKey, uniform } from '../../src/core/random.ts';
import { openTokenizer, type Tokenizer } from '../../src/worker/tokenizer.ts';
import { makeTinyTokenizer, SPECIALS, TAGS, TINY_IDS, TINY_VOCABULARY } from '../fakes/tinyModel.ts';

describe('the tokenizer', () => {
  let folder = '';
  let tokenizer: Tokenizer;
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'tokenizer-'))));
  beforeEach(async () => {
    await makeTinyTokenizer(folder);
    tokenizer = await openTokenizer(folder);
  });
  after(() => rm(folder, { recursive: true }));

  const change = async (name: string, edit: (json: Record<string, unknown>) => void): Promise<void> => {
    const json = JSON.parse(await readFile(join(folder, name), 'utf8')) as Record<string, unknown>;
    edit(json);
    await writeFile(join(folder, name), JSON.stringify(json));
  };

  it('gives back every text, byte by byte, through ids and pieces', () => {
    const texts = [
      '',
      'the thing in a can',
      'é 🦙 ខ្មែរ 中文\u0000\r\n\t',
      '  spaces  ',
      '\ufeffbom',
      '1234567890',
    ];
    const stream = streamKey('tokenizer texts');
    for (let i = 0; i < 50; i++) {
      const codes = Array.from({ length: 30 }, (_, j) => Math.floor(uniform(stream, i * 30 + j) * 0x3000));
      texts.push(String.fromCodePoint(...codes));
    }
    for (const text of texts) {
      const ids = tokenizer.encode(text);
      assert.equal(tokenizer.decode(ids), text);
      const bytes = Buffer.concat([...ids].map(id => pieceOf(tokenizer.pieces, id)));
      assert.deepEqual(bytes, Buffer.from(text));
    }
  });

  it('reads a control token that a text spells as plain text, with the same bytes', () => {
    const text = `Page 1: ${SPECIALS.join('')}${SPECIALS[0]} end`;
    const ids = tokenizer.encode(text);
    for (const control of SPECIALS) assert.ok(!ids.includes(TINY_IDS.get(control)!), control);
    assert.equal(tokenizer.decode(ids), text);
  });

  it('reads tags and digits as one token each', () => {
    for (const tag of TAGS) assert.deepEqual([...tokenizer.encode(tag)], [TINY_IDS.get(tag)]);
    assert.equal(tokenizer.encode('40917').length, 5);
    const ids = tokenizer.encode('a<python>1</python>');
    assert.deepEqual([ids[1], ids[3]], [TINY_IDS.get('<python>'), TINY_IDS.get('</python>')]);
  });

  it('knows its size, its end and the files that belong to it', async () => {
    assert.equal(tokenizer.vocabularySize, TINY_VOCABULARY);
    assert.equal(tokenizer.pieces.offsets.length, TINY_VOCABULARY + 1);
    assert.deepEqual(tokenizer.endIds, [TINY_IDS.get('<|end|>')]);
    assert.deepEqual(
      tokenizer.files.map(path => basename(path)),
      ['tokenizer.json', 'tokenizer_config.json'],
    );
    await writeFile(join(folder, 'generation_config.json'), JSON.stringify({ eos_token_id: [3, 285] }));
    const again = await openTokenizer(folder);
    assert.deepEqual(again.endIds, [3, 285]);
    assert.ok(again.files.some(path => path.endsWith('generation_config.json')));
    await rm(join(folder, 'generation_config.json'));
  });

  it('renders the chat up to where the assistant speaks', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Where is it?' },
    ] as const;
    const ids = tokenizer.encodePrompt(messages);
    assert.equal(textOf(tokenizer.pieces, ids), '<|system|> Be brief.<|user|> Where is it?<|assistant|>');
    assert.equal(ids[0], TINY_IDS.get('<|system|>'));
    assert.equal(ids.at(-1), TINY_IDS.get('<|assistant|>'));
    await writeFile(join(folder, 'chat_template.jinja'), '{{ eos_token }}{{ messages[0].content }}');
    const other = await openTokenizer(folder);
    await rm(join(folder, 'chat_template.jinja'));
    assert.equal(other.decode(other.encodePrompt(messages)), '<|end|>Be brief.');
  });

  it('takes the default of several templates, and says what to do where there is none', async () => {
    const named = [
      { name: 'tool_use', template: 'T' },
      { name: 'default', template: 'D{{ messages[0].content }}' },
    ];
    await change('tokenizer_config.json', json => (json['chat_template'] = named));
    const several = await openTokenizer(folder);
    assert.equal(several.decode(several.encodePrompt([{ role: 'user', content: 'x' }])), 'Dx');
    await change('tokenizer_config.json', json => delete json['chat_template']);
    const none = await openTokenizer(folder);
    assert.equal(none.decode(none.encode('still encodes')), 'still encodes');
    assert.throws(() => none.encodePrompt([{ role: 'user', content: 'x' }]), { message: /no chat template/ });
  });

  it('refuses folders without a tokenizer, without an end, and vocabularies that are not byte-level', async () => {
    await assert.rejects(openTokenizer(join(folder, 'nowhere')), /no tokenizer\.json/);
    await change('tokenizer_config.json', json => delete json['eos_token']);
    await assert.rejects(openTokenizer(folder), /end-of-sequence/);
    await makeTinyTokenizer(folder);
    await change('tokenizer.json', json => (json['decoder'] = { type: 'Metaspace', replacement: '▁' }));
    await assert.rejects(openTokenizer(folder), /byte-level/);
    await writeFile(join(folder, 'tokenizer.json'), '{');
    await assert.rejects(openTokenizer(folder), /not JSON/);
  });
});

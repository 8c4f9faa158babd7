/** The keys of tools and rewards: lists, tables of names, and what cannot be combined. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { jsonSchema, validate } from '../../src/core/config.ts';

const given = (value: object): ReturnType<typeof validate> =>
  validate({ policy: { path: 'policy' }, data: { train: 'train.parquet' }, ...value });

describe('config of tools and rewards', () => {
  it('completes the tools of the user’s own', () => {
    const result = given({
      tools: { custom: [{ tag: 'roll', command: ['python3', 'roll.py'] }], limits: { roll: 2 } },
      reward: { custom: { module: './reward.mjs' } },
    });
    assert.ok('config' in result, JSON.stringify(result));
    assert.deepEqual(result.config.tools.custom, [
      { tag: 'roll', module: '', command: ['python3', 'roll.py'], folder: '.' },
    ]);
    assert.deepEqual(result.config.tools.limits, { roll: 2 });
    assert.deepEqual(result.config.reward.custom, {
      module: './reward.mjs',
      command: [],
      folder: '.',
      timeoutSeconds: 30,
    });
    assert.deepEqual(validate(result.config), result);
  });

  it('lets a tool of the user’s own take the place of one that is switched off, and a message that of the end', () => {
    const own = { tag: 'python', module: 'python.mjs' };
    assert.ok('config' in given({ tools: { python: { enabled: false }, custom: [own] } }));
    for (const rule of ['paper', 'upstream'])
      assert.ok('config' in given({ rollout: { rule, limitAction: 'inject-limit-message' } }));
  });

  const roll = { tag: 'roll', module: 'roll.mjs' };
  const CASES: [string, object, string, RegExp, RegExp][] = [
    ['a list that is none', { tools: { custom: {} } }, 'tools.custom', /a list/, /tag, module/],
    ['an item that is none', { tools: { custom: [roll, 3] } }, 'tools.custom.1', /an object/, /tag, module/],
    ['an item without tag', { tools: { custom: [{ module: 'x' }] } }, 'tools.custom.0.tag', /missing/, /Tag that/],
    ['a tag with capitals', { tools: { custom: [{ ...roll, tag: 'Roll' }] } }, 'tools.custom.0.tag', /lower-case/, /Tag that/],
    ['a misspelt key of an item', { tools: { custom: [{ ...roll, comand: [] }] } }, 'tools.custom.0.comand', /not a key/, /mean command/],
    ['a command that is a text', { tools: { custom: [{ tag: 'roll', command: 'python3 roll.py' }] } }, 'tools.custom.0.command', /list of texts/, /\["python3"/],
    ['a tool without program', { tools: { custom: [{ tag: 'roll' }] } }, 'tools.custom', /neither/, /one of "module"/],
    ['a tool with two programs', { tools: { custom: [{ ...roll, command: ['x'] }] } }, 'tools.custom', /both/, /one of "module"/],
    ['a tag twice', { tools: { custom: [roll, roll] } }, 'tools.custom', /roll is taken/, /another tag/],
    ['a tag of the protocol', { tools: { custom: [{ ...roll, tag: 'answer' }] } }, 'tools.custom', /answer is taken/, /another tag/],
    ['a tag of a tool that is open', { tools: { custom: [{ ...roll, tag: 'python' }] } }, 'tools.custom', /python is taken/, /another tag/],
    ['a limit for no tool', { tools: { limits: { search: 1 } } }, 'tools.limits', /search.*the tools are: python\./, /Remove search/],
    ['a limit that is no number', { tools: { limits: { python: '1' } } }, 'tools.limits.python', /whole number/, /1000/],
    ['limits that are a number', { tools: { limits: 3 } }, 'tools.limits', /object of numbers/, /by tag/],
    ['a mode without cassette', { tools: { cassette: { mode: 'replay' } } }, 'tools.cassette.mode', /file is empty/, /Name a file/],
    ['two sources of search', { tools: { search: { corpus: 'c.jsonl', url: 'http://x' } } }, 'tools.search.url', /not both/, /Remove one/],
    ['an address without protocol', { tools: { search: { url: 'localhost:8000' } } }, 'tools.search.url', /http/, /Retriever/],
    ['two rewards', { reward: { custom: { module: 'a.mjs', command: ['b'] } } }, 'reward.custom.command', /both/, /one of "module"/],
    ['a reward without folder', { reward: { custom: { command: ['b'], folder: '' } } }, 'reward.custom.folder', /empty/, /runs in/],
  ]; // prettier-ignore
  for (const [what, value, key, message, fix] of CASES)
    it(`refuses ${what}`, () => {
      const result = given(value);
      assert.ok('problems' in result, 'it was accepted');
      assert.deepEqual(result.problems.map(problem => problem.key), [key]); // prettier-ignore
      assert.match(result.problems[0]!.message, message);
      assert.match(result.problems[0]!.fix, fix);
    });

  it('describes lists and tables to editors', () => {
    const tools = jsonSchema().properties?.tools?.properties;
    assert.deepEqual(tools?.limits?.additionalProperties, { type: 'integer', minimum: 0, maximum: 1000 });
    const items = tools?.custom?.items as ReturnType<typeof jsonSchema>;
    assert.deepEqual(Object.keys(items.properties ?? {}), ['tag', 'module', 'command', 'folder']);
    assert.deepEqual(items.required, ['tag']);
    assert.equal(items.additionalProperties, false);
  });
});

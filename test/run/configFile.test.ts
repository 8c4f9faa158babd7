/** A config file's problems are shown at their line. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'mocha';
import type { LocatedProblem } from '../../src/run/configFile.ts';
import { checkConfigText, formatProblem, loadConfig, readConfigFile } from '../../src/run/configFile.ts';
import { inFolder } from './fixtures.ts';

const FILE = join('/project', 'maths.branchpoint.json');
const HEAD =
  '{\n  // A comment.\n  "policy": { "path": "policy" },\n  "data": { "train": "train.parquet" },\n';

function problemsOf(text: string): LocatedProblem[] {
  const checked = checkConfigText(text, FILE);
  assert.ok('problems' in checked, 'it was accepted');
  for (const { offset, length } of checked.problems) assert.ok(offset + length <= text.length);
  return checked.problems;
}

describe('configFile', () => {
  it('reads comments and trailing commas, resolves paths against the file, and takes the name from it', () => {
    const checked = checkConfigText(`\uFEFF${HEAD}  "rollout": { "groupSize": 8, }, /* x */\n}\n`, FILE);
    assert.ok('config' in checked);
    const { config } = checked;
    assert.deepEqual([config.name, config.rollout.groupSize, config.rollout.beamSize], ['maths', 8, 2]);
    assert.deepEqual(
      [config.policy.path, config.data.train, config.data.heldOut, config.runs, config.tools.search.corpus],
      [join('/project', 'policy'), join('/project', 'train.parquet'), '', join('/project', 'runs'), ''],
    );
  });

  it('keeps a given name, and the default where the file’s is none', () => {
    const name = (text: string, file: string) => {
      const checked = checkConfigText(text, file);
      return 'config' in checked && checked.config.name;
    };
    assert.equal(name(`${HEAD}"name": "mine" }`, FILE), 'mine');
    assert.equal(name(`${HEAD}}`, '/x/my config.branchpoint.json'), 'run');
  });

  const CASES: [string, string, string, string, string][] = [
    ['an unknown key', '  "rollout": {\n    "groupsize": 4 }\n}', 'rollout.groupsize', '6:5', '"groupsize"'],
    ['a wrong value', '  "steps": "many"\n}', 'steps', '5:12', '"many"'],
    ['a value out of range', '  "rollout": { "entropyTokens": 0 }\n}', 'rollout.entropyTokens', '5:33', '0'],
    ['an impossible combination', '\n  "rollout": { "groupSize": 4 }\n}', 'rollout.groupSize', '6:29', '4'],
    [
      'a choice of the preset',
      '  "preset": "grpo", "rollout": { "initialRollouts": 2 }\n}',
      'rollout.initialRollouts',
      '5:53',
      '2',
    ],
    ['webgpu', '  "device": "webgpu"\n}', 'device', '5:13', '"webgpu"'],
    ['a key given twice', '  "seed": 1,\n  "seed": 2\n}', 'seed', '6:3', '"seed"'],
  ];
  for (const [what, rest, key, at, marked] of CASES)
    it(`shows ${what} at its place`, () => {
      const text = HEAD + rest;
      const [problem, ...others] = problemsOf(text);
      assert.ok(problem);
      assert.deepEqual(others, []);
      assert.deepEqual([problem.key, `${problem.line}:${problem.column}`], [key, at]);
      assert.equal(text.slice(problem.offset, problem.offset + problem.length), marked);
    });

  it('shows a missing key at the group that lacks it, or at the beginning', () => {
    const [inGroup] = problemsOf('{\n  "policy": { "path": "p" },\n  "data": {}\n}');
    assert.deepEqual([inGroup?.key, inGroup?.line, inGroup?.column], ['data.train', 3, 3]);
    const missing = problemsOf('{}');
    assert.deepEqual(
      missing.map(({ key, line, column }) => [key, line, column]),
      [
        ['policy.path', 1, 1],
        ['data.train', 1, 1],
      ],
    );
  });

  it('shows what is wrong with an item of a list', () => {
    const tools = '[{ "tag": "a", "module": "a.mjs" }, { "tag": "B", "modul": "b.mjs" }, 3]';
    const problems = problemsOf(`${HEAD}  "tools": { "custom": ${tools} } }`);
    assert.deepEqual(
      problems.map(({ key, column, length }) => [key, column, length]),
      [
        ['tools.custom.1.modul', 74, 7],
        ['tools.custom.1.tag', 69, 3],
        ['tools.custom.2', 94, 1],
      ],
    );
  });

  it('takes the paths of tools and rewards from where the file is', () => {
    const own =
      '"tools": { "custom": [{ "tag": "a", "module": "tools/a.mjs" }] }, "reward": { "custom": { "command": ["x"] } }';
    const checked = checkConfigText(`${HEAD}  ${own} }`, FILE);
    assert.ok('config' in checked);
    const folder = dirname(FILE);
    const [tool] = checked.config.tools.custom;
    assert.deepEqual([tool?.module, tool?.folder], [join(folder, 'tools/a.mjs'), folder]);
    assert.equal(checked.config.reward.custom.folder, folder);
    assert.equal(checked.config.reward.custom.module, '');
  });

  it('shows where a text stops to be JSON', () => {
    const [problem] = problemsOf('{\n  "steps": 4\n  "seed": 1\n}');
    assert.deepEqual([problem?.key, problem?.line, problem?.column], ['', 3, 3]);
    assert.equal(problemsOf('').length, 1);
    assert.equal(problemsOf('{').length, 1);
    assert.equal(problemsOf('[]')[0]?.message, 'A config is a JSON object; this is a list.');
  });

  it('counts lines of every kind', () => {
    const [problem] = problemsOf(HEAD.replaceAll('\n', '\r\n') + '  "stepz": 4\r\n}');
    assert.deepEqual([problem?.line, problem?.column], [5, 3]);
  });

  it('formats a problem as editors and terminals link it', () => {
    const [problem] = problemsOf(`${HEAD}  "stepz": 4 }`);
    assert.equal(
      formatProblem('maths.branchpoint.json', problem!),
      'maths.branchpoint.json:5:3 stepz is not a key of this config. Did you mean steps?',
    );
  });

  it('refuses files that are not there, at the keys that name them', () =>
    inFolder(folder => {
      const file = join(folder, 'a.branchpoint.json');
      writeFileSync(file, `${HEAD}}`);
      const read = readConfigFile(file);
      assert.ok('problems' in read);
      assert.deepEqual(
        read.problems.map(({ key, line }) => [key, line]),
        [
          ['policy.path', 3],
          ['data.train', 4],
        ],
      );
      assert.throws(
        () => loadConfig(file),
        /a\.branchpoint\.json:3:23 policy\.path names .*policy, which does not exist\./,
      );
      mkdirSync(join(folder, 'policy'));
      writeFileSync(join(folder, 'train.parquet'), '');
      assert.equal(loadConfig(file).config.policy.path, join(folder, 'policy'));
      assert.throws(() => readConfigFile(join(folder, 'b.branchpoint.json')), /There is no file/);
    }));

  it('says something clear for 1,000 damaged texts', () => {
    const text = `${HEAD}  "rollout": { "groupSize": 8, "gate": "bernoulli" }, "steps": 40\n}`;
    for (let i = 0; i < 1000; i++) {
      const at = (i * 7919) % text.length;
      const damaged = text.slice(0, at) + '{}[]",:x0\\'[i % 10] + text.slice(at + (i % 3));
      const checked = checkConfigText(damaged, FILE);
      if ('problems' in checked)
        for (const { message, fix, line } of checked.problems)
          assert.ok(message !== '' && fix !== '' && line > 0);
    }
  });
});

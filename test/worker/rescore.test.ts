import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { Rescored } from '../../src/core/rescore.ts';
import { openRun } from '../../src/run/reader.ts';
import { rescore } from '../../src/worker/rescoreCommand.ts';
import { runCommand, type Said } from '../fakes/commandLine.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';

describe('rescore', () => {
  let parent: string;
  let folder: string;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'rescore-'));
    ({ folder } = await makeTinyRun(parent, { steps: 2 }));
  });
  after(() => rmSync(parent, { recursive: true }));

  function run(reward: string, ...argv: string[]): Promise<Said> {
    const file = join(parent, 'reward.json');
    writeFileSync(file, reward);
    return runCommand('rescore', folder, '--reward', file, ...argv);
  }
  const rescored = ({ out }: { out: string }): Rescored =>
    JSON.parse(out.trimEnd().split('\n').at(-1)!) as Rescored;

  it('finds what the training found where nothing is changed, and changes no file', async () => {
    const files = ['trees.jsonl', 'events.jsonl', 'tokens.bin'].map(name => join(folder, name));
    const stood = files.map(file => readFileSync(file, 'base64'));
    const all = rescored(await run('{}', '--json'));
    assert.deepEqual(
      files.map(file => readFileSync(file, 'base64')),
      stood,
    );
    assert.deepEqual([all.steps, all.flips, all.signChanges, all.gained, all.lost], [2, 0, 0, 0, 0]);
    for (const { tree, paths, shift } of all.groups) {
      const { credit } = await openRun(folder).tree(tree);
      assert.equal(shift, 0);
      assert.deepEqual(
        paths.map(({ before }) => before.advantage),
        credit!.soft,
      );
    }
  });

  it('takes reward keys with comments, or the reward of a config, over the run’s own', async () => {
    const bare = rescored(await run('{ // a bad format costs nothing\n "formatPenalty": -0.5 }', '--json'));
    const config = rescored(await run('{ "steps": 9, "reward": { "formatPenalty": -0.5 } }', '--json'));
    assert.deepEqual(config.groups, bare.groups);
    assert.ok(bare.meanAfter > bare.meanBefore);
  });

  it('asks a program of the user’s own, and says which step it is at', async () => {
    writeFileSync(
      join(parent, 'mine.mjs'),
      'export default ({ response }) => ({ total: response.length });\n',
    );
    const { out, err } = await run('{ "custom": { "module": "mine.mjs" } }', '--steps', '2', '--json');
    const all = rescored({ out });
    const tree = await openRun(folder).tree(all.groups[0]!.tree);
    assert.equal(tree.step, 2);
    assert.ok(all.meanAfter > 10);
    assert.equal(err, 'step 1 of 1\n');
  });

  it('hears between two steps that it is called off', async () => {
    const run = openRun(folder);
    const ending = new AbortController();
    const told: number[] = [];
    const progress = (done: number): void => {
      told.push(done);
      // A signal is heard by the event loop, as this is.
      setImmediate(() => ending.abort());
    };
    const request = { first: 1, last: 2, signal: ending.signal, progress };
    await assert.rejects(rescore(run, run.manifest.config.reward, request), /called off/);
    assert.deepEqual(told, [1]);
  });

  it('waits for no program of the user’s own when it is called off', async () => {
    const asked = join(parent, 'asked');
    writeFileSync(
      join(parent, 'slow.mjs'),
      `import { writeFileSync } from 'node:fs';
      export default ({ probe }) => {
        if (probe) return { total: 0 };
        writeFileSync(${JSON.stringify(asked)}, '');
        return new Promise(() => setInterval(() => 0, 1000));
      };\n`,
    );
    const run = openRun(folder);
    const { reward } = run.manifest.config;
    const custom = { ...reward.custom, module: join(parent, 'slow.mjs'), timeoutSeconds: 600 };
    const ending = new AbortController();
    const request = { first: 1, last: 2, signal: ending.signal, progress: () => undefined };
    const refused = assert.rejects(rescore(run, { ...reward, custom }, request), /called off/);
    while (!existsSync(asked)) await new Promise(resolve => setTimeout(resolve, 10));
    ending.abort();
    await refused;
  });

  it('names the file, the line and the key of what is wrong', async () => {
    const wrong = await run('{\n  "accuracy": "exac"\n}');
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /reward\.json:2:15 reward\.accuracy must be one of auto, f1, exact, number/);
    assert.match((await run('{ "accuracy" }')).err, /reward\.json:1:\d+ is not a JSON object/);
    assert.match((await run('{ "acuracy": "f1" }')).err, /Did you mean reward\.accuracy/);
    assert.match((await run('{}', '--steps', '5-3')).err, /--steps must be A-B/);
    assert.match((await run('{}', '--steps', '7')).err, /has no trees of steps 7-7/);
  });
});

import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import parquet from 'parquetjs-lite';
import type { CheckResult, CheckStatus } from '../../src/core/checkup.ts';
import { defaults, type Preset } from '../../src/core/config.ts';
import { openRun } from '../../src/run/reader.ts';
import { closeTrees, openTrees, writeTrees } from '../../src/run/trees.ts';
import { checkConfig, checkRun } from '../../src/worker/doctor.ts';
import { checkRollout } from '../../src/worker/doctor/rollout.ts';
import { realEquipment, type Equipment } from '../../src/worker/equipment.ts';
import { runCommandLine } from '../../src/worker/commands.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';
import { sums, sumsPolicy, sumsTools, tinyTokenizer } from '../fakes/tinyWorld.ts';

const of = (results: readonly CheckResult[], id: string): CheckResult[] =>
  results.filter(result => result.id === id);
const statuses = (results: readonly CheckResult[], status: CheckStatus): string[] =>
  results.filter(result => result.status === status).map(({ id, message }) => `${id}: ${message}`);

/** Adds to what is there, for reading, deeply. */
type Config = Record<string, unknown>;

describe('the doctor', () => {
  let parent: string;
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'doctor-'));
    await makeTinyModel(join(parent, 'policy'));
    const rows = Array.from({ length: 30 }, (_, i) => ({
      question: `What is ${i} + ${i}?`,
      answer: String(2 * i),
    }));
    write('train.jsonl', rows.slice(0, 20));
    write('heldOut.jsonl', rows.slice(20));
  });
  after(() => rmSync(parent, { recursive: true }));

  const write = (name: string, rows: readonly unknown[]): void =>
    writeFileSync(
      join(parent, name),
      rows.map(row => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''),
    );

  /** The real engine on a model of random weights, and tools that add. */
  const equipment: Equipment = {
    ...realEquipment(() => undefined),
    openTools: () => Promise.resolve(sumsTools()),
  };

  const small = {
    policy: { path: 'policy' },
    data: { train: 'train.jsonl', heldOut: 'heldOut.jsonl' },
    threads: 1,
    rollout: {
      tasksPerStep: 4,
      groupSize: 6,
      initialRollouts: 3,
      maxPromptTokens: 64,
      maxResponseTokens: 60,
    },
    algorithm: { updatesPerStep: 2 },
  };

  function writeSmall(change: Config): string {
    const file = join(parent, 'small.branchpoint.json');
    writeFileSync(file, JSON.stringify({ ...small, ...change }, null, 1));
    return file;
  }
  const examine = (change: Config = {}, tries = false): Promise<CheckResult[]> =>
    checkConfig(writeSmall(change), { equipment, tries });

  it('finds nothing wrong with a config that works, and the trees it tries keep every claim', async function () {
    this.timeout(30_000);
    const results = await examine({}, true);
    assert.deepEqual(
      statuses(results, 'error').filter(text => !text.startsWith('tools')),
      [],
    );
    assert.match(
      of(results, 'batch')[0]!.message,
      /^4 tasks × 6 trajectories \(3 from the prompt\) = 24 a step, in 2 updates of about 12/,
    );
    assert.match(of(results, 'rollout.trees')[0]!.message, /2 trees keep all 13 claims/);
    assert.equal(of(results, 'update')[0]!.status, 'ok');
    const apart = Number(/differ by (\S+) at most/.exec(of(results, 'parity')[0]!.message)![1]);
    assert.ok(apart < 1e-4, String(apart));
    assert.match(of(results, 'masks')[0]!.message, /^[1-9]\d* tokens would be trained/);
  });

  it('tries the rollout that the config asks for: branching, none, or a budget that a probe splits', async () => {
    const tried = async (preset: Preset): Promise<{ trees: string; probes: number }> => {
      const policy = sumsPolicy();
      const { sample } = policy;
      let probes = 0;
      policy.sample = request => {
        if (request.key.endsWith('/probe/root')) probes++;
        return sample(request);
      };
      const config = defaults(preset);
      config.rollout.branchProbability = 1;
      const parts = { tokenizer: { ...tinyTokenizer, files: [] }, tools: sumsTools(), policy };
      const results = await checkRollout({ ...parts, config, tasks: sums(2) });
      return { trees: of(results, 'rollout.trees')[0]!.message, probes };
    };
    const plain = {
      trees: '2 trees keep all 13 claims; all 8 trajectories start from the prompt.',
      probes: 0,
    };
    for (const preset of ['grpo', 'dapo', 'gigpo'] as const) assert.deepEqual(await tried(preset), plain);
    const branching = /^2 trees keep all 13 claims; [1-4] of 8 trajectories branched, the others/;
    const arpo = await tried('arpo');
    assert.match(arpo.trees, branching);
    assert.equal(arpo.probes, 0);
    assert.equal((await tried('aepo')).probes, 2);
  });

  it('calls no tool where only a recording answers', async () => {
    writeFileSync(join(parent, 'recording.jsonl'), '{"tools":{"python":"Python 3"}}\n');
    const file = join(parent, 'recording.jsonl');
    const results = await checkConfig(
      writeSmall({ tools: { cassette: { mode: 'replay', file: 'recording.jsonl' } } }),
      { equipment: realEquipment(() => undefined), tries: false },
    );
    assert.deepEqual(
      results.filter(({ id }) => id.startsWith('tools')).map(({ status, message }) => [status, message]),
      [['ok', `Only the recording ${file} answers, for python; no tool is called.`]],
    );
  });

  it('says of every row that is no task where it is', async () => {
    write('broken.jsonl', [
      { question: 'a', answer: '1' },
      { question: 'b' },
      { question: 'a', answer: '2' },
      { answer: '3' },
    ]);
    const results = await examine({ data: { train: 'broken.jsonl' } });
    const broken = of(results, 'data.train').filter(({ status }) => status === 'error');
    assert.deepEqual(
      broken.map(({ line, key }) => [line, key]),
      [
        [2, 'data.train'],
        [4, 'data.train'],
      ],
    );
    assert.ok(broken.every(({ fix, file }) => fix && file === join(parent, 'broken.jsonl')));
    const [twice] = of(results, 'data.train.duplicates');
    assert.match(
      twice!.message,
      /1 prompts are there more than once, 1 of them with different answers; such as broken#1 and broken#3/,
    );
  });

  it('goes on to the held-out data where the training data cannot be read, and gives rows of parquet no line', async () => {
    writeFileSync(join(parent, 'torn.parquet'), 'PAR1');
    const torn = await examine({ data: { train: 'torn.parquet', heldOut: 'heldOut.jsonl' } });
    const [broken] = of(torn, 'data.train');
    assert.deepEqual(
      [broken!.status, broken!.key, broken!.file],
      ['error', 'data.train', join(parent, 'torn.parquet')],
    );
    assert.equal(of(torn, 'data.heldOut')[0]!.status, 'ok');
    const schema = new parquet.ParquetSchema({ question: { type: 'UTF8', optional: true } });
    const writer = await parquet.ParquetWriter.openFile(schema, join(parent, 'half.parquet'));
    await writer.appendRow({ question: 'Without an answer?' });
    await writer.close();
    const [row] = of(await examine({ data: { train: 'half.parquet' } }), 'data.train');
    assert.match(row!.message, /half\.parquet, row 1: .* is missing/);
    assert.equal(row!.line, undefined);
  });

  it('sees held-out tasks that are trained on', async () => {
    const results = await examine({ data: { train: 'train.jsonl', heldOut: 'train.jsonl' } });
    assert.match(of(results, 'data.overlap')[0]!.message, /20 of 20 held-out prompts/);
  });

  it('counts prompts that are too long, as the config takes them, at the key’s line', async () => {
    const rollout = { ...small.rollout, maxPromptTokens: 3 };
    const [result] = of(
      await examine({ rollout, data: { ...small.data, longPrompts: 'refuse' } }),
      'data.train.lengths',
    );
    assert.equal(result!.status, 'error');
    assert.match(result!.message, /^20 of 20 prompts have more than the 3 tokens/);
    const text = readFileSync(join(parent, 'small.branchpoint.json'), 'utf8').split('\n');
    assert.match(text[result!.line! - 1]!, /"maxPromptTokens": 3/);
  });

  it('reckons memory and context before anything is opened', async () => {
    const results = await examine({ memoryMB: 1, rollout: { ...small.rollout, maxResponseTokens: 100_000 } });
    assert.equal(of(results, 'memory')[0]!.status, 'error');
    assert.match(
      of(results, 'memory')[0]!.message,
      /1\.05 MB may be used; one trajectory of 100,064 tokens alone takes \S+ GB: it does not fit/,
    );
    assert.equal(of(results, 'context')[0]!.status, 'error');
  });

  it('reckons with whole trees, because training packs them whole', async () => {
    const memoryOf = async (memoryMB: number): Promise<CheckResult> => {
      const rollout = { ...small.rollout, groupSize: 64, maxResponseTokens: 400 };
      const [result] = of(await examine({ memoryMB, rollout }), 'memory');
      assert.match(result!.message, /up to 25,664 tokens at once/); // 64 + 64 × 400
      return result!;
    };
    assert.equal((await memoryOf(100_000)).status, 'ok');
    const { status, message, fix } = await memoryOf(250);
    assert.equal(status, 'warning');
    assert.match(message, /trees as large as they may be do not fit, smaller ones do/);
    assert.match(fix!, /rollout\.groupSize/);
    assert.equal((await memoryOf(100)).status, 'error');
  });

  it('tries an own reward with an example before anything is opened, and names what is wrong with it', async function () {
    this.timeout(30_000);
    const reward = (name: string, body: string): Config => {
      writeFileSync(join(parent, name), `export default trajectory => { ${body} };`);
      return { reward: { custom: { module: name } } };
    };
    const [fine, ...others] = of(
      await examine(reward('fine.mjs', 'return { total: 0.5 };')),
      'reward.custom',
    );
    assert.deepEqual([fine!.status, others], ['ok', []]);
    assert.match(fine!.message, /fine\.mjs answered an example in \d+ ms\.$/);
    const results = await examine(reward('vague.mjs', 'return { total: "much" };'), true);
    const errors = results.filter(({ id, status }) => status === 'error' && id !== 'tools.python');
    assert.deepEqual(errors.map(({ id, key }) => [id, key]), [['reward.custom', 'reward.custom']]); // prettier-ignore
    assert.match(errors[0]!.message, /"total" must be a finite number, but is "much"/);
    assert.match(errors[0]!.fix!, /one JSON object per line/);
    assert.equal(of(results, 'parity').length, 1);
  });

  it('warns of too few tasks for a step', async () => {
    write('two.jsonl', [
      { question: 'a', answer: '1' },
      { question: 'b', answer: '2' },
    ]);
    const results = await examine({ data: { train: 'two.jsonl' } });
    assert.deepEqual(
      of(results, 'batch')
        .filter(({ status }) => status === 'warning')
        .map(({ key }) => key),
      ['rollout.tasksPerStep'],
    );
  });

  it('lists what is wrong with a config by key and line, and goes on past a policy that is not there', async () => {
    const results = await examine({ steps: -1, rollout: { ...small.rollout, groupSize: 'many' } });
    assert.deepEqual(
      results.map(({ status, key }) => [status, key]),
      [
        ['error', 'steps'],
        ['error', 'rollout.groupSize'],
      ],
    );
    cpSync(join(parent, 'policy'), join(parent, 'hollow'), { recursive: true });
    rmSync(join(parent, 'hollow/tokenizer.json'));
    const hollow = await examine({ policy: { path: 'hollow' } });
    assert.match(of(hollow, 'tokenizer')[0]!.message, /no tokenizer\.json/);
    assert.equal(of(hollow, 'memory').length, 1);
  });

  describe('of runs', () => {
    let sound: string;
    before(async function () {
      this.timeout(30_000);
      sound = (await makeTinyRun(join(parent, 'runs'))).folder;
    });

    /** A copy of the run, spoilt, and what is found in it. */
    async function spoilt(spoil: (folder: string) => void): Promise<CheckResult[]> {
      const folder = mkdtempSync(join(parent, 'runs', 'copy-'));
      cpSync(sound, folder, { recursive: true });
      spoil(folder);
      return (await checkRun(folder)).filter(({ status }) => status !== 'ok');
    }
    const alter = (path: string, change: (bytes: Buffer) => Buffer): void =>
      writeFileSync(path, change(readFileSync(path)));

    it('finds nothing in a run that is whole', async () => {
      const results = await checkRun(sound);
      assert.deepEqual(
        results.filter(({ status }) => status !== 'ok'),
        [],
      );
      assert.match(of(results, 'trees')[0]!.message, /^16 trees are whole and keep all 13 claims/);
    });

    it('finds a flipped bit among the tokens, with its tree', async () => {
      const [result] = await spoilt(folder =>
        alter(join(folder, 'tokens.bin'), bytes => ((bytes[0]! ^= 1), bytes)),
      );
      assert.match(result!.message, /checksum/);
      assert.equal(result!.tree, '1.0');
    });

    it('finds a number that breaks a claim, with its tree and path', async () => {
      const run = openRun(sound);
      const all = await Promise.all(
        (await run.trees()).map(async ({ id }) => ({
          tree: await run.tree(id),
          columns: await run.columns(id),
        })),
      );
      all[5]!.tree.paths[3]!.reward!.total += 1;
      const [result] = await spoilt(folder => {
        for (const name of ['trees.jsonl', 'trees.index', 'tokens.bin']) rmSync(join(folder, name));
        const files = openTrees(folder);
        writeTrees(files, all);
        closeTrees(files);
      });
      assert.deepEqual([result!.id, result!.tree, result!.path], ['trees.rewards', '2.1', 3]);
    });

    it('finds trees that were told and are not there', async () => {
      const results = await spoilt(folder => {
        rmSync(join(folder, 'trees.index'));
        alter(join(folder, 'trees.jsonl'), bytes =>
          Buffer.from(`${bytes.toString().split('\n').slice(0, 14).join('\n')}\n`),
        );
      });
      assert.deepEqual(
        results.map(({ status, message, tree }) => [status, message, tree]),
        ['4.2', '4.3'].map(id => ['error', `Tree ${id} was told, but is not in trees.jsonl.`, id]),
      );
    });

    it('finds a line that the journal lacks', async () => {
      const [result] = await spoilt(folder =>
        alter(join(folder, 'events.jsonl'), bytes =>
          Buffer.from(bytes.toString().split('\n').toSpliced(5, 1).join('\n')),
        ),
      );
      assert.match(result!.message, /has number 6, but 5 comes next/);
    });

    it('finds a line that was torn, and an end that was never told', async () => {
      const results = await spoilt(folder => {
        alter(join(folder, 'events.jsonl'), bytes =>
          Buffer.from(`${bytes.toString().trimEnd().split('\n').slice(0, -1).join('\n')}\n`),
        );
        appendFileSync(join(folder, 'events.jsonl'), '{"seq":');
      });
      assert.deepEqual(
        results.map(({ message }) => message),
        [
          '7 bytes behind the last line are the beginning of one that was never finished.',
          'The run ended without saying so.',
        ],
      );
    });

    it('finds weights that are not those that were saved, and data that has changed', async () => {
      const results = await spoilt(folder => {
        const name = readdirSync(join(folder, 'checkpoints'))[0]!;
        alter(join(folder, 'checkpoints', name, 'model.safetensors'), bytes =>
          Buffer.from(bytes.toString().replace('w', 'W')),
        );
      });
      assert.deepEqual(
        results.map(({ id }) => id),
        ['checkpoints'],
      );
      writeFileSync(join(parent, 'runs/train.jsonl'), '{"changed":true}\n');
      assert.match((await spoilt(() => undefined))[0]!.message, /Changed since the run began: train/);
    });
  });

  it('ends with 1 where something is wrong, as a table or as JSON', async () => {
    const said: string[] = [];
    const screen = { write: (text: string) => (said.push(text), true) };
    const run = (...args: string[]): Promise<number> =>
      runCommandLine(['check', ...args], { out: screen, err: screen });
    writeFileSync(join(parent, 'bad.branchpoint.json'), '{ "steps": 0 }');
    assert.equal(await run(join(parent, 'bad.branchpoint.json')), 1);
    assert.match(said.join(''), /✗ config {2}.*bad\.branchpoint\.json:1 steps must be/);
    said.length = 0;
    assert.equal(await run(join(parent, 'bad.branchpoint.json'), '--json'), 1);
    const { checks } = JSON.parse(said.join('')) as { checks: CheckResult[] };
    assert.ok(checks.some(({ key, line }) => key === 'policy.path' && line === 1));
    assert.equal(await run(join(parent, 'nothing'), '--json'), 1);
  });
});

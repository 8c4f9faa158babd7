/** Datasets: what is read, repaired, refused, and in which order. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import { FailureError, type Task } from '../../src/core/types.ts';
import { furtherTasks, openDataset, readDataset, takeTasks, type Dataset } from '../../src/worker/dataset.ts';

const ARPO = join(import.meta.dirname, '../../../shared/data/arpo');
const present = existsSync(join(ARPO, 'train_10k.parquet'));

describe('dataset', () => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'dataset-'))));
  after(() => rm(folder, { recursive: true }));

  async function lines(...rows: unknown[]): Promise<string> {
    const path = join(folder, 'tasks.jsonl');
    await writeFile(
      path,
      rows.map(row => (typeof row === 'string' ? row : JSON.stringify(row)) + '\n').join(''),
    );
    return path;
  }

  async function refusalOf(path: string): Promise<string> {
    const error = await openDataset(path).then(
      () => assert.fail('nothing was refused'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof FailureError);
    assert.ok(error.failure.fix);
    return error.message;
  }

  it('reads questions with one answer, a number, or several answers', async () => {
    const { tasks, warnings } = await openDataset(
      await lines({ question: 'Two and two?', answer: 4 }, '', {
        question: 'A colour?',
        answers: ['red', 'blue'],
      }),
    );
    assert.deepEqual(tasks[0], {
      id: 'tasks#1',
      messages: [{ role: 'user', content: 'Two and two?' }],
      references: ['4'],
      ability: '',
      source: '',
    });
    assert.deepEqual([tasks[1]!.id, tasks[1]!.references], ['tasks#3', ['red', 'blue']]);
    assert.deepEqual(warnings, []);
  });

  it('reads verl rows from JSON Lines', async () => {
    const row = {
      data_source: 'mix',
      prompt: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Who?' },
      ],
      ability: 'qa',
      reward_model: { ground_truth: 'Ada', style: 'rule' },
    };
    const [task] = (await openDataset(await lines(row))).tasks;
    assert.deepEqual(task, {
      id: 'tasks#1',
      messages: row.prompt,
      references: ['Ada'],
      ability: 'qa',
      source: 'mix',
    });
  });

  it('names file, row, field and fix of what it refuses', async () => {
    assert.match(
      await refusalOf(await lines({ question: 'Why?' })),
      /tasks\.jsonl, row 1: answer is missing/,
    );
    assert.match(await refusalOf(await lines({ question: 'a', answer: 'b' }, '{')), /row 2 is not JSON/);
    assert.match(
      await refusalOf(await lines({ prompt: [{ role: 'tool', content: '' }], answer: '' })),
      /prompt\[0\]\.role is "tool"/,
    );
    assert.match(await refusalOf(await lines({ prompt: [], answer: '1' })), /prompt is missing or empty/);
    assert.match(
      await refusalOf(await lines({ question: 'a', reward_model: { ground_truth: {} } })),
      /ground_truth is neither/,
    );
    assert.match(await refusalOf(await lines()), /has no rows/);
    assert.match(await refusalOf(join(folder, 'nowhere.parquet')), /nowhere\.parquet cannot be read/);
  });

  it('repairs prompts whose \\boxed lost its first letters, and says so once', async () => {
    const broken = 'Answer in \u0008oxed{}.';
    const { tasks, warnings } = await openDataset(
      await lines(
        { question: broken, answer: '1' },
        { question: broken, answer: '2' },
        { question: 'ok', answer: '3' },
      ),
    );
    assert.equal(tasks[1]!.messages[0]!.content, 'Answer in \\boxed{}.');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!.message, /2 of 3 prompts/);
  });

  it('finds question, answer, ability and name where the config says', async () => {
    const row = {
      uid: 7,
      input: { text: 'Who wrote it?' },
      targets: { aliases: ['Ada', 'Countess of Lovelace'] },
      'meta.kind': 'qa',
    };
    const fields = {
      question: 'input.text',
      answer: 'targets.aliases',
      ability: 'meta.kind',
      id: 'uid',
    };
    const { tasks } = await openDataset(await lines(row), { fields, system: 'Search first.' });
    assert.deepEqual(tasks, [
      {
        id: '7',
        messages: [
          { role: 'system', content: 'Search first.' },
          { role: 'user', content: 'Who wrote it?' },
        ],
        references: ['Ada', 'Countess of Lovelace'],
        ability: 'qa',
        source: '',
      },
    ]);
    const first = { ...fields, answer: 'targets.aliases.0' };
    assert.deepEqual((await openDataset(await lines(row), { fields: first })).tasks[0]!.references, ['Ada']);
    await assert.rejects(
      openDataset(await lines(row, row, row), { fields }),
      /row 2: the name 7 is that of row 1 already\. So it is with 1 more row\./,
    );
    await assert.rejects(
      openDataset(await lines(row), { fields: { ...fields, answer: 'targets.alias' } }),
      /row 1: targets\.alias is missing/,
    );
  });

  it('leaves a system message alone that the task brings itself', async () => {
    const prompt = [
      { role: 'system', content: 'Mine.' },
      { role: 'user', content: 'Why?' },
    ];
    const [task] = (await openDataset(await lines({ prompt, answer: 'so' }), { system: 'Ours.' })).tasks;
    assert.deepEqual(task!.messages, prompt);
  });

  it('reports every row that is no task, and reads the others', async () => {
    const path = await lines(
      { question: 'a', answer: '1' },
      { answer: '2' },
      { question: 'c' },
      { question: 'd', answer: '4' },
    );
    const { dataset, problems } = await readDataset(path);
    assert.deepEqual(
      dataset.tasks.map(({ id }) => id),
      ['tasks#1', 'tasks#4'],
    );
    assert.deepEqual(
      problems.map(({ message }) => message.replace(path, 'FILE')),
      ['FILE, row 2: prompt is missing or empty.', 'FILE, row 3: answer is missing.'],
    );
    assert.ok(problems.every(({ fix }) => fix));
  });

  it('reports rows that are no JSON beside the others, and minds no mark at the file’s beginning', async () => {
    const whole = { question: 'a', answer: '1' };
    const path = await lines(`\uFEFF${JSON.stringify(whole)}`, '{"question": "torn', whole, '[1]', {
      answer: 1,
    });
    const { dataset, problems } = await readDataset(path);
    assert.deepEqual(
      dataset.tasks.map(({ id }) => id),
      ['tasks#1', 'tasks#3'],
    );
    const said = problems.map(({ message }) => message.replace(path, 'FILE'));
    assert.match(said[0]!, /^FILE, row 2 is not JSON \(Unterminated string in JSON at position 18\)\.$/);
    assert.deepEqual(said.slice(1), [
      'FILE, row 4 is not a JSON object.',
      'FILE, row 5: prompt is missing or empty.',
    ]);
    assert.match(await refusalOf(path), /row 2 is not JSON.* So it is with 2 more rows\.$/);
  });

  const BENCHMARKS = join(import.meta.dirname, '../../../shared/data/benchmarks');
  const twoWiki = [
    'the five boroughs',
    'City of New York',
    'New York',
    'NY City',
    'New York City',
    'NYC',
  ].concat(['Big Apple', 'New York, New York']);
  /** Rows, and the first row's references. */
  const EXPECTED: Readonly<Record<string, readonly [number, readonly string[]]>> = {
    '2wiki': [200, twoWiki],
    aime24: [30, ['204']],
    aime25: [30, ['70']],
    gsm8k: [1319, ['18']],
    bamboogle: [125, ['james madison']],
    hotpotqa: [200, ['Frank Lowy']],
    math500: [500, ['\\left( 3, \\frac{\\pi}{2} \\right)']],
    musique: [200, ['passes over the Rio di Palazzo']],
  };
  const benchmark = existsSync(BENCHMARKS) ? it : it.skip;
  for (const [name, [rows, references]] of Object.entries(EXPECTED))
    benchmark(
      `reads every row of ${name} (needs ../shared/data/benchmarks; skipped without it)`,
      async () => {
        const { tasks, warnings } = await openDataset(join(BENCHMARKS, name, 'test.jsonl'));
        assert.equal(tasks.length, rows);
        assert.deepEqual(tasks[0]!.references, references);
        assert.deepEqual(warnings, []);
        if (name === 'gsm8k') for (const { references } of tasks) assert.match(references[0]!, /^-?[\d,.]+$/);
      },
    );

  const arpo = present ? it : it.skip;
  arpo('reads every row of ARPO’s own files (needs ../shared/data/arpo; skipped without it)', async () => {
    const train = await openDataset(join(ARPO, 'train_10k.parquet'));
    assert.equal(train.tasks.length, 10_000);
    assert.equal(train.tasks.filter(task => task.ability === 'math').length, 5_000);
    assert.ok(
      train.tasks.every(({ messages }) => messages.map(message => message.role).join() === 'system,user'),
    );
    assert.ok(train.tasks.every(({ messages }) => messages[0]!.content.includes('\\boxed{')));
    assert.match(train.warnings[0]!.message, /10,000 of 10,000 prompts/);
    assert.match(train.warnings[1]!.message, /1 of 10,000 tasks have a blank answer/);
    assert.equal(train.warnings.length, 2);
    assert.equal((await openDataset(join(ARPO, 'hard_search_1k.parquet'))).tasks.length, 1_071);
    assert.equal((await openDataset(join(ARPO, 'valid.parquet'))).tasks.length, 180);
  });

  describe('the order of tasks', () => {
    const task = (n: number): Task => ({
      id: String(n),
      messages: [],
      references: [''],
      ability: '',
      source: '',
    });
    const dataset: Dataset = {
      name: 'ten',
      tasks: Array.from({ length: 10 }, (_, n) => task(n)),
      warnings: [],
    };
    const take = (step: number, shuffle: boolean, seed = 1): string[] =>
      takeTasks(
        dataset,
        { seed, data: { ...defaults().data, shuffle }, rollout: { tasksPerStep: 4 } as never },
        step,
      ).map(({ id }) => id);

    it('is the file’s where it is not shuffled, over the end and on', () => {
      assert.deepEqual(take(1, false), ['0', '1', '2', '3']);
      assert.deepEqual(take(3, false), ['8', '9', '0', '1']);
    });

    it('takes every task once per epoch, each epoch in another order, and depends on the seed', () => {
      const taken = [1, 2, 3, 4, 5].flatMap(step => take(step, true));
      const [first, second] = [taken.slice(0, 10), taken.slice(10)];
      const all = dataset.tasks.map(({ id }) => id);
      assert.deepEqual([...first].sort(), all);
      assert.deepEqual([...second].sort(), all);
      assert.notDeepEqual(first, second);
      assert.notDeepEqual(take(1, true), take(1, true, 2));
    });

    it('goes on with tasks that the step has not, each once, until there are no more', () => {
      const config = { seed: 1, data: defaults().data, rollout: { tasksPerStep: 4 } as never };
      for (const step of [1, 2]) {
        const own = takeTasks(dataset, config, step);
        const further = [0, 2, 4].flatMap(taken => furtherTasks(dataset, config, step, { taken, count: 2 }));
        assert.equal(new Set([...own, ...further]).size, 10);
        assert.deepEqual(furtherTasks(dataset, config, step, { taken: 6, count: 2 }), []);
      }
    });

    it('depends on the step only, so that a resumed run goes on exactly', () => {
      const step7 = take(7, true);
      for (let step = 1; step < 7; step++) take(step, true);
      assert.deepEqual(take(7, true), step7);
    });
  });
});

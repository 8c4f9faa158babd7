/** A run folder is read the same while it grows, after it ended, and whatever happened to its files — or says what is wrong. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import type { Event } from '../../src/core/events.ts';
import { makePieces, textOf } from '../../src/core/pieces.ts';
import { uniform } from '../../src/core/random.ts';
import { FailureError } from '../../src/core/types.ts';
import { createRun } from '../../src/run/create.ts';
import { Journal } from '../../src/run/journal.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import { readLabel, writeLabel } from '../../src/run/label.ts';
import { sealed } from '../../src/run/shape.ts';
import { glanceAt, isSignOfLife, stampOfFacts, summarizeRun, type RunSummary } from '../../src/run/runs.ts';
import { closeTrees, openTrees } from '../../src/run/trees.ts';
import { STARTED, finished, inFolder, smallTree, writeTree } from './fixtures.ts';

const PIECES = makePieces(['L', 'ima', 'é'].map(text => new TextEncoder().encode(text)));

/** A project with a policy and tasks, and a new run of it. */
async function newRun(project: string, name = 'test') {
  mkdirSync(join(project, 'policy'), { recursive: true });
  writeFileSync(join(project, 'policy', 'config.json'), '{}');
  writeFileSync(join(project, 'train.jsonl'), '{}\n');
  const config = { ...defaults(), name, steps: 3, runs: join(project, 'runs') };
  config.reward.custom.folder = project;
  config.policy = { path: join(project, 'policy') };
  config.data = { ...config.data, train: join(project, 'train.jsonl') };
  const file = join(project, 'test.branchpoint.json');
  return createRun({
    config,
    file,
    text: '{ /* mine */ }',
    versions: { branchpoint: '0.1.0' },
    pieces: PIECES,
  });
}

/** Writes two steps of one tree each. */
function record(folder: string): void {
  const journal = Journal.open(folder);
  const files = openTrees(folder);
  journal.tell(STARTED, 0);
  for (const step of [1, 2]) {
    journal.tell({ type: 'step-started', tasks: ['task-0'] }, step);
    const { tree, columns } = smallTree(step, 0);
    const { span, tokens } = writeTree(files, tree, columns);
    journal.tell(
      { type: 'tree-finished', tree: tree.id, task: 'task-0', paths: 2, rewards: [1, 0], span, tokens },
      step,
    );
    journal.tell(finished(step / 4), step);
  }
  journal.tell({ type: 'run-ended', outcome: 'finished' }, 2);
  journal.close();
  closeTrees(files);
}

const types = (events: Event[]) => events.map(({ type, step }) => `${type} ${step}`);

describe('create', () => {
  it('numbers run folders and records what they were started from', () =>
    inFolder(async project => {
      const first = await newRun(project);
      const second = await newRun(project);
      mkdirSync(join(project, 'runs', 'test-41'));
      const third = await newRun(project);
      assert.deepEqual(
        [first, second, third].map(({ manifest }) => manifest.name),
        ['test-1', 'test-2', 'test-42'],
      );
      const run = openRun(first.folder);
      assert.deepEqual(run.manifest, first.manifest);
      assert.deepEqual(Object.keys(run.manifest.hashes).sort(), ['policy', 'train']);
      assert.equal(readFileSync(join(first.folder, 'config.branchpoint.json'), 'utf8'), '{ /* mine */ }');
      assert.ok(
        !readFileSync(join(first.folder, 'run.json'), 'utf8').includes(project),
        'the manifest names no absolute path',
      );
      assert.equal(textOf((await run.pieces())!, [0, 1, 2]), 'Limaé');
    }));

  it('gives two starts at once two folders', () =>
    inFolder(async project => {
      const names = await Promise.all([1, 2, 3, 4].map(() => newRun(project)));
      assert.equal(new Set(names.map(({ folder }) => folder)).size, 4);
    }));

  it('records the commit around the config file, and how tracked files differ from it', () =>
    inFolder(async project => {
      const git = (...args: string[]): string =>
        execFileSync('git', ['-C', project, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
          encoding: 'utf8',
        });
      assert.equal((await newRun(project)).manifest.git, undefined);
      git('init', '-q');
      writeFileSync(join(project, '.gitignore'), '*\n!reward.mjs\n!.gitignore\n');
      writeFileSync(join(project, 'reward.mjs'), 'export const reward = 1;\n');
      git('add', '.');
      git('commit', '-qm', 'First');
      const commit = git('rev-parse', 'HEAD').trim();
      const clean = await newRun(project);
      assert.deepEqual(clean.manifest.git, { commit, isDirty: false });
      assert.ok(!existsSync(join(clean.folder, 'git.diff')));
      writeFileSync(join(project, 'reward.mjs'), 'export const reward = 2;\n');
      const changed = await newRun(project);
      assert.deepEqual(changed.manifest.git, { commit, isDirty: true });
      assert.match(
        readFileSync(join(changed.folder, 'git.diff'), 'utf8'),
        /-export const reward = 1;\n\+export/,
      );
    }));

  it('takes a policy for the same whatever notes lie beside it, and for another with another file', () =>
    inFolder(async project => {
      const hash = async (): Promise<string> => (await newRun(project)).manifest.hashes['policy']!;
      const before = await hash();
      writeFileSync(join(project, 'policy', 'README.md'), '# Mine');
      assert.equal(await hash(), before);
      writeFileSync(join(project, 'policy', 'vocabulary.txt'), 'a');
      assert.notEqual(await hash(), before);
    }));

  it('says which file cannot be read', () =>
    inFolder(async project => {
      const { manifest } = await newRun(project);
      const config = { ...manifest.config, policy: { path: join(project, 'nowhere') } };
      const start = createRun({ config, file: join(project, 'x'), text: '', versions: {} });
      await assert.rejects(
        start,
        (error: unknown) => error instanceof FailureError && error.failure.where === 'config',
      );
    }));
});

describe('reader', () => {
  it('gives back all that was written', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const run = openRun(folder);
      const events = await run.events();
      assert.deepEqual(types(events), [
        'run-started 0',
        ...[1, 2].flatMap(step => [`step-started ${step}`, `tree-finished ${step}`, `step-finished ${step}`]),
        'run-ended 2',
      ]);
      assert.deepEqual(
        (await run.trees()).map(({ id, reward, branches }) => [id, reward, branches]),
        [
          ['1.0', 0.5, 1],
          ['2.0', 0.5, 1],
        ],
      );
      const { tree, columns } = smallTree(2, 0);
      const { tokens, ...read } = await run.tree('2.0');
      assert.equal(tokens.count, 12);
      assert.deepEqual(read, tree);
      assert.deepEqual(await run.columns('2.0'), columns);
      await assert.rejects(run.tree('9.9'), /has no tree 9\.9/);
    }));

  it('does not believe an index that misleads, though it is whole', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const path = join(folder, 'trees.index');
      const swapped = readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map(line =>
          line.replace(/,"crc":\d+\}$/, '}').replace(/"id":"(\d)/, (_, id) => `"id":"${3 - Number(id)}`),
        )
        .map(line => `${sealed(line)}\n`);
      writeFileSync(path, swapped.join(''));
      const run = openRun(folder);
      assert.deepEqual((await run.trees())[0]!.id, '2.0', 'the index is read');
      assert.equal((await run.tree('1.0')).step, 1);
      assert.equal((await run.tree('2.0')).step, 2);
    }));

  it('refuses a fact that has lost its checksum, and may say anything', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const path = join(folder, 'events.jsonl');
      const lines = readFileSync(path, 'utf8').split('\n');
      lines[3] = lines[3]!.replace(/,"crc":\d+\}$/, '}').replace('0.25', '0.95');
      writeFileSync(path, lines.join('\n'));
      const place = `events\\.jsonl, byte ${Buffer.byteLength(lines.slice(0, 3).join('\n')) + 1}: `;
      await assert.rejects(openRun(folder).events(), {
        name: 'FailureError',
        message: new RegExp(`${place}the line has lost its checksum`),
      });
    }));

  it('opens a run without events or trees', () =>
    inFolder(async project => {
      const run = openRun((await newRun(project)).folder);
      assert.deepEqual([await run.events(), await run.trees()], [[], []]);
    }));

  it('takes the last of trees that were grown twice', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const files = openTrees(folder);
      const { tree, columns } = smallTree(2, 0);
      writeTree(files, { ...tree, task: { ...tree.task, question: 'Again?' } }, columns);
      closeTrees(files);
      assert.deepEqual(
        (await openRun(folder).trees()).map(({ id, question }) => [id, question.slice(0, 6)]),
        [
          ['1.0', 'What i'],
          ['2.0', 'Again?'],
        ],
      );
    }));

  it('follows a growing journal line by line, leaving a torn line alone until it is whole', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const stop = new AbortController();
      const path = join(folder, 'events.jsonl');
      const line = (seq: number) =>
        JSON.stringify({ seq, at: '', step: seq, type: 'step-started', tasks: ['é'] });
      const seen: number[] = [];
      let at = 0;
      appendFileSync(path, `${line(0)}\n${line(1)}\n${line(2).slice(0, 20)}`);
      for await (const { events, from, next } of openRun(folder).follow(0, stop.signal)) {
        assert.equal(from, at);
        at = next;
        seen.push(...events.map(({ seq }) => seq));
        if (seen.length === 2) appendFileSync(path, `${line(2).slice(20)}\n${line(3)}\n`);
        if (seen.length === 4) stop.abort();
      }
      assert.deepEqual(seen, [0, 1, 2, 3]);
      const later: number[] = [];
      const again = new AbortController();
      const from = Buffer.byteLength(`${line(0)}\n`);
      for await (const { events } of openRun(folder).follow(from, again.signal)) {
        later.push(...events.map(({ seq }) => seq));
        if (later.length === 3) again.abort();
      }
      assert.deepEqual(later, [1, 2, 3]);
    }));

  it('leaves the trees of finished steps unread for headlines: not those of the step under way, and no gap', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const path = join(folder, 'events.jsonl');
      let seq = 0;
      const line = (step: number, type: string): string => {
        const call = { tool: 'search', outcome: 'ok', latencyMs: 1, shared: false };
        const fact =
          type === 'step-finished' ? finished(0.5) : { type, tasks: [], from: 'step-1', tree: `${step}.0` };
        return `${JSON.stringify({ seq: seq++, at: '', step, ...fact, type, segment: 1, call })}\n`;
      };
      const step = (number: number): string =>
        ['step-started', 'tool-answered', 'tool-answered', 'step-finished']
          .map(type => line(number, type))
          .join('');
      const begun = (number: number): string =>
        ['step-started', 'tool-answered', 'step-started', 'tool-answered']
          .map(type => line(number, type))
          .join('');
      // Step 2 is cut, done again, and step 3 is under way.
      writeFileSync(path, step(1) + begun(2) + line(1, 'resumed') + step(2) + begun(3));
      const stop = new AbortController();
      const told: string[] = [];
      const seqs: number[] = [];
      let hasGrown = false;
      for await (const { events } of openRun(folder).follow(0, stop.signal, { headlines: true })) {
        told.push(...events.map(event => `${event.step} ${event.type}`));
        seqs.push(...events.map(event => event.seq));
        if (told.length === 7 && !hasGrown) {
          hasGrown = true;
          appendFileSync(path, line(3, 'tool-answered') + line(3, 'step-finished'));
        }
        if (told.at(-1) === '3 step-finished') stop.abort();
      }
      assert.deepEqual(told, [
        ...['1 step-finished', '1 resumed', '2 step-finished'],
        ...['3 step-started', '3 tool-answered', '3 step-started', '3 tool-answered', '3 step-finished'],
      ]);
      assert.deepEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
      );
      seq++;
      appendFileSync(path, line(4, 'tool-answered') + line(4, 'step-finished'));
      await assert.rejects(async () => {
        const limit = AbortSignal.timeout(5000);
        for await (const _ of openRun(folder).follow(0, limit, { headlines: true })) continue;
      }, /event has number 20, but 19 comes next/);
    }));

  it('does not read for headlines what it leaves out: damage there is found by who reads all', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const path = join(folder, 'events.jsonl');
      const whole = await openRun(folder).events({ headlines: true });
      assert.deepEqual(types(whole), ['run-started 0', 'step-finished 1', 'step-finished 2', 'run-ended 2']);
      const second = await openRun(folder).events({ headlines: true, step: 2 });
      assert.deepEqual(types(second), [
        ...['run-started 0', 'step-finished 1', 'step-started 2', 'tree-finished 2', 'step-finished 2'],
        'run-ended 2',
      ]);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.replace('"rewards":[1,0]', '"rewards":[1,2]'));
      assert.deepEqual(await openRun(folder).events({ headlines: true }), whole);
      await assert.rejects(openRun(folder).events(), /the line is not what was written/);
      // The step that is under way is read, and so is anything that begins in another form.
      writeFileSync(path, text.slice(0, text.lastIndexOf('{"seq":', text.lastIndexOf('step-finished'))));
      assert.deepEqual(types(await openRun(folder).events({ headlines: true })), [
        ...['run-started 0', 'step-finished 1', 'step-started 2', 'tree-finished 2'],
      ]);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      lines.push(
        lines
          .pop()!
          .replace(/,"crc":\d+\}$/, '}')
          .replace('[1,0]', '[1,2]'),
      );
      writeFileSync(path, `${lines.join('\n')}\n`);
      await assert.rejects(openRun(folder).events({ headlines: true }), /the line has lost its checksum/);
    }));

  it('begins again where the journal was replaced by a shorter one', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const stop = new AbortController();
      const path = join(folder, 'events.jsonl');
      const froms: number[] = [];
      for await (const { events, from } of openRun(folder).follow(0, stop.signal)) {
        froms.push(from);
        if (froms.length === 1) writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`);
        else if (events.length === 1) stop.abort();
      }
      assert.deepEqual(froms, [0, 0, 0]);
    }));

  it('skips events of types that it does not know, and fields', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const known = { seq: 1, at: '', step: 1, type: 'step-started', tasks: [], mood: 'good' };
      const lines = [{ seq: 0, at: '', step: 0, type: 'moon-rose', phase: 3 }, known];
      writeFileSync(join(folder, 'events.jsonl'), lines.map(line => `${JSON.stringify(line)}\n`).join(''));
      assert.deepEqual(types(await openRun(folder).events()), ['step-started 1']);
    }));

  it('refuses a newer format with a sentence, and what is no run', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const path = join(folder, 'run.json');
      const manifest = JSON.parse(readFileSync(path, 'utf8')) as { format: { major: number } };
      writeFileSync(path, JSON.stringify({ ...manifest, format: { major: 2, minor: 0 } }));
      assert.throws(() => openRun(folder), /has format 2; this version of Branchpoint reads formats up to 1/);
      writeFileSync(path, JSON.stringify({ ...manifest, format: { major: 1, minor: 9 } }));
      assert.equal(openRun(folder).manifest.name, 'test-1');
      writeFileSync(path, JSON.stringify({ ...manifest, config: { steps: 0 } }));
      assert.throws(() => openRun(folder), /run\.json: config\.steps must be/);
      const { config } = manifest as unknown as { config: object };
      writeFileSync(path, JSON.stringify({ ...manifest, config: { ...config, foresight: 3 } }));
      assert.throws(
        () => openRun(folder),
        ({ failure }: FailureError) =>
          failure.message.endsWith('run.json: config.foresight is not a key of this config.') &&
          failure.fix === 'Update Branchpoint, or remove the key where it was added by hand.',
      );
      writeFileSync(path, '{"format":');
      assert.throws(() => openRun(folder), /run\.json cannot be read/);
      assert.throws(() => openRun(project), /is not a run folder/);
      const event = { seq: 0, at: '', step: 0, ...STARTED, format: { major: 3, minor: 0 } };
      writeFileSync(path, JSON.stringify(manifest));
      writeFileSync(join(folder, 'events.jsonl'), `${JSON.stringify(event)}\n`);
      await assert.rejects(openRun(folder).events(), /has format 3/);
    }));

  it('gives correct data or a clear error for 1,000 damaged journals and token files', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      record(folder);
      const run = openRun(folder);
      const [events, columns] = [await run.events(), await run.columns('1.0')];
      const outcomes = { same: 0, other: 0, refused: 0 };
      const copy = join(project, 'copy');
      const files = ['run.json', 'events.jsonl', 'tokens.bin', 'trees.jsonl', 'trees.index'];
      mkdirSync(copy);
      for (const file of files) copyFileSync(join(folder, file), join(copy, file));
      for (let i = 0; i < 1000; i++) {
        const name = files[1 + (i % 4)]!;
        const bytes = readFileSync(join(folder, name));
        writeFileSync(join(copy, name), damaged(bytes, i));
        outcomes[await outcome(name)]++;
        writeFileSync(join(copy, name), bytes);

        async function outcome(changed: string): Promise<keyof typeof outcomes> {
          try {
            const opened = openRun(copy);
            if (changed === 'events.jsonl') {
              const read = await opened.events();
              // A changed digit or letter is still a journal, a changed type is one that is not known: but no line is
              // lost from the middle, doubled or moved without an error.
              assert.ok(
                read.every(({ seq }, at) => at === 0 || seq > read[at - 1]!.seq) &&
                  read.length <= events.length,
              );
              return JSON.stringify(read) === JSON.stringify(events) ? 'same' : 'other';
            }
            const read = await opened.columns('1.0');
            assert.deepEqual(read, columns, `seed ${i}: wrong tokens were read without an error`);
            return 'same';
          } catch (error) {
            assert.ok(
              error instanceof FailureError && changed !== 'trees.index',
              `seed ${i}: ${String(error)}`,
            );
            assert.ok(
              error.message.includes(copy) && error.failure.where === 'store',
              `seed ${i}: ${error.message}`,
            );
            return 'refused';
          }
        }
      }
      assert.ok(outcomes.same > 100 && outcomes.refused > 300, JSON.stringify(outcomes));
    })).timeout(60_000);
});

/** The bytes with one change: a byte replaced, a stretch cut out, doubled or zeroed, or the end cut off. */
function damaged(bytes: Buffer, seed: number): Buffer {
  const random = (counter: number, size: number) => Math.floor(uniform(seed, counter) * size);
  const start = random(0, bytes.length);
  const end = Math.min(bytes.length, start + 1 + random(1, 40));
  const [before, middle, after] = [bytes.subarray(0, start), bytes.subarray(start, end), bytes.subarray(end)];
  switch (random(2, 5)) {
    case 0: {
      const copy = Buffer.from(bytes);
      copy[start] = random(3, 256);
      return copy;
    }
    case 1:
      return Buffer.concat([before, after]);
    case 2:
      return Buffer.concat([before, middle, middle, after]);
    case 3:
      return Buffer.concat([before, Buffer.alloc(middle.length), after]);
    default:
      return Buffer.from(before);
  }
}

describe('runs', () => {
  const glance = (folder: string): Promise<RunSummary> => summarizeRun(folder);

  it('are not looked at anew where the owner of a live one touches its lock', () => {
    const isKnown = (folder: string): boolean => folder === join('runs', 'live-1');
    const at = (...path: string[]): boolean => isSignOfLife(join('runs', ...path), isKnown);
    assert.equal(at('live-1', 'run.lock'), true);
    assert.equal(at('new-1', 'run.lock'), false);
    assert.equal(at('live-1', 'run.json'), false);
  });

  it('show at a glance how far they are and how they ended', () =>
    inFolder(async project => {
      const done = await newRun(project);
      record(done.folder);
      const live = await newRun(project);
      const journal = Journal.open(live.folder);
      journal.tell(STARTED, 0);
      journal.tell(finished(0.25), 1);
      journal.tell({ type: 'paused', reason: 'asked' }, 1);
      journal.close();
      const lock = acquireLock(live.folder);
      const cut = await newRun(project);
      writeFileSync(join(cut.folder, 'events.jsonl'), '{"seq":0');
      const broken = await newRun(project);
      writeFileSync(join(broken.folder, 'run.json'), '{}');
      const list = await Promise.all([cut, live, done, broken].map(({ folder }) => glance(folder)));
      lock.release();
      assert.deepEqual(
        new Map(
          list.map(({ name, status, step, steps, reward, isPaused }) => [
            name,
            [status, step, steps, reward, isPaused],
          ]),
        ),
        new Map<string, unknown[]>([
          ['test-3', ['interrupted', 0, 3, undefined, false]],
          ['test-2', ['live', 1, 3, 0.25, true]],
          ['test-1', ['finished', 2, 3, 0.5, false]],
          ['test-4', ['unreadable', 0, 0, undefined, false]],
        ]),
      );
      assert.match(list.at(-1)?.problem ?? '', /run\.json\.format should be an object, but is missing/);
    }));

  it('that were resumed do not show their former end', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const journal = Journal.open(folder);
      journal.tell(STARTED, 0);
      journal.tell(finished(0.25), 1);
      journal.tell(finished(0.5), 2);
      journal.tell(
        { type: 'run-ended', outcome: 'failed', failure: { where: 'policy', message: 'Out of memory.' } },
        2,
      );
      journal.flush();
      const failed = await glance(folder);
      assert.deepEqual([failed.status, failed.step, failed.problem], ['failed', 2, 'Out of memory.']);
      journal.tell({ type: 'resumed', from: 'checkpoints/step-000001' }, 1);
      journal.close();
      const resumed = await glance(folder);
      assert.deepEqual([resumed.status, resumed.step, resumed.problem], ['interrupted', 1, undefined]);
    }));

  it('that were resumed show the step that they went on from, however far back it was told', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const journal = Journal.open(folder);
      journal.tell(STARTED, 0);
      journal.tell(finished(0.25), 1);
      const message = 'x'.repeat(1000);
      for (let i = 0; i < 100; i++) journal.tell({ type: 'warned', failure: { where: 'store', message } }, 1);
      journal.tell(finished(0.5), 2);
      journal.tell({ type: 'resumed', from: 'checkpoints/step-000001' }, 1);
      journal.close();
      const { step, reward } = await glance(folder);
      assert.deepEqual([step, reward], [1, 0.25]);
    }));

  it('show what the user calls them, also where they cannot be read, and are looked at again when that changes', () =>
    inFolder(async project => {
      const { folder } = await newRun(project);
      const plain = (await glanceAt(folder))!;
      assert.deepEqual(
        [plain.summary.label, plain.summary.tags, plain.summary.config],
        [undefined, [], 'test'],
      );
      assert.equal(await glanceAt(folder, plain), plain, 'nothing changed, nothing is read');
      const facts = await stampOfFacts(folder);
      writeLabel(folder, { label: ' Baseline ', tags: ['paper', ' seed 1', 'paper', ''] });
      const named = (await glanceAt(folder, plain))!;
      assert.deepEqual([named.summary.label, named.summary.tags], ['Baseline', ['paper', 'seed 1']]);
      assert.equal(await stampOfFacts(folder), facts, 'no fact is read again for a name');
      appendFileSync(join(folder, 'events.jsonl'), '\n');
      assert.notEqual(await stampOfFacts(folder), facts);
      writeFileSync(join(folder, 'run.json'), '{');
      const broken = (await glanceAt(folder, named))!;
      assert.deepEqual([broken.summary.status, broken.summary.label], ['unreadable', 'Baseline']);
      writeLabel(folder, { label: '', tags: [] });
      assert.deepEqual(await readLabel(folder), { tags: [] });
      writeFileSync(join(folder, 'label.json'), 'Baseline');
      assert.match((await summarizeRun(folder)).problem ?? '', /label\.json is not JSON/);
      rmSync(join(folder, 'events.jsonl'));
      mkdirSync(join(folder, 'events.jsonl'));
      rmSync(join(folder, 'label.json'));
      const refused = await summarizeRun(folder);
      assert.deepEqual([refused.status, /EISDIR/.test(refused.problem!)], ['unreadable', true]);
      assert.equal(await glanceAt(join(project, 'nowhere')), undefined);
    }));
});

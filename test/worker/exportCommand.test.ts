import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { openRun } from '../../src/run/reader.ts';
import { runCommandLine } from '../../src/worker/commands.ts';
import { openDemonstrations } from '../../src/worker/demonstrations.ts';
import { best, type ExportedRow } from '../../src/worker/exportCommand.ts';
import type { Demonstration } from '../../src/worker/sft.ts';
import { runCommand } from '../fakes/commandLine.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';
import { sums } from '../fakes/tinyWorld.ts';

const silent = { write: () => true };

describe('right trajectories as demonstrations', () => {
  let parent: string;
  before(() => (parent = mkdtempSync(join(tmpdir(), 'export-'))));
  after(() => rmSync(parent, { recursive: true }));

  it('are read back by sft with what tools said masked', async function () {
    this.timeout(30_000);
    const { folder } = await makeTinyRun(parent, { change: config => (config.data.fields.id = 'id') });
    const rows = sums(40).map(({ id, messages, references }) => ({
      id,
      question: messages[0]!.content,
      answer: references[0],
    }));
    writeFileSync(join(parent, 'train.jsonl'), rows.map(row => JSON.stringify(row)).join('\n'));
    const file = join(parent, 'right.jsonl');
    assert.equal(
      await runCommandLine(['export', folder, '--sft', file, '--each', '9'], { out: silent, err: silent }),
      0,
    );
    const exported = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as ExportedRow);
    const run = openRun(folder);
    const right = new Set<string>();
    for (const { id } of await run.trees()) {
      const { paths, task } = await run.tree(id);
      for (const { reward, stop } of paths) if (reward!.correct && stop === 'answer') right.add(task.id);
    }
    assert.ok(exported.length >= right.size && right.size > 3, `${exported.length} of ${right.size} tasks`);
    assert.deepEqual(new Set(exported.map(({ task }) => task)), right);
    const read: Demonstration[] = [];
    for await (const one of (await openDemonstrations(file, 1))(0))
      if (read.push(one) === exported.length) break;
    const masked = read.flatMap(({ pieces }) => pieces.filter(({ trained }) => !trained));
    assert.ok(masked.length > 3 && masked.every(({ text }) => /^ <result>\n[^]*\n<\/result>$/.test(text)));
    assert.deepEqual(
      read.map(({ pieces }) => pieces.map(({ text }) => text).join('')).sort(),
      exported.map(({ conversations }) => conversations.at(-1)!.value).sort(),
    );
  });

  it('say as JSON how many there are, and what is in the way where they cannot be written', async function () {
    this.timeout(30_000);
    const { folder } = await makeTinyRun(join(parent, 'said'), {
      steps: 1,
      change: config => (config.data.fields.id = 'id'),
    });
    const rows = sums(40).map(({ id, messages, references }) => ({
      id,
      question: messages[0]!.content,
      answer: references[0],
    }));
    writeFileSync(join(parent, 'said/train.jsonl'), rows.map(row => JSON.stringify(row)).join('\n'));
    const file = join(parent, 'said.jsonl');
    const { out } = await runCommand('export', folder, '--sft', file, '--json');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length;
    const { right, ...said } = JSON.parse(out.trimEnd().split('\n').at(-1)!) as Record<string, unknown>;
    assert.deepEqual(said, { file, written: lines });
    assert.ok((right as number) >= lines);
    const blocked = await runCommand('export', folder, '--sft', join(file, 'inside.jsonl'));
    assert.equal(blocked.code, 1);
    assert.match(blocked.err, /^branchpoint: ENOTDIR: .*inside\.jsonl.*\n.*, then try again\.\n$/);
  });

  it('are the best of each task, no text twice', () => {
    const row = (task: string, reward: number, value: string): ExportedRow => ({
      ...{ id: value, task, reward },
      conversations: [{ from: 'gpt', value }],
    });
    const rows = [
      row('a', 1, 'x'),
      row('a', 1.1, 'y'),
      row('a', 1.1, 'y'),
      row('b', 1, 'z'),
      row('a', 1, 'w'),
    ];
    assert.deepEqual(
      best(rows, 2).map(({ id }) => id),
      ['y', 'x', 'z'],
    );
    assert.deepEqual(
      best(rows, 1).map(({ id }) => id),
      ['y', 'z'],
    );
  });

  it('need a file to go to', async () => {
    assert.equal(await runCommandLine(['export', parent], { out: silent, err: silent }), 2);
  });
});

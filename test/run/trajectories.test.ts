import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, it } from 'mocha';
import type { Grown } from '../../src/core/tree.ts';
import type { Alternatives } from '../../src/core/types.ts';
import { writeTrajectories } from '../../src/run/trajectories.ts';
import { randomTree } from '../fakes/randomTree.ts';
import { inFolder, smallTree } from './fixtures.ts';

const readBack = async (path: string): Promise<Record<string, unknown>[]> =>
  parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });

/** A Python with the packages that others read parquet with; the tests that need it are skipped without. */
const PYTHON = process.env['BRANCHPOINT_TEST_PYTHON'] ?? 'python3';
const canRead = (module: string): boolean => spawnSync(PYTHON, ['-c', `import ${module}`]).status === 0;

function python(code: string, ...args: string[]): unknown {
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', code, ...args], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

interface Likely {
  id: number;
  log_prob: number;
}
type Drawn = (Likely & { segment: number; alternatives: Likely[] })[];

describe('trajectories as parquet', () => {
  it('have a row each, with lists as lists and nothing where nothing was measured', () =>
    inFolder(async folder => {
      const name = await writeTrajectories(folder, 41, [smallTree(41, 0)], false);
      assert.equal(name, 'trajectories/step-000041.parquet');
      assert.deepEqual(readdirSync(join(folder, 'trajectories')), ['step-000041.parquet']);
      const [first, second] = await readBack(join(folder, name));
      assert.deepEqual(
        [first!['task'], first!['references'], first!['response'], first!['reward'], first!['advantage']],
        ['task-0', ['Lima'], '<search><result>Lima', 1, 0.7],
      );
      assert.deepEqual(first!['reward_parts'], [{ name: 'accuracy', value: 1 }]);
      assert.deepEqual(
        ['prompt_tokens', 'response_tokens', 'trained_tokens', 'shared_tokens'].map(column => first![column]),
        [3, 7, 5, 5],
      );
      const segments = first!['segments'] as Record<string, unknown>[];
      assert.deepEqual(
        segments.map(({ kind, trained }) => [kind, trained]),
        [
          ['prompt', false],
          ['model', true],
          ['tool', false],
          ['model', true],
        ],
      );
      assert.deepEqual(
        [segments[2]!['argument'], segments[2]!['latency_ms'], segments[1]!['entropy']],
        ['Perú', 3, 0.5],
      );
      assert.equal(segments[3]!['entropy'] ?? null, null);
      assert.deepEqual(
        (first!['decisions'] as { probability: number }[]).map(({ probability }) => probability),
        [0.55],
      );
      assert.deepEqual([second!['origin'], second!['decisions']], ['branch', []]);
    }));

  it('have no numbers for trees that were neither judged nor credited', () =>
    inFolder(async folder => {
      const { tree, columns } = smallTree(41, 0);
      const { credit: _, ...dropped } = tree;
      const paths = tree.paths.map(({ reward: _, ...path }) => path);
      const name = await writeTrajectories(folder, 41, [{ tree: { ...dropped, paths }, columns }], false);
      for (const row of await readBack(join(folder, name))) {
        for (const column of ['advantage', 'reward', 'correct', 'reason', 'answer'])
          assert.equal(row[column] ?? null, null, column);
        const segments = row['segments'] as { credit?: number }[];
        assert.deepEqual(new Set(segments.map(({ credit }) => credit ?? null)), new Set([null]));
      }
    }));

  it('hold what random trees hold, written twice as once', () =>
    inFolder(async folder => {
      const grown = await Promise.all([1, 2, 3, 4].map(seed => randomTree(seed)));
      for (let time = 0; time < 2; time++) await writeTrajectories(folder, 1, grown, false);
      const rows = await readBack(join(folder, 'trajectories/step-000001.parquet'));
      const paths = grown.flatMap(({ tree }) => tree.paths.map(path => ({ tree, path })));
      assert.equal(rows.length, paths.length);
      rows.forEach((row, i) => {
        const { tree, path } = paths[i]!;
        assert.equal(row['reward'], path.reward!.total);
        assert.equal(row['advantage'], tree.credit!.soft[row['path'] as number]);
        assert.equal(row['calls'], path.calls);
      });
      const asked = rows.reduce((sum, row) => sum + (row['decisions'] as unknown[]).length, 0);
      assert.equal(
        asked,
        grown.reduce((sum, { tree }) => sum + tree.decisions.length, 0),
      );
    }));

  it('keep nobody waiting for all rows of a large step, which are read back in their order', () =>
    inFolder(async folder => {
      const grown = Array.from({ length: 100 }, (_, index) => smallTree(1, index));
      let isWritten = false;
      let turns = 0;
      const turn = (): void => {
        turns++;
        if (!isWritten) setImmediate(turn);
      };
      setImmediate(turn);
      const path = join(folder, await writeTrajectories(folder, 1, grown, false));
      isWritten = true;
      const rows = await readBack(path);
      assert.ok(turns >= 200, `others had ${turns} turns`);
      assert.deepEqual(
        rows.map(row => [row['tree'], row['path']]),
        grown.flatMap(({ tree }) => [0, 1].map(index => [tree.id, index])),
      );
    }));

  /** Two alternatives for every drawn token: of small trees five on a trajectory. */
  const withAlternatives = (): Grown => {
    const { tree, columns } = smallTree(41, 0);
    const drawn = [...columns.samplerLogProbs].filter(logProb => !Number.isNaN(logProb)).length;
    const alternatives: Alternatives = {
      k: 2,
      ids: Int32Array.from({ length: 2 * drawn }, (_, i) => 100 + i),
      logProbs: Float32Array.from({ length: 2 * drawn }, (_, i) => -0.1 * (i + 1)),
    };
    return { tree, columns: { ...columns, alternatives } };
  };

  it('name every drawn token with its alternatives, and say nothing of them where none were recorded', () =>
    inFolder(async folder => {
      const grown = withAlternatives();
      const plain = smallTree(41, 1);
      const path = join(folder, await writeTrajectories(folder, 41, [grown, plain], false));
      const [first, second, third] = await readBack(path);
      const { ids, samplerLogProbs, alternatives } = grown.columns;
      const drawn = second!['drawn_tokens'] as Drawn;
      // Tokens 3 to 7 are of the segments that both trajectories have, 8 and 9 of the first's own, 10 and 11 of the second's.
      const tokens = [3, 4, 5, 6, 7, 10, 11];
      assert.deepEqual(
        drawn.map(({ segment, id, log_prob }) => [segment, id, log_prob]),
        tokens.map((token, i) => [i < 3 ? 1 : i < 5 ? 2 : 4, ids[token], samplerLogProbs[token]]),
      );
      assert.deepEqual(
        drawn.map(({ alternatives }) => alternatives),
        tokens.map(token =>
          [0, 1].map(i => ({
            id: alternatives!.ids[2 * (token - 3) + i],
            log_prob: alternatives!.logProbs[2 * (token - 3) + i],
          })),
        ),
      );
      assert.equal((first!['drawn_tokens'] as Drawn).length, 7);
      assert.equal(third!['drawn_tokens'] ?? null, null);
    }));

  const READERS = {
    duckdb: `
import duckdb, json, sys
rows = duckdb.sql(f"""select sum(reward), sum(len(segments)), sum(list_sum([s.tokens for s in segments])),
  count(answer), sum(list_sum([p.value for p in reward_parts])),
  sum(len(drawn_tokens)), sum(list_sum([list_sum([a.log_prob for a in t.alternatives]) for t in drawn_tokens])),
  count(*) filter (drawn_tokens is null) from read_parquet('{sys.argv[1]}')""").fetchall()[0]
print(json.dumps([float(x) for x in rows]))`,
    pandas: `
import pandas, json, sys
t = pandas.read_parquet(sys.argv[1])
print(json.dumps([float(x) for x in (t.reward.sum(), t.segments.map(len).sum(),
  t.segments.map(lambda s: sum(x["tokens"] for x in s)).sum(), t.answer.notna().sum(),
  t.reward_parts.map(lambda p: sum(x["value"] for x in p)).sum(), t.drawn_tokens.dropna().map(len).sum(),
  t.drawn_tokens.dropna().map(lambda d: sum(a["log_prob"] for x in d for a in x["alternatives"])).sum(),
  t.drawn_tokens.isna().sum())]))`,
  };
  for (const [module, code] of Object.entries(READERS))
    it(`are read by ${module} (skipped where Python has it not)`, async function () {
      this.timeout(60_000);
      if (!canRead(module)) return this.skip();
      await inFolder(async folder => {
        const random = await Promise.all([1, 2, 3, 4, 5].map(seed => randomTree(seed)));
        const grown = [smallTree(1, 9), ...random];
        const path = join(folder, await writeTrajectories(folder, 1, grown, false));
        assert.ok(existsSync(path));
        const rows = await readBack(path);
        const segments = rows.flatMap(row => row['segments'] as { tokens: number }[]);
        const without = rows.filter(row => (row['drawn_tokens'] ?? null) === null);
        assert.ok(without.length >= 2 && without.length < rows.length, 'both kinds are there');
        const drawn = rows.flatMap(row => (row['drawn_tokens'] ?? []) as Drawn);
        const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
        const expected = [
          sum(rows.map(row => row['reward'] as number)),
          segments.length,
          sum(segments.map(({ tokens }) => tokens)),
          rows.filter(row => typeof row['answer'] === 'string').length,
          sum(rows.flatMap(row => row['reward_parts'] as { value: number }[]).map(({ value }) => value)),
          drawn.length,
          sum(drawn.flatMap(({ alternatives }) => alternatives.map(({ log_prob }) => log_prob))),
          without.length,
        ];
        (python(code, path) as number[]).forEach((value, i) =>
          assert.ok(Math.abs(value - expected[i]!) < 1e-9, `${i}: ${value}, expected ${expected[i]}`),
        );
      });
    });
});

/** Trees come back as they were written, or not at all. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  fstatSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { fold } from '../../src/core/fold.ts';
import { interceptWrites } from '../../src/run/disk.ts';
import { readOffsets, scan } from '../../src/run/offsets.ts';
import { openRun } from '../../src/run/reader.ts';
import { searchTrees } from '../../src/run/search.ts';
import type { TreeFiles } from '../../src/run/trees.ts';
import { closeTrees, openTrees, readColumns, readTree, writeTrees } from '../../src/run/trees.ts';
import { treeLine } from '../../src/run/treeShape.ts';
import type { TokenColumns, Tree } from '../../src/core/types.ts';
import { inFolder, smallTree, writeTree } from './fixtures.ts';

function write(folder: string, steps: number) {
  const files = openTrees(folder);
  const written = Array.from({ length: steps }, (_, i) => {
    const { tree, columns } = smallTree(i + 1, 0);
    return { tree, columns, ...writeTree(files, tree, columns) };
  });
  closeTrees(files);
  return written;
}
/** The tree with two alternatives of each of its nine drawn tokens. */
function withAlternatives(step: number): { tree: Tree; columns: TokenColumns } {
  const { tree, columns } = smallTree(step, 0);
  const ids = Int32Array.from({ length: 18 }, (_, i) => 100 * step + i);
  const alternatives = { k: 2, ids, logProbs: Float32Array.from(ids, id => -id / 7) };
  return { tree, columns: { ...columns, alternatives } };
}
const EXTENT = 12 * 16 + 18 * 8;
const indexes = async (folder: string) =>
  [await readOffsets(folder), await scan(join(folder, 'trees.jsonl'))] as const;
const closing = (files: TreeFiles, use: () => void): void => {
  try {
    use();
  } finally {
    closeTrees(files);
  }
};

describe('trees', () => {
  it('come back by their spans, numbers bit by bit', () =>
    inFolder(folder => {
      for (const { tree, columns, span, tokens } of write(folder, 3)) {
        const { tokens: stored, ...read } = readTree(folder, span);
        assert.deepEqual(read, tree);
        assert.deepEqual(stored, tokens);
        assert.deepEqual(readColumns(folder, stored), columns);
      }
      assert.equal(statSync(join(folder, 'tokens.bin')).size, 3 * 12 * 16);
    }));

  it('come back with the alternatives of their drawn tokens, beside trees that have none', () =>
    inFolder(folder => {
      const files = openTrees(folder);
      const [first, second] = [withAlternatives(1), smallTree(2, 0)];
      const spans = [first, second].map(({ tree, columns }) => writeTree(files, tree, columns));
      closeTrees(files);
      const stored = spans.map(({ span }) => readTree(folder, span).tokens);
      assert.deepEqual(stored[0]!.alternatives, { k: 2, drawn: 9 });
      assert.deepEqual([stored[1]!.offset, stored[1]!.alternatives], [EXTENT, undefined]);
      assert.deepEqual(readColumns(folder, stored[0]!), first.columns);
      assert.deepEqual(readColumns(folder, stored[1]!), second.columns);
      // What knew no alternatives reads the columns before them.
      const { alternatives: _, ...columns } = first.columns;
      assert.deepEqual(readColumns(folder, { offset: 0, count: 12 }), columns);
    }));

  it('are cut off where their alternatives never reached the disk, and refused where these were changed', () =>
    inFolder(async folder => {
      const files = openTrees(folder);
      const { tree, columns } = withAlternatives(1);
      const { tokens } = writeTree(files, tree, columns);
      writeTree(files, ...(Object.values(withAlternatives(2)) as [Tree, TokenColumns]));
      closeTrees(files);
      const path = join(folder, 'tokens.bin');
      truncateSync(path, 2 * EXTENT - 1);
      closeTrees(openTrees(folder));
      assert.equal(statSync(path).size, EXTENT);
      assert.equal((await scan(join(folder, 'trees.jsonl'))).length, 1);
      const { crc: _, ...unguarded } = tokens;
      assert.throws(
        () => readColumns(folder, { ...unguarded, alternatives: { k: 3, drawn: 6 } }),
        /tokens\.bin, byte 0: there are alternatives of 6 tokens, but 9 were drawn/,
      );
      const bytes = readFileSync(path);
      bytes[EXTENT - 1]! ^= 1;
      writeFileSync(path, bytes);
      assert.throws(() => readColumns(folder, tokens), /byte 0: the tokens are not those that were written/);
    }));

  it('leave no file open where their last sync fails', () =>
    inFolder(folder => {
      const files = openTrees(folder);
      const restore = interceptWrites(operation => {
        if (operation === 'sync') throw new Error('refused by the test');
      });
      assert.throws(() => closeTrees(files), /refused by the test/);
      restore();
      for (const { handle } of [files.tokens, files.trees, files.index])
        assert.throws(() => fstatSync(handle), { code: 'EBADF' });
    }));

  it('come back with what their algorithm recorded, and not where it has a wrong type', () =>
    inFolder(folder => {
      const files = openTrees(folder);
      const { tree, columns } = smallTree(1, 0);
      const measured = { form: 'paper', rootEntropy: 1, turnEntropy: 0.5, share: 3.7, tokens: 40 } as const;
      const call = { tool: 'search', outcome: 'ok', latencyMs: 3, shared: false } as const;
      const steps = tree.segments.map((_, segment) => (segment === 1 ? [0.25, -0.25] : []));
      const credit = { soft: tree.paths.map(() => 0), hard: tree.segments.map(() => null), steps };
      const whole: Tree = {
        ...tree,
        probe: { ...measured, calls: [call] },
        isDropped: true,
        credit: { ...credit, used: 'step' },
        decisions: tree.decisions.map(decision => ({
          ...decision,
          penalty: { form: 'upstream', consecutive: 2, factor: 0.9 },
        })),
      };
      closing(files, () => {
        const { span } = writeTree(files, whole, columns);
        const { tokens, ...read } = readTree(folder, span);
        assert.equal(tokens.count, columns.ids.length);
        assert.deepEqual(read, whole);
        const short = { ...whole, credit: { ...whole.credit!, steps: [[]] } };
        assert.throws(() => readTree(folder, writeTree(files, short, columns).span), /credit\.steps/);
      });
    }));

  it('cut off a torn line and tokens that no line names, and continue', () =>
    inFolder(async folder => {
      write(folder, 2);
      appendFileSync(join(folder, 'trees.jsonl'), '{"id":"3.0","ste');
      appendFileSync(join(folder, 'tokens.bin'), Buffer.alloc(100, 7));
      const files = openTrees(folder);
      const { tree, columns } = smallTree(3, 0);
      const { span, tokens } = writeTree(files, tree, columns);
      closeTrees(files);
      assert.equal(tokens.offset, 2 * 12 * 16);
      assert.equal(readTree(folder, span).id, '3.0');
      assert.deepEqual(readColumns(folder, tokens), columns);
      const [byIndex, byScan] = await indexes(folder);
      assert.deepEqual(byIndex, byScan);
      assert.deepEqual(
        byScan.map(({ id }) => id),
        ['1.0', '2.0', '3.0'],
      );
    }));

  it('cut off a tree whose tokens never reached the disk', () =>
    inFolder(async folder => {
      write(folder, 3);
      truncateSync(join(folder, 'tokens.bin'), 2 * 12 * 16 + 5);
      closeTrees(openTrees(folder));
      assert.equal(statSync(join(folder, 'tokens.bin')).size, 2 * 12 * 16);
      const [byIndex, byScan] = await indexes(folder);
      assert.deepEqual(
        byScan.map(({ id }) => id),
        ['1.0', '2.0'],
      );
      assert.deepEqual(byIndex, byScan);
    }));

  it('of a step are written together, all or none', () =>
    inFolder(async folder => {
      const files = openTrees(folder);
      const grown = [0, 1, 2].map(index => smallTree(1, index));
      const [first, ...others] = grown;
      const broken = { ...others[0]!, columns: { ...others[0]!.columns, ids: new Int32Array(3) } };
      assert.throws(() => writeTrees(files, [first!, broken]), /samplerLogProbs has 12 entries for 3 tokens/);
      assert.equal(files.trees.length + files.tokens.length + files.index.length, 0);
      writeTree(files, smallTree(2, 0).tree, smallTree(2, 0).columns);
      const places = writeTrees(files, grown);
      closeTrees(files);
      places.forEach(({ span, tokens }, i) => {
        assert.equal(readTree(folder, span).id, grown[i]!.tree.id);
        assert.deepEqual(readColumns(folder, tokens), grown[i]!.columns);
      });
      const [byIndex, byScan] = await indexes(folder);
      assert.deepEqual(byIndex, byScan);
      assert.equal(byScan.length, 4);
    }));

  it('are not written where they could not be read', () =>
    inFolder(folder => {
      const files = openTrees(folder);
      const { tree, columns } = smallTree(1, 0);
      closing(files, () => {
        assert.throws(
          () => writeTree(files, { ...tree, decisions: [{ ...tree.decisions[0]!, entropy: NaN }] }, columns),
          /entropy is NaN/,
        );
        assert.throws(
          () => writeTree(files, { ...tree, segments: tree.segments.slice(0, 4) }, columns),
          /10 tokens in its segments/,
        );
        assert.throws(
          () => writeTree(files, tree, { ...columns, entropies: new Float32Array(3) }),
          /entropies has 3 entries/,
        );
        const alternatives = { k: 2, ids: new Int32Array(16), logProbs: new Float32Array(16) };
        assert.throws(
          () => writeTree(files, tree, { ...columns, alternatives }),
          /16 alternatives are not 2 for each of 9 drawn tokens/,
        );
        assert.throws(
          () => writeTree(files, { ...tree, paths: [{ ...tree.paths[0]!, leaf: 9 }] }, columns),
          /paths\[0\]\.leaf is 9, which is no segment/,
        );
      });
      assert.equal(statSync(join(folder, 'trees.jsonl')).size, 0);
      assert.equal(statSync(join(folder, 'tokens.bin')).size, 0);
    }));

  it('are refused where their parts point at what they do not have', () => {
    const { tree, columns } = smallTree(1, 0);
    const line = { ...tree, tokens: { offset: 0, count: columns.ids.length } };
    assert.equal(treeLine(line, 'tree').id, '1.0');
    const [first, second] = tree.paths;
    const decision = tree.decisions[0]!;
    const credit = tree.credit!;
    for (const [broken, why] of [
      [{ segments: [] }, /segments is empty/],
      [
        { segments: [{ ...tree.segments[0]!, parent: 0 }, ...tree.segments.slice(1)] },
        /segments\[0\]\.parent is 0/,
      ],
      [{ tokens: { offset: 0, count: 11 } }, /ends after the tree’s 11 tokens/],
      [{ paths: [first, { ...second!, from: { path: 2, segment: 0 } }] }, /paths\[1\]\.from points outside/],
      [{ paths: [first, { ...second!, from: { path: 0, segment: 9 } }] }, /paths\[1\]\.from points outside/],
      [{ decisions: [{ ...decision, segment: 9 }] }, /decisions\[0\] points outside/],
      [{ decisions: [{ ...decision, path: 2 }] }, /decisions\[0\] points outside/],
      [{ decisions: [{ ...decision, child: 2 }] }, /decisions\[0\]\.child is no path/],
      [{ credit: { ...credit, soft: [0] } }, /credit\.soft has not one entry per path/],
      [{ credit: { ...credit, hard: [] } }, /credit\.hard has not one entry per segment/],
      [{ credit: { ...credit, steps: [] } }, /credit\.steps has not one entry per segment/],
    ] as const)
      assert.throws(() => treeLine({ ...line, ...broken }, 'tree'), why);
  });

  it('leave whole files behind when the disk fails in the middle', () =>
    inFolder(async folder => {
      write(folder, 1);
      for (const name of ['tokens.bin', 'trees.jsonl']) {
        const files = openTrees(folder);
        const { tree, columns } = smallTree(2, 0);
        const restore = interceptWrites((operation, path) => {
          if (operation === 'append' && path.endsWith(name)) throw new Error('EIO: i/o error');
        });
        closing(files, () =>
          assert.throws(() => writeTree(files, tree, columns), /Tree 2\.0 cannot be written: EIO/),
        );
        restore();
        const [byIndex, byScan] = await indexes(folder);
        assert.deepEqual(byIndex, byScan);
        assert.equal(byScan.length, 1);
      }
    }));

  it('name file and byte where a line or its tokens were changed', () =>
    inFolder(folder => {
      const [first, second] = write(folder, 2);
      const path = join(folder, 'trees.jsonl');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"kind":"tool"', '"kind":"toll"'));
      assert.throws(
        () => readTree(folder, first!.span),
        /trees\.jsonl, byte 0: the line is not what was written \(checksum\)/,
      );
      assert.throws(() => readTree(folder, { offset: 3, length: 9 }), /byte 3: no line of 9 bytes/);
      assert.throws(
        () => readColumns(folder, { ...second!.tokens, count: 99 }),
        /tokens\.bin, byte 192: there are \d+ of \d+ bytes/,
      );
      const bytes = readFileSync(join(folder, 'tokens.bin'));
      bytes[200]! ^= 1;
      writeFileSync(join(folder, 'tokens.bin'), bytes);
      assert.throws(() => readColumns(folder, second!.tokens), /not those that were written/);
    }));
});

describe('offsets', () => {
  it('are rebuilt where the index is missing, stale or damaged', () =>
    inFolder(async folder => {
      write(folder, 5);
      const path = join(folder, 'trees.index');
      const expected = await scan(join(folder, 'trees.jsonl'));
      assert.equal(expected.length, 5);
      assert.deepEqual(
        [expected[0]?.reward, expected[0]?.branches, expected[0]?.refused, expected[0]?.question],
        [0.5, 1, 0, 'What is the capital of Perú?'],
      );
      assert.deepEqual(await readOffsets(folder), expected);
      const whole = readFileSync(path, 'utf8');
      for (const text of [
        whole.slice(0, whole.length / 2),
        'x\n' + whole,
        whole.replace('"offset":0', '"offset":1'),
        // Without its checksum an entry may say anything.
        whole.replace(/"question":"What is (.*),"crc":\d+\}/, '"question":"Where is $1}'),
        '',
      ]) {
        writeFileSync(path, text);
        assert.deepEqual(await readOffsets(folder), expected);
      }
      rmSync(path);
      assert.deepEqual(await readOffsets(folder), expected);
    }));

  it('count what the gate refused as the journal does, and not what the budget did', async () => {
    const run = openRun(join(import.meta.dirname, '../../media/sample/run'));
    const told = fold(await run.events()).trees;
    const listed = await run.trees();
    assert.deepEqual(
      listed.map(({ id, branches, refused }) => [id, branches, refused]),
      told.map(({ id, branches, refused }) => [id, branches, refused]),
    );
    const { refused, branches } = listed.find(({ id }) => id === '18.1')!;
    assert.deepEqual([branches, refused], [1, 7]);
  });

  it('are refused where a tree has lost its checksum and may say anything', () =>
    inFolder(async folder => {
      write(folder, 3);
      const path = join(folder, 'trees.jsonl');
      const lines = readFileSync(path, 'utf8').split('\n');
      rmSync(join(folder, 'trees.index'));
      const second = lines[1]!
        .replace(/"crc":(\d+)\}$/, '"crb":$1}')
        .replace('"kind":"tool"', '"kind":"model"');
      writeFileSync(path, [lines[0], second, lines[2], ''].join('\n'));
      const place = `trees\\.jsonl, byte ${Buffer.byteLength(lines[0]!) + 1}: the line has lost its checksum`;
      await assert.rejects(readOffsets(folder), { name: 'FailureError', message: new RegExp(place) });
      // One that never had any, of an earlier version say, is read.
      writeFileSync(path, lines.map(line => line.replace(/,"crc":\d+\}$/, '}')).join('\n'));
      assert.equal((await readOffsets(folder)).length, 3);
    }));

  it('are refused alike by whoever reads the whole file, one tree of it, or the trees that a search looks at', () =>
    inFolder(async folder => {
      write(folder, 3);
      const path = join(folder, 'trees.jsonl');
      const entries = await readOffsets(folder);
      const lines = readFileSync(path, 'utf8').split('\n');
      // As long as before, so that the index still fits; JSON, and a tree, but not what was written.
      lines[1] = lines[1]!.replace(/"crc":(\d+)\}$/, '"crb":$1}').replace('"text":"Lima"', '"text":"Loma"');
      writeFileSync(path, lines.join('\n'));
      const place = `trees\\.jsonl, byte ${entries[1]!.offset}: the line has lost its checksum`;
      const refused = { name: 'FailureError', message: new RegExp(place) };
      assert.deepEqual(await readOffsets(folder), entries);
      await assert.rejects(scan(path), refused);
      await assert.rejects(scan(path, entries[1]!.offset), refused);
      assert.throws(() => readTree(folder, entries[1]!), refused);
      const searched = async (some: typeof entries, query: object) => {
        for await (const _ of searchTrees(folder, some, query, new AbortController().signal));
      };
      await assert.rejects(searched(entries.slice(1, 2), { text: 'Loma' }), refused);
      await assert.rejects(
        searched(Array.from({ length: 40 }, () => entries).flat(), { text: 'Loma' }),
        refused,
      );
      for (const at of [0, 2]) assert.equal(readTree(folder, entries[at]!).id, entries[at]!.id);
    }));

  it('grow with the file, and forget what a replaced file no longer has', () =>
    inFolder(async folder => {
      write(folder, 2);
      const before = await readOffsets(folder);
      write(folder, 1);
      assert.equal((await readOffsets(folder, before)).length, 3);
      writeFileSync(join(folder, 'trees.jsonl'), '');
      assert.deepEqual(await readOffsets(folder, before), []);
    }));
});

/** A fine-tuned policy's folder, whose writer may be killed at any moment. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'mocha';
import type { FailureError } from '../../src/core/types.ts';
import { interceptWrites } from '../../src/run/disk.ts';
import { openTuned, saveTuned } from '../../src/worker/tunedFolder.ts';

const PARTS = ['model.safetensors', 'optimizer.safetensors', 'sft.json'];

describe('the folder of a fine-tuned policy', () => {
  let parent: string;
  let restore = (): void => undefined;
  before(() => {
    parent = mkdtempSync(join(tmpdir(), 'tuned-'));
    writeFileSync(join(parent, 'tokenizer.json'), '{}');
  });
  afterEach(() => restore());
  after(() => rmSync(parent, { recursive: true }));

  /** A save all of whose parts say which it is. */
  const save = (folder: string, updates: number): Promise<void> =>
    saveTuned(folder, {
      policy: {
        save(into) {
          for (const name of [...PARTS.slice(0, 2), 'config.json'])
            writeFileSync(
              join(into, name),
              JSON.stringify({ updates: name === 'config.json' ? 0 : updates }),
            );
          return Promise.resolve();
        },
      },
      tokenizer: { files: [join(parent, 'tokenizer.json')] },
      state: { updates, tokens: updates, rows: updates },
    });
  const updatesIn = (folder: string): number[] =>
    PARTS.map(name => (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { updates: number }).updates);

  /** Lets a save die before its nth operation on the disk; says whether it did. */
  async function killed(folder: string, updates: number, nth: number): Promise<boolean> {
    let operations = 0;
    restore = interceptWrites(() => {
      if (++operations >= nth) throw new Error('killed');
    });
    const wasKilled = await save(folder, updates).then(
      () => false,
      () => true,
    );
    restore();
    return wasKilled;
  }

  for (const earlier of [0, 1])
    it(`is a whole save wherever the writer is killed, ${earlier === 0 ? 'the first time' : 'over an earlier one'}`, async () => {
      const ends = new Set<number>();
      for (let nth = 1; ; nth++) {
        const folder = join(parent, `out-${earlier}-${nth}`);
        openTuned(folder);
        if (earlier > 0) await save(folder, earlier);
        if (!(await killed(folder, 2, nth))) break;
        // Others open what is there at once: weights are there only with all that belongs to them.
        if (existsSync(join(folder, 'model.safetensors')))
          for (const name of ['config.json', 'tokenizer.json'])
            assert.ok(existsSync(join(folder, name)), name);
        const updates = openTuned(folder)?.updates ?? 0;
        assert.ok(updates === earlier || updates === 2, String(updates));
        if (updates > 0) assert.deepEqual(updatesIn(folder), PARTS.map(() => updates)); // prettier-ignore
        assert.deepEqual(readdirSync(folder).filter(name => name.startsWith('.')), []); // prettier-ignore
        ends.add(updates);
      }
      assert.deepEqual([...ends], [earlier, 2]);
    });

  it('is refused where its state is damaged, and the message names the file', async () => {
    const folder = join(parent, 'damaged');
    openTuned(folder);
    await save(folder, 1);
    for (const text of ['{"updates": 1', '{"updates": 1, "tokens": "many", "rows": 1}']) {
      writeFileSync(join(folder, 'sft.json'), text);
      assert.throws(() => openTuned(folder), /damaged.sft\.json does not say how far/);
    }
  });

  it('is refused where it is another policy’s, or a run’s', () => {
    for (const name of ['model.safetensors', 'config.json', 'run.json']) {
      const folder = join(parent, `foreign-${name}`);
      mkdirSync(folder);
      writeFileSync(join(folder, name), 'theirs');
      assert.throws(
        () => openTuned(folder),
        ({ failure }: FailureError) => {
          const message = `${folder} holds a ${name} that no fine-tuning has written, and it would be lost.`;
          assert.deepEqual(failure, { where: 'config', message, fix: 'Name another folder with --out.' });
          return true;
        },
      );
      assert.deepEqual(readdirSync(folder), [name]);
    }
  });

  it('keeps what else lies in it', async () => {
    const folder = join(parent, 'shared');
    openTuned(folder);
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    await save(folder, 1);
    await save(folder, 2);
    assert.equal(readFileSync(join(folder, 'notes.txt'), 'utf8'), 'mine');
    assert.deepEqual(updatesIn(folder), [2, 2, 2]);
  });
});

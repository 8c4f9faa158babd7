/** What is opened again beside a run: weights with the run's own vocabulary, and tools that leave no trace in its recording. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import { makePieces } from '../../src/core/pieces.ts';
import { openRun, type Run } from '../../src/run/reader.ts';
import { reopenPolicy, withoutRecording } from '../../src/worker/reopen.ts';
import { makeTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';
import { tinyTokenizer } from '../fakes/tinyWorld.ts';

describe('opening again', () => {
  let parent: string;
  let run: Run;
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'reopen-'));
    run = openRun((await makeTinyRun(parent, { steps: 1 })).folder);
  });
  after(() => rmSync(parent, { recursive: true }));

  const open = (pieces = tinyTokenizer.pieces) => {
    const weights = {
      folder: join(run.folder, 'checkpoints/step-000001'),
      checkpoint: 'step-000001',
      step: 1,
    };
    const equipment = tinyEquipment();
    equipment.openTokenizer = () => Promise.resolve({ ...tinyTokenizer, pieces, files: [] });
    return reopenPolicy(
      run,
      equipment,
      { weights, purpose: 'evaluation', tags: [], signal: new AbortController().signal },
      [],
    );
  };

  it('takes the vocabulary that the run’s tokens were drawn with, and refuses another', async () => {
    assert.equal((await open()).hash, '0');
    const other = Array.from({ length: 256 }, (_, id) => Buffer.from(String.fromCharCode(255 - id)));
    await assert.rejects(
      open(makePieces(other)),
      /The tokenizer in .*step-000001 is not the one that the run’s tokens/,
    );
    const fewer = Array.from({ length: 255 }, (_, id) =>
      Buffer.from(id === 0 ? '' : String.fromCharCode(id)),
    );
    await assert.rejects(open(makePieces(fewer)), /is not the one/);
  });

  it('records nothing into the run’s recording, and goes on to answer from one that is replayed', () => {
    const modeOf = (mode: 'record' | 'replay' | 'replay-or-record' | 'off'): string => {
      const config = defaults();
      config.tools.cassette = { mode, file: '/tape.jsonl' };
      return withoutRecording(config).tools.cassette.mode;
    };
    assert.deepEqual((['record', 'replay-or-record', 'off', 'replay'] as const).map(modeOf), [
      'off',
      'off',
      'off',
      'replay',
    ]);
  });
});

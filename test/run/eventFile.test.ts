import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { setClock } from '../../src/run/clock.ts';
import { crc32c, maskedCrc, openEventFile, record } from '../../src/run/eventFile.ts';
import { inFolder } from './fixtures.ts';

const PYTHON = process.env['BRANCHPOINT_TEST_PYTHON'] ?? 'python3';

describe('TensorBoard’s event files', () => {
  it('have the checksums of RFC 3720', () => {
    assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
    assert.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
    assert.equal(
      maskedCrc(Buffer.from('123456789')),
      (((0xe3069283 >>> 15) | (0xe3069283 << 17)) + 0xa282ead8) >>> 0,
    );
  });

  it('frame a record with its length and two checksums', () => {
    const framed = record(Buffer.from('abc'));
    assert.equal(framed.length, 19);
    assert.equal(framed.readBigUInt64LE(0), 3n);
    assert.equal(framed.readUInt32LE(8), maskedCrc(framed.subarray(0, 8)));
    assert.equal(framed.readUInt32LE(15), maskedCrc(Buffer.from('abc')));
  });

  it('are these bytes for one scalar', () =>
    inFolder(folder => {
      const restore = setClock(() => 1_000);
      const file = openEventFile(folder, 1);
      file.write(300, { a: 0.5, b: NaN });
      file.close();
      restore();
      const [name] = readdirSync(folder);
      assert.match(name!, /^events\.out\.tfevents\.0000000001\.branchpoint\.\d+$/);
      const bytes = readFileSync(join(folder, name!));
      const wall = '09000000000000f03f';
      const version = Buffer.from(`${wall}1a0d${Buffer.from('brain.Event:2').toString('hex')}`, 'hex');
      // step 300 = ac 02; summary { value { tag "a", simple_value 0.5 } }
      const scalar = Buffer.from(`${wall}10ac022a0a0a080a0161150000003f`, 'hex');
      assert.deepEqual(bytes, Buffer.concat([record(version), record(scalar)]));
    }));

  it('tell that what an earlier file says of later steps is void', () =>
    inFolder(folder => {
      const restore = setClock(() => 1_000);
      openEventFile(folder, 3).close();
      restore();
      const bytes = readFileSync(join(folder, readdirSync(folder)[0]!));
      // step 3, session_log { status: START }
      assert.deepEqual(
        bytes.subarray(-29),
        record(Buffer.from('09000000000000f03f10033a020801', 'hex')).subarray(-29),
      );
      assert.equal(bytes.length, 16 + 24 + 16 + 15);
    }));

  it('are read by TensorBoard, which forgets what a later file does again (skipped where Python has it not)', async function () {
    this.timeout(60_000);
    if (spawnSync(PYTHON, ['-c', 'import tensorboard']).status !== 0) return this.skip();
    await inFolder(folder => {
      let time = 1_700_000_000_000;
      const restore = setClock(() => (time += 1000));
      const first = openEventFile(folder, 1);
      for (const step of [1, 2, 3, 4]) first.write(step, { 'reward/mean': step / 8, loss: -step });
      first.close();
      const second = openEventFile(folder, 3);
      for (const step of [3, 4, 5]) second.write(step, { 'reward/mean': step / 4 });
      second.close();
      restore();
      const code = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1]); a.Reload()
print(json.dumps({t: [[e.step, e.value] for e in a.Scalars(t)] for t in a.Tags()["scalars"]}))`;
      const { stdout, stderr } = spawnSync(PYTHON, ['-c', code, folder], { encoding: 'utf8' });
      assert.deepEqual(
        JSON.parse(stdout || '{}'),
        {
          'reward/mean': [
            [1, 0.125],
            [2, 0.25],
            [3, 0.75],
            [4, 1],
            [5, 1.25],
          ],
          loss: [
            [1, -1],
            [2, -2],
          ],
        },
        stderr,
      );
    });
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import type { Event } from '../../src/core/events.ts';
import { openRun } from '../../src/run/reader.ts';
import { makeProgress } from '../../src/worker/progress.ts';
import { makeControl } from '../../src/worker/status.ts';
import { makeTinyRun } from '../fakes/tinyRun.ts';

let parent: string;
let events: Event[];

function shown(isTTY: boolean): string {
  let text = '';
  const control = makeControl('tiny', { steps: 4, groupSize: 6 });
  const screen = { isTTY, columns: 60, write: (written: string) => (text += written) };
  const progress = makeProgress(screen, () => control.status);
  for (const event of events) {
    control.observe(event);
    progress.tell(event);
  }
  progress.close();
  return text;
}

describe('progress', () => {
  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'progress-'));
    events = await openRun((await makeTinyRun(parent)).folder).events();
  });
  after(() => rmSync(parent, { recursive: true }));

  it('writes plain lines where it is no terminal: the parts, the baseline, one line per step, the end', () => {
    const lines = shown(false).trimEnd().split('\n');
    assert.ok(!lines.join('').includes('\u001b'));
    assert.deepEqual(
      lines.filter(line => !line.startsWith('evaluated')).map(line => line.split(/\s+/)[0]),
      ['policy', 'tool', 'tool', 'data', 'step', '1/4', '2/4', '3/4', '4/4', 'run'],
    );
    assert.equal(lines.filter(line => /^evaluated after step [04]: \d+\.\d % right/.test(line)).length, 2);
    assert.equal(lines.at(-1), 'run finished after step 4');
    const heads = lines.find(line => line.startsWith('step'))!;
    const row = lines.find(line => line.startsWith('4/4'))!;
    assert.equal(row.length, heads.length, 'columns stand under their heads');
  });

  it('says the same in a terminal', () => {
    assert.equal(shown(true).replaceAll('\r\u001b[K', ''), shown(false));
  });
});

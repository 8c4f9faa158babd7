import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import { emptyState } from '../../src/core/fold.ts';
import { diagnosis, type Diagnosed } from '../../src/extension/diagnosis.ts';
import { stepSummary } from '../fakes/stepSummary.ts';

function found(change: Partial<Diagnosed> = {}): Diagnosed {
  const state = emptyState();
  state.status = 'failed';
  state.steps = 100;
  for (let step = 1; step <= 70; step++) state.summaries.push({ step, at: '', summary: stepSummary() });
  state.failure = { where: 'policy', message: 'The engine ran out of memory.' };
  state.live = {
    step: 71,
    at: '2026-01-01T00:00:00.000Z',
    tasks: ['a', 'b'],
    trees: [
      {
        id: '71.0',
        segments: [{ segment: 1, kind: 'tool' } as never],
        calls: {},
        decisions: [],
      },
    ],
  };
  return {
    runFolder: '/home/ada/project/runs/one-1',
    manifest: {
      format: { major: 1, minor: 0 },
      name: 'one-1',
      created: '2026-01-01',
      config: defaults(),
      hashes: {},
      versions: { branchpoint: '0.1.0' },
    },
    state,
    worker: undefined,
    checks: [{ id: 'masks', status: 'error', message: 'A tool token is trained.' }],
    log: Array.from({ length: 300 }, (_, line) => `line ${line}`).join('\n'),
    machine: { editor: 'VS Code 1.104.0' },
    home: '/home/ada',
    ...change,
  };
}

describe('a diagnosis', () => {
  it('has the state, the failure, what the checks found and what the step under way waits for', () => {
    const text = diagnosis(found());
    for (const part of [
      'state: failed, step 0 of 100',
      'failure: policy: The engine ran out of memory.',
      'worker: none is alive',
      'error masks: A tool token is trained.',
      '1 of 2 trees still grow',
      '71.0: 1 segments, 1 tool answers not told',
      'VS Code 1.104.0',
      '"groupSize"',
    ])
      assert.ok(text.includes(part), part);
  });

  it('keeps the last 60 steps and the last 200 lines of the log', () => {
    const text = diagnosis(found());
    assert.equal([...text.matchAll(/^\| \d+ \|/gm)].length, 60);
    assert.ok(text.includes('| 70 |') && !text.includes('| 10 |'));
    assert.ok(text.includes('line 299') && text.includes('line 100\n') && !text.includes('line 99\n'));
  });

  it('has neither the home folder’s name nor passwords and keys in addresses', () => {
    const log =
      'GET http://ada:hunter2@search.local/q?api_key=abc123&n=3 failed\nAuthorization: Bearer xyz-9';
    const text = diagnosis(found({ log }));
    assert.ok(text.includes('folder: ~/project/runs/one-1'));
    for (const secret of ['/home/ada', 'hunter2', 'abc123', 'xyz-9'])
      assert.ok(!text.includes(secret), secret);
    assert.ok(text.includes('&n=3'));
  });

  it('has no home folder’s name of Windows either, however it is written', () => {
    const { manifest } = found();
    const config = { ...manifest.config, runs: 'C:\\Users\\ada\\runs' };
    const text = diagnosis(
      found({
        home: 'C:\\Users\\ada',
        runFolder: 'C:\\Users\\ada\\runs\\one-1',
        manifest: { ...manifest, config },
        log: 'file:///C:/Users/ada/x.mjs',
      }),
    );
    assert.ok(!text.includes('ada'));
    assert.ok(text.includes('folder: ~\\runs\\one-1'));
    assert.ok(diagnosis(found({ home: '/' })).includes('/home/ada/project'));
  });

  it('keeps a log apart from the text around it, whatever the log has', () => {
    const text = diagnosis(found({ log: '```\n# not a title\n```' }));
    assert.ok(text.includes('````text\n```\n# not a title\n```\n````'));
  });
});

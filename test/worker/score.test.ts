import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { responseText, segmentsOf } from '../../src/core/tree.ts';
import { openRun, type Run } from '../../src/run/reader.ts';
import { runCommandLine } from '../../src/worker/commands.ts';
import type { Equipment } from '../../src/worker/equipment.ts';
import { score, type ScoreRequest } from '../../src/worker/score.ts';
import { scriptedPolicy } from '../fakes/scriptedPolicy.ts';
import { makeTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';

/** Under the weights of step n a token's log p is −(1 + its id and its position) / (n + 1), and its entropy n. */
const scoring: Equipment = {
  ...tinyEquipment(),
  openPolicy: async settings => {
    const step = Number(/step-(\d+)$/.exec(settings.folder)?.[1] ?? 0);
    const policy = scriptedPolicy(() => ({ text: '' }));
    policy.score = trees =>
      Promise.resolve(
        trees.map(({ ids, positions }) => ({
          logProbs: Float32Array.from(ids, (id, i) => -(1 + id + positions[i]!) / (step + 1)),
          entropies: new Float32Array(ids.length).fill(step),
        })),
      );
    return { policy, info: await policy.open(settings) };
  },
};

describe('score', () => {
  let parent: string;
  let run: Run;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'score-'));
    run = openRun((await makeTinyRun(parent, { steps: 2 })).folder);
  });
  after(() => rmSync(parent, { recursive: true }));

  const ask = (request: Partial<ScoreRequest> = {}) =>
    score(run, scoring, {
      tree: '1.1',
      path: 2,
      checkpoints: ['initial', 'step-000002'],
      progress: () => undefined,
      signal: new AbortController().signal,
      ...request,
    });

  it('tells both log-probabilities and entropies of each token that the policy wrote, at its place on the trajectory', async () => {
    const { names, before, after } = await ask();
    assert.deepEqual(names, ['initial', 'step-000002']);
    const tree = await run.tree('1.1');
    const { ids } = await run.columns('1.1');
    let token = 0;
    for (const index of segmentsOf(tree, 2)) {
      const { kind, start, count } = tree.segments[index]!;
      for (let at = start; at < start + count; at++, token++) {
        const expected = kind === 'model' ? 1 + ids[at]! + token : NaN;
        assert.equal(before.logProbs[token], -expected);
        assert.equal(after.logProbs[token], Math.fround(-expected / 3));
        assert.deepEqual(
          [before.entropies[token], after.entropies[token]],
          kind === 'model' ? [0, 2] : [NaN, NaN],
        );
      }
    }
    assert.equal(before.logProbs.length, token);
    assert.ok(responseText(tree, 2).length > 0);
  });

  it('takes checkpoints by their number, says which it is at, and can be called off', async () => {
    const said: string[] = [];
    const { names } = await ask({ checkpoints: ['2', 'initial'], progress: words => said.push(words) });
    assert.deepEqual(names, ['step-000002', 'initial']);
    assert.deepEqual(said, ['scoring under step-000002', 'scoring under initial']);
    const ending = new AbortController();
    await assert.rejects(ask({ signal: ending.signal, progress: () => ending.abort() }), /called off/);
    await assert.rejects(ask({ path: 9 }), /Tree 1\.1 has no trajectory 9/);
    await assert.rejects(ask({ checkpoints: ['initial', 'step-9'] }), /has no checkpoint step-000009/);
  });

  it('closes the policy that is still scoring when it is called off', async () => {
    const ending = new AbortController();
    let closed = 0;
    const equipment: Equipment = {
      ...scoring,
      openPolicy: async (settings, signal) => {
        const opened = await scoring.openPolicy(settings, signal);
        opened.policy.score = () => {
          ending.abort();
          return new Promise<never>(() => undefined);
        };
        opened.policy.close = () => Promise.resolve(void closed++);
        return opened;
      },
    };
    const { signal } = ending;
    const request = { tree: '1.1', path: 2, progress: () => undefined, signal };
    const asked = score(run, equipment, { ...request, checkpoints: ['initial', '2'] });
    await assert.rejects(asked, /Scoring was called off/);
    assert.equal(closed, 1);
  });

  it('refuses what is called the initial policy and is another by now, or gone', async () => {
    const { path } = run.manifest.config.policy;
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, '{"other": 1}\n');
    await assert.rejects(ask({ checkpoints: ['initial', '2'] }), /is not the one that the run began with/);
    rmSync(path);
    await assert.rejects(
      ask({ checkpoints: ['2', 'initial'] }),
      /^FailureError: The policy that the run began with is not at .* any more\.$/,
    );
    writeFileSync(path, text);
  });

  it('says on the command line what is missing', async () => {
    const said = async (...argv: string[]): Promise<string> => {
      let err = '';
      const io = { out: { write: () => 0 }, err: { write: (text: string) => (err += text) } };
      assert.equal(await runCommandLine(['score', run.folder, ...argv], io), 2);
      return err;
    };
    assert.match(await said('--tree', '1.0'), /--tree and --path are needed/);
    const place = ['--tree', '1.0', '--path', '0'];
    assert.match(await said(...place), /--checkpoints is needed/);
    assert.match(await said(...place, '--checkpoints', '1,2,3'), /two of step-N and initial/);
  });
});

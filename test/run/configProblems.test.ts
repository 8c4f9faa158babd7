import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { configHints } from '../../src/extension/configHints.ts';
import { edited } from '../../src/run/configEdit.ts';
import type { LocatedProblem } from '../../src/run/configFile.ts';
import { examineConfig } from '../../src/run/configProblems.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';

describe('a configuration that is typed', () => {
  let folder: string;
  const file = (): string => join(folder, 'typed.branchpoint.json');
  const problems = (text: string): readonly LocatedProblem[] => examineConfig(text, file()).problems;
  const codes = (text: string): string[] => problems(text).map(({ code, key }) => `${code} ${key}`);
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'branchpoint-typed-'));
    await makeTinyModel(join(folder, 'policy'));
    writeFileSync(join(folder, 'tasks.jsonl'), '{"question":"1 + 1?","answer":"2"}\n');
    mkdirSync(join(folder, 'empty'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const text = (more: object = {}, policy = 'policy'): string =>
    JSON.stringify(
      {
        ...{ policy: { path: policy }, data: { train: 'tasks.jsonl' } },
        rollout: { maxPromptTokens: 64, maxResponseTokens: 64 },
        ...more,
      },
      null,
      2,
    );

  it('has no problem where a run would start', () => assert.deepEqual(problems(text()), []));

  it('is told what a launch would refuse: missing files, a folder that is no policy, a context too short', () => {
    assert.deepEqual(codes(text({ data: { train: 'none.jsonl' } })), ['missing-file data.train']);
    assert.deepEqual(codes(text({}, 'nothing')), ['missing-file policy.path']);
    const own = (command: string[]): string => text({ reward: { custom: { command, folder: 'gone' } } });
    assert.deepEqual(codes(own(['python3', 'mine.py'])), ['missing-file reward.custom.folder']);
    assert.deepEqual(codes(own([])), [], 'nothing runs in it');
    assert.match(problems(text({}, 'empty'))[0]!.message, /empty, which has no config\.json/);
    assert.match(problems(text({}, 'tasks.jsonl'))[0]!.message, /which is not a folder/);
    const long = text({ rollout: { maxResponseTokens: 100_000 } });
    const [context] = problems(long);
    assert.equal(`${context?.code} ${context?.key}`, 'context rollout.maxResponseTokens');
    assert.equal(long.slice(context!.offset, context!.offset + context!.length), '100000');
  });

  it('is told of missing files together with mistakes of its keys', () => {
    const wrong = {
      stepz: 3,
      data: { train: 'none.jsonl', heldOut: '' },
      tools: { search: { corpus: 'gone.jsonl' } },
    };
    assert.deepEqual(codes(text(wrong, 'nothing')).sort(), [
      'missing-file data.train',
      'missing-file policy.path',
      'missing-file tools.search.corpus',
      'unknown-key stepz',
    ]);
    const twice = text().replace('{', '{ "steps": 1, "steps": 2,').replace('tasks.jsonl', 'none.jsonl');
    assert.deepEqual(codes(twice), ['repeated-key steps', 'missing-file data.train']);
    assert.deepEqual(codes(`${text()} {`), ['not-json '], 'what is no JSON names nothing');
  });

  /** One text for each way to be wrong; all that is offered must mend what it is offered for. */
  const WRONG: Record<string, object> = {
    'a misspelt key': { stepz: 3 },
    'a key in a wrong place': { groupSize: 8 },
    'a misspelt group': { optimiser: { learningRate: 1e-5 } },
    'an unknown key': { colour: 'red' },
    'a number too small': { rollout: { groupSize: 1 } },
    'a number as text': { steps: '12' },
    'a truth as text': { evaluation: { before: 'false' } },
    'a misspelt choice': { device: 'gpu' },
    'a group that is none': { rollout: 3 },
    'no policy': { policy: {} },
    'no data': { data: {} },
    webgpu: { device: 'webgpu' },
    'more from the prompt than fit': { rollout: { groupSize: 4, initialRollouts: 8 } },
    'a budget without branches': { preset: 'grpo', algorithm: { budget: 'paper' } },
    'branches without a preset for them': { preset: 'grpo', rollout: { initialRollouts: 4 } },
    'updates that do not divide': { rollout: { tasksPerStep: 10 }, algorithm: { updatesPerStep: 4 } },
    'a threshold that is not given': { rollout: { gate: 'threshold' } },
    'a threshold upstream': { rollout: { gate: 'threshold', threshold: 0.5, rule: 'upstream' } },
    'a limit action of the other rule': { rollout: { limitAction: 'append-end-trained' } },
    'a turn longer than the response': { rollout: { maxTurnTokens: 100, maxResponseTokens: 50 } },
    'sequence ratios with hard credit': { algorithm: { ratio: 'sequence', credit: 'hard' } },
    'no baseline by group': { algorithm: { baseline: 'none' } },
    'turns and batches': { algorithm: { credit: 'step', scale: 'batch-std' } },
    'a dual clip below 1': { algorithm: { dualClip: 0.5 } },
    'an evaluation without tasks': { evaluation: { tasks: 5 } },
    'a warm-up longer than the run': { steps: 3, optimizer: { warmupSteps: 5 } },
    'two places to search': { tools: { search: { url: 'http://localhost:1', corpus: 'tasks.jsonl' } } },
    'a cassette without a file': { tools: { cassette: { mode: 'record' } } },
    'a limit of no tool': { tools: { limits: { fly: 3 } } },
    'a tag twice': {
      tools: { custom: [{ tag: 'python', command: ['x'] }] },
    },
    'a tool with nothing to run': { tools: { custom: [{ tag: 'mine' }] } },
    'a reward with two': { reward: { custom: { module: 'tasks.jsonl', command: ['x'] } } },
  };
  for (const [what, change] of Object.entries(WRONG))
    it(`is mended by every change that is offered for ${what}`, () => {
      const wrong = text(change);
      const found = problems(wrong).find(({ code }) => code !== 'context');
      assert.ok(found, wrong);
      assert.ok(found.remedies.length > 0, found.message);
      for (const remedy of found.remedies) {
        const mended = edited(wrong, remedy);
        assert.notEqual(mended, wrong, JSON.stringify(remedy));
        const same: LocatedProblem[] = problems(mended).filter(
          ({ key, message }) => key === found.key && message === found.message,
        );
        assert.deepEqual(same, [], `${JSON.stringify(remedy)} in ${mended}`);
      }
    });

  it('says what it amounts to behind its keys', () => {
    const own = `{
  "steps": 40,
  "policy": { "path": "policy" }, "data": { "train": "tasks.jsonl" },
  "memoryMB": 2000,
  "rollout": { "tasksPerStep": 8, "groupSize": 16, "maxPromptTokens": 64, "maxResponseTokens": 64 },
  "algorithm": { "updatesPerStep": 4 }
}`;
    const dryRun = { at: '2026-01-01T00:00:00.000Z', hash: '', seconds: 12.4, bytes: 4e8, isIdle: false };
    const hints = configHints(examineConfig(own, file()), own, { ...dryRun, isOfThisText: true });
    const shown = hints.map(
      ({ offset, label }) =>
        `${own
          .slice(0, offset)
          .split(/[{,\n]/)
          .at(-1)!
          .trim()} ${label}`,
    );
    assert.deepEqual(shown.slice(0, 2), [
      '"tasksPerStep": 8 → 8 × 16 = 128 trajectories a step',
      '"updatesPerStep": 4 → 4 updates of 32 trajectories',
    ]);
    assert.ok(hints.every(({ label }) => label.length <= 43));
    assert.match(shown[2]!, /^"memoryMB": 2000 → up to \d+ MB of 2\.1 GB in training$/);
    assert.equal(shown[3], '"steps": 40 dry run: 12 s a step, 8 min, 400 MB');
    const bare = `{ "policy": { "path": "policy" }, "data": { "train": "tasks.jsonl" } }`;
    const [first] = configHints(examineConfig(bare, file()), bare, undefined);
    assert.deepEqual([first?.offset, first?.label], [1, '→ 128 × 16 = 2,048 trajectories a step']);
    assert.deepEqual(configHints(examineConfig('{', file()), '{', undefined), []);
  });
});

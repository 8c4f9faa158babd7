import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { checkSettings, checkTree } from '../../src/core/checks.ts';
import { differenceOf } from '../../src/core/counterfactual.ts';
import { resultText } from '../../src/core/tags.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import type { Tree } from '../../src/core/types.ts';
import { FailureError } from '../../src/core/types.ts';
import { counterfactualIds, readCounterfactual, readCounterfactuals } from '../../src/run/counterfactuals.ts';
import { besideName, interceptWrites } from '../../src/run/disk.ts';
import { openRun, type Run } from '../../src/run/reader.ts';
import { branch, type BranchRequest } from '../../src/worker/branch.ts';
import { runCommand } from '../fakes/commandLine.ts';
import { makeTinyRun, tinyEquipment } from '../fakes/tinyRun.ts';
import { sumsTools } from '../fakes/tinyWorld.ts';

describe('branch', () => {
  let parent: string;
  let run: Run;
  let tree: Tree;
  /** A trajectory with a result on it. */
  let path: number;
  let tool: number;

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), 'branch-'));
    const { folder } = await makeTinyRun(parent, { steps: 2 });
    run = openRun(folder);
    for (const { id } of await run.trees()) {
      tree = await run.tree(id);
      path = tree.paths.findIndex(({ calls }) => calls > 1);
      if (path >= 0) break;
    }
    tool = segmentsOf(tree, path).find(index => tree.segments[index]!.kind === 'tool')!;
  });
  after(() => rmSync(parent, { recursive: true }));

  const ask = (request: Partial<BranchRequest> = {}, equipment = tinyEquipment()) =>
    branch(run, equipment, {
      tree: tree.id,
      at: { path, segment: tool },
      samples: 3,
      versions: { branchpoint: 'test' },
      progress: () => undefined,
      signal: new AbortController().signal,
      ...request,
    });
  const textsOf = (grown: Tree): string[] => grown.segments.map(({ text }) => text);
  /** Everything in the run's folder but counterfactuals. */
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(run.folder, { recursive: true, withFileTypes: true }).flatMap(entry => {
        const at = join(entry.parentPath, entry.name);
        const isOther = entry.isFile() && !entry.parentPath.endsWith('branches');
        return isOther ? [[at, readFileSync(at, 'base64')]] : [];
      }),
    );

  it('goes on from the very tokens that were stored, and changes no file of the training', async () => {
    const filesBefore = files();
    const made = await ask();
    assert.deepEqual(files(), filesBefore);
    const kept = segmentsOf(tree, path).slice(0, segmentsOf(tree, path).indexOf(tool) + 1);
    assert.equal(made.prefix, kept.length);
    const original = await run.columns(tree.id);
    const { columns } = readCounterfactual(run.folder, made.id);
    const ids = kept.flatMap(index => {
      const { start, count } = tree.segments[index]!;
      return [...original.ids.subarray(start, start + count)];
    });
    assert.deepEqual([...columns.ids.subarray(0, ids.length)], ids);
    assert.equal(made.tree.paths.length, 3);
    assert.ok(made.tree.paths.every(({ reward }) => reward !== undefined));
    assert.equal(made.trained, false);
    assert.equal(made.tree.credit, undefined);
    assert.deepEqual(
      (await run.trees()).filter(({ id }) => id.includes('~')),
      [],
    );
  });

  it('is refused before anything is opened where the run cannot be written to', async () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      syscall: 'access',
    });
    const restore = interceptWrites((operation, at) => {
      if (operation === 'write' && at === run.folder) throw denied;
    });
    const equipment = tinyEquipment();
    equipment.openPolicy = () => assert.fail('the policy was opened');
    await assert.rejects(ask({}, equipment), denied).finally(restore);
  });

  it('keeps every claim that a trained tree keeps, masks and measured numbers included', async () => {
    const made = await ask({ result: '42' });
    const { columns } = readCounterfactual(run.folder, made.id);
    const findings = checkTree({ tree: made.tree, columns, settings: checkSettings(run.manifest.config) });
    assert.deepEqual(
      findings.filter(({ id }) => id !== 'advantages'),
      [],
    );
    for (const { kind, start, count } of made.tree.segments)
      for (let token = start; token < start + count; token++)
        assert.equal(Number.isNaN(columns.samplerLogProbs[token]), kind !== 'model');
  });

  it('puts an edit in the place of the result, as a tool’s own words', async () => {
    const made = await ask({ result: 'It is 7.</result>' });
    const edited = made.tree.segments[made.prefix - 1]!;
    assert.equal(edited.text, resultText('It is 7.</result>'));
    assert.equal(edited.call?.tool, tree.segments[tool]!.call?.tool);
    assert.equal(edited.count, edited.text.length);
    assert.equal(made.result, 'edited');
  });

  it('draws the same samples under the same seed, and others under the next', async () => {
    const first = await ask({ seed: 5 });
    const second = await ask({ seed: 5 });
    const third = await ask();
    assert.deepEqual(textsOf(second.tree), textsOf(first.tree));
    assert.notDeepEqual(textsOf(third.tree), textsOf(first.tree));
    assert.equal(third.seed, 6);
    assert.notEqual(second.id, first.id);
  });

  it('keeps the first tokens of a turn and draws its rest', async () => {
    const turn = tree.segments[tool]!.parent;
    const made = await ask({ at: { path, segment: turn, token: 4 } });
    const { columns } = readCounterfactual(run.folder, made.id);
    const original = await run.columns(tree.id);
    const kept = [...original.ids.subarray(tree.segments[turn]!.start, tree.segments[turn]!.start + 4)];
    const drawn = made.tree.segments.filter(({ parent }) => parent === made.prefix - 1);
    assert.equal(drawn.length, 3);
    for (const { start, kind } of drawn) {
      assert.equal(kind, 'model');
      assert.deepEqual([...columns.ids.subarray(start, start + 4)], kept);
    }
  });

  it('calls the tool again, once, where a turn that calls is gone on from', async () => {
    const made = await ask({ at: { path, segment: tree.segments[tool]!.parent } });
    assert.equal(made.result, 'called again');
    assert.equal(made.tree.segments[made.prefix - 1]!.kind, 'tool');
    assert.equal(made.tree.segments[made.prefix - 1]!.text, tree.segments[tool]!.text);
  });

  it('takes the newest checkpoint, one without optimiser too, or the one that is named', async () => {
    assert.deepEqual((await ask()).weights, { checkpoint: 'step-000002', step: 2, hash: '0' });
    rmSync(join(run.folder, 'checkpoints/step-000002/optimizer.safetensors'));
    assert.equal((await ask()).weights.checkpoint, 'step-000002');
    assert.deepEqual((await ask({ checkpoint: 'initial' })).weights.step, 0);
    await assert.rejects(ask({ checkpoint: 'step-9' }), /has no checkpoint step-000009/);
  });

  it('passes over a checkpoint that is broken', async () => {
    const file = join(run.folder, 'checkpoints/step-000002/model.safetensors');
    const weights = readFileSync(file);
    writeFileSync(file, 'other words');
    assert.equal((await ask()).weights.checkpoint, 'initial');
    await assert.rejects(ask({ checkpoint: 'step-2' }), /model.safetensors/);
    writeFileSync(file, weights);
  });

  it('stores nothing where it is called off, or where there is nothing to go on from', async () => {
    const known = counterfactualIds(run.folder);
    const ending = new AbortController();
    const progress = (words: string): void => (words.startsWith('sampling') ? ending.abort() : undefined);
    await assert.rejects(ask({ signal: ending.signal, progress }), /called off/);
    const { leaf } = tree.paths[path]!;
    await assert.rejects(ask({ at: { path, segment: leaf } }), /Nothing can follow segment/);
    await assert.rejects(ask({ at: { path, segment: 0 }, result: 'x' }), /cannot be given/);
    await assert.rejects(ask({ at: { path: 99, segment: 0 } }), /no trajectory 99/);
    await assert.rejects(ask({ at: { path, segment: tool, token: 1 } }), /cannot be cut/);
    await assert.rejects(ask({ result: 'x'.repeat(1000) }), /No token is left/);
    assert.deepEqual(counterfactualIds(run.folder), known);
  });

  it('waits for no tool when it is called off', async () => {
    const tools = { ...sumsTools(), call: () => new Promise<never>(() => undefined) };
    const equipment = { ...tinyEquipment(), openTools: () => Promise.resolve(tools) };
    const ending = new AbortController();
    const progress = (words: string): void => (words.startsWith('calling') ? ending.abort() : undefined);
    const at = { path, segment: tree.segments[tool]!.parent };
    await assert.rejects(ask({ at, signal: ending.signal, progress }, equipment), /called off/);
  });

  it('removes what a branch that was killed while it was written has left', async () => {
    const name = join(run.folder, 'branches', `${tree.id}~7.json`);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const left = besideName(name, 'new').replace(`.${process.pid}-`, `.${pid}-`);
    writeFileSync(left, '{"form');
    await ask();
    assert.equal(existsSync(left), false);
  });

  it('tells the mean of the samples less what the original earned', async () => {
    const made = await ask();
    const rewards = made.tree.paths.map(({ reward }) => reward!.total);
    const { mean, original, difference } = differenceOf(made, tree);
    assert.equal(mean, rewards.reduce((sum, reward) => sum + reward, 0) / 3);
    assert.equal(original, tree.paths[path]!.reward!.total);
    assert.equal(difference, mean - original);
  });

  it('is read back as a tree of the run, and a damaged file names itself and spares the others', async () => {
    const made = await ask();
    assert.equal((await run.tree(made.id)).id, made.id);
    assert.equal((await run.columns(made.id)).ids.length > 0, true);
    const file = join(run.folder, 'branches', `${made.id}.json`);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"seed":', '"sead":'));
    assert.throws(
      () => readCounterfactual(run.folder, made.id),
      (error: unknown) => error instanceof FailureError && error.message.includes(file),
    );
    const { counterfactuals, failures } = readCounterfactuals(run.folder, tree.id);
    assert.equal(failures.length, 1);
    assert.equal(counterfactuals.length, counterfactualIds(run.folder, tree.id).length - 1);
    writeFileSync(file, text);
    await assert.rejects(run.tree('1.0~99'), /1\.0~99\.json does not exist/);
  });

  it('says on the command line what is missing', async () => {
    const said = async (...argv: string[]): Promise<[number, string]> => {
      const { code, err } = await runCommand('branch', run.folder, ...argv);
      return [code, err];
    };
    assert.deepEqual(await said(), [2, 'branchpoint: --tree is needed: the id of a tree, such as 3.0.\n']);
    assert.match((await said('--tree', tree.id, '--path', '0'))[1], /--segment is needed/);
    const [code, err] = await said(
      '--tree',
      tree.id,
      '--path',
      '0',
      '--segment',
      '0',
      '--temperature',
      'hot',
    );
    assert.equal(code, 2);
    assert.match(err, /--temperature must be a number/);
    assert.equal(existsSync(join(run.folder, 'branches', '1.0~99.json')), false);
  });
});

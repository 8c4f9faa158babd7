import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { FailureError } from '../../src/core/types.ts';
import { evaluate, launch, runProgram } from '../../src/extension/workers.ts';

/** Stands in for the command line: says its arguments, a result, a failure, or nothing until it is ended. */
const PROGRAM = `
const [command, argument, ...rest] = process.argv.slice(2);
if (process.env.ELECTRON_RUN_AS_NODE !== '1') process.exit(9);
if (argument === 'bad') { process.emitWarning('SQLite is new.', 'ExperimentalWarning'); setImmediate(() => { process.stderr.write('branchpoint: bad:3:5 steps must be a whole number.\\n'); process.exit(2); }); }
else if (argument === 'slow') setInterval(() => undefined, 1000);
else if (command === 'train') process.stdout.write('working\\n/runs/' + argument + '-1 ' + rest.join(' ') + '\\n');
else { process.stderr.write('150/300 tasks\\n300/300 tasks\\n'); process.stdout.write('evaluating\\n' + JSON.stringify({ id: 'step-1-again-1', accuracy: 0.5, interval: [0.4, 0.6], tasks: 300, samples: 4, more: 1 }) + '\\n'); }
`;

describe('the program', () => {
  let folder: string;
  const program = () => ({ script: join(folder, 'program.cjs'), runtime: process.execPath });
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchpoint-workers-'));
    writeFileSync(program().script, PROGRAM);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('launches a run detached and tells its folder', async () => {
    assert.equal(await launch(program(), 'sample'), '/runs/sample-1 --detach');
  });

  it('gives the program’s own sentence where it refuses', async () => {
    await assert.rejects(
      launch(program(), 'bad'),
      (error: FailureError) =>
        error.failure.where === 'config' && error.message === 'bad:3:5 steps must be a whole number.',
    );
    await assert.rejects(
      runProgram({ script: 'x', runtime: join(folder, 'no-node') }, []),
      /no-node cannot be started/,
    );
  });

  it('reads an evaluation’s numbers, and how far it is', async () => {
    const told: string[] = [];
    const tell = (done: number, tasks: number): void => void told.push(`${done} of ${tasks}`);
    assert.deepEqual(await evaluate(program(), 'step-000001', new AbortController().signal, tell), {
      id: 'step-1-again-1',
      accuracy: 0.5,
      interval: [0.4, 0.6],
      tasks: 300,
      samples: 4,
    });
    assert.deepEqual(told, ['150 of 300', '300 of 300']);
  });

  it('ends an evaluation that is cancelled', async () => {
    const cancelled = new AbortController();
    const measured = evaluate(program(), 'slow', cancelled.signal, () => undefined);
    cancelled.abort();
    assert.equal(await measured, undefined);
  });
});

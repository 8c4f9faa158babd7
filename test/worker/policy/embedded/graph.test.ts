/** What a graph keeps when it is built, and what running it refuses. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'mocha';
import { FailureError } from '../../../../src/core/types.ts';
import { Graph } from '../../../../src/worker/policy/embedded/graph.ts';
import * as ops from '../../../../src/worker/policy/embedded/ops.ts';
import { compile, float32 } from '../../../../src/worker/policy/embedded/sessions.ts';
import type { Program, Tensor } from '../../../../src/worker/policy/embedded/sessions.ts';

async function withProgram(g: Graph, ask: (program: Program) => Promise<void>): Promise<void> {
  const program = await compile(g.build(), { threads: 1 });
  try {
    await ask(program);
  } finally {
    await program.release();
  }
}
const row = (...values: number[]): Tensor => float32(Float32Array.from(values));

describe('A graph', () => {
  it('runs for any length of a named dimension and reads its inputs anew each time', async () => {
    const g = new Graph();
    const x = g.input('x', ['n']);
    g.output('y', ops.add(g, ops.scale(g, x, 3), g.constant([1], [])));
    await withProgram(g, async program => {
      const values = Float32Array.of(1, 2);
      assert.deepEqual((await program.run({ x: float32(values) }))['y'], row(4, 7));
      values[0] = 5;
      assert.deepEqual((await program.run({ x: float32(values) }))['y'], row(16, 7));
      assert.deepEqual((await program.run({ x: row(0, 1, 2) }))['y'], row(1, 4, 7));
    });
  });

  it('leaves out what no output depends on', async () => {
    const g = new Graph();
    const [x, unused] = [g.input('x', [2]), g.input('unused', [2])];
    ops.multiply(g, x, unused);
    g.output('y', ops.exp(g, x));
    assert.deepEqual(g.liveInputs(), ['x']);
    await withProgram(g, async program => {
      assert.deepEqual(program.inputs, ['x']);
      assert.deepEqual((await program.run({ x: row(0, 0) }))['y'], row(1, 1));
    });
  });

  it('takes a value from outside that it could have computed', async () => {
    const g = new Graph();
    const x = g.input('x', [1]);
    const square = ops.multiply(g, x, x);
    const y = ops.scale(g, square, 2);
    g.replaceByInput('square', square);
    g.output('y', y);
    assert.deepEqual(g.liveInputs(), ['square']);
    await withProgram(g, async program =>
      assert.deepEqual((await program.run({ square: row(5) }))['y'], row(10)),
    );
  });

  it('computes only the outputs that are asked for', async () => {
    const g = new Graph();
    const x = g.input('x', [1]);
    g.output('a', ops.negate(g, x));
    g.output('b', ops.exp(g, x));
    await withProgram(g, async program =>
      assert.deepEqual(await program.run({ x: row(2) }, ['a']), { a: row(-2) }),
    );
  });

  it('encodes large and negative attributes', async () => {
    const g = new Graph();
    const x = g.input('x', [2, 300]);
    g.output(
      'last',
      g.node('Gather', [x, g.constant([-1], [1], 'int32')], [1, 300], { attributes: { axis: -2 } }),
    );
    await withProgram(g, async program => {
      const { last } = await program.run({
        x: float32(
          Float32Array.from({ length: 600 }, (_, i) => i),
          [2, 300],
        ),
      });
      assert.deepEqual([last!.data[0], last!.data[299]], [300, 599]);
    });
  });

  it('refuses shapes that do not fit and reshapes that cannot be inferred', () => {
    const g = new Graph();
    const a = g.input('a', ['n', 3]);
    assert.throws(() => ops.add(g, a, g.input('b', ['m', 3])), /\[n,3\] and \[m,3\] do not fit/);
    assert.throws(() => ops.reshape(g, a, [3, 'k', 'l']), /two dimensions are open/);
  });

  it('fails as a policy when it is no model or is fed wrongly', async () => {
    await assert.rejects(compile(Uint8Array.of(1, 2, 3), { threads: 1 }), (error: unknown) => {
      assert.ok(error instanceof FailureError);
      return (
        error.failure.where === 'policy' && error.message.startsWith('ONNX Runtime could not compile a graph')
      );
    });
    const g = new Graph();
    g.output('y', ops.exp(g, g.input('x', [2])));
    await withProgram(g, program =>
      assert.rejects(program.run({ x: row(1, 2, 3) }), /could not run a graph/),
    );
    await withProgram(g, program => assert.rejects(program.run({}), /could not run a graph/));
  });

  it('runs without ONNX Runtime collecting usage data in the home folder', async () => {
    const home = await mkdtemp(join(tmpdir(), 'branchpoint-home-'));
    const folder = new URL('../../../../src/worker/policy/embedded/', import.meta.url).href;
    const program = `
      const { Graph } = await import('${folder}graph.ts');
      const { exp } = await import('${folder}ops.ts');
      const { compile } = await import('${folder}sessions.ts');
      const g = new Graph();
      g.output('y', exp(g, g.input('x', [1])));
      await (await compile(g.build(), { threads: 1 })).release();`;
    try {
      const env = { ...process.env, HOME: home, XDG_CACHE_HOME: '', ORT_DISABLE_TELEMETRY: '' };
      await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env });
      assert.deepEqual(await readdir(home), []);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

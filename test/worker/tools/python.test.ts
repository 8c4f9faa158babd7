/** Examples of the Python tool in both sandboxes: ARPO's contract, and what its sandboxes are made of. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'mocha';
import { FailureError } from '../../../src/core/types.ts';
import { pyodideCommand } from '../../../src/worker/tools/pyodide.ts';
import { openPython } from '../../../src/worker/tools/python.ts';
import type { Tool, ToolResult } from '../../../src/worker/tools/tool.ts';

/** An odd number: command lines that carry it belong to this test. */
const OUTPUT_BYTES = 2_046;
const LIMITS = { timeoutMs: 1_000, memoryMB: 256, outputBytes: OUTPUT_BYTES, concurrency: 2 };

const leftBehind = (): string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && name !== String(process.pid))
    .map(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return ''; // It ended while we looked.
      }
    })
    .filter(line => line.includes(`"outputBytes":${OUTPUT_BYTES}`));

for (const sandbox of ['bubblewrap', 'pyodide'] as const) {
  describe(`python tool in ${sandbox}`, () => {
    let tool: Tool | undefined;
    const run = async (lines: string | readonly string[]): Promise<ToolResult> => {
      assert(tool);
      return tool.run(typeof lines === 'string' ? lines : lines.join('\n'), AbortSignal.timeout(50_000));
    };
    const prints = async (lines: string | readonly string[], text: string): Promise<void> =>
      assert.deepEqual(await run(lines), { outcome: 'ok', text });
    const fails = async (lines: string | readonly string[], text: RegExp): Promise<void> => {
      const result = await run(lines);
      assert.equal(result.outcome, 'error', result.text);
      assert.match(result.text, text);
    };

    before(async function () {
      try {
        tool = await openPython({ sandbox, ...LIMITS });
      } catch (error) {
        assert(error instanceof FailureError);
        console.log(`      skipped: ${error.message}`);
        this.skip();
      }
    });
    after(async () => {
      await tool?.close();
    });

    it('names the sandbox in use', () => {
      const pattern =
        sandbox === 'pyodide'
          ? /^Pyodide \d+\.\d+\.\d+ \(Python 3\.\d+\)$/
          : /^bubblewrap with Python 3\.\d+\.\d+$/;
      assert.match(tool?.description ?? '', pattern);
    });

    it('prints what the program prints and its last bare expression, stripped', async () => {
      await prints('print( 123 + 456 )', '579');
      await prints(['x = [1, 2]', 'x'], '[1, 2]');
      await prints(['print("a")', '"b"'], 'a\nb');
      await prints(['for i in range(2):', '    print(i)'], '0\n1');
      await prints(['  a = 1', '  a + 1'], '2');
      await prints(['text = """', '  kept', '"""', 'text.count(" ")'], '2');
      await prints('x = 3', 'The program printed nothing.');
      await prints(['import sys', 'print("out")', 'print("err", file=sys.stderr)'], 'out');
      await prints('"é 漢 😀"', 'é 漢 😀');
      await prints(
        ['import asyncio', 'async def f():', '  await asyncio.sleep(0)', '  return 5', 'asyncio.run(f())'],
        '5',
      );
    });

    it('gives the end of the traceback where the program fails', async () => {
      const frame = 'Traceback (most recent call last):\n  File "<string>", line 2, in <module>\n';
      assert.deepEqual(await run(['x = 0', '1 / x']), {
        outcome: 'error',
        text: `${frame}ZeroDivisionError: division by zero`,
      });
      assert.deepEqual(await run('print( 1 + )'), {
        outcome: 'error',
        text: 'File "<string>", line 1\n    print( 1 + )\nSyntaxError: invalid syntax',
      });
      await fails(
        ['def f(n): return f(n + 1)', 'f(0)'],
        /^.{0,900}\nRecursionError: maximum recursion depth exceeded$/s,
      );
      await fails('raise ValueError("x" * 9000)', /^x{1000}$/);
      await fails(['import sys', 'sys.exit(3)'], /^The program exited with status 3\.$/);
      await fails(['import sys', 'sys.exit("no")'], /^no$/);
      await fails('input()', /EOFError/);
      await fails('print("\0")', /null bytes/);
    });

    it('starts every program afresh, in an empty folder, with the same random numbers', async () => {
      await run([
        'import math, builtins, sys, os',
        'math.pi = 3',
        'builtins.len = None',
        'sys.path.clear()',
        'os.environ["A"] = "1"',
      ]);
      await run(['open("left", "w").write("x")', 'open("/tmp/left", "w").write("x")', 'kept = 1']);
      await prints(['import math, os', '[math.pi, len("abc"), os.listdir("."), os.listdir("/tmp"), "A" in os.environ, "kept" in globals()]'],
        "[3.141592653589793, 3, [], ['program'], False, False]"); // prettier-ignore
      const draw = ['import random', 'random.random(), hash("a")'];
      assert.deepEqual(await run(draw), await run(draw));
    });

    it('runs programs beside each other', async () => {
      const results = await Promise.all([1, 2, 3, 4, 5, 6].map(n => run(`print( ${n} * 7 )`)));
      assert.deepEqual(results.map(({ text }) => text), ['7', '14', '21', '28', '35', '42']); // prettier-ignore
    });

    it('cuts long output', async () => {
      const long = await run('print("a" * 5000 + "end")');
      assert.equal(long.outcome, 'too-large');
      assert.match(long.text, /^a{1023}\n\[… 2958 bytes left out …\]\na{1019}end$/);
    });

    it('sees neither files nor the environment of the host', async () => {
      process.env.BRANCHPOINT_SECRET = 'secret';
      await fails('open("/etc/passwd").read()', /FileNotFoundError/);
      await fails('open("/usr/x", "w")', /FileNotFoundError|OSError/);
      const environment = await run(['import os', 'str(dict(os.environ))']);
      delete process.env.BRANCHPOINT_SECRET;
      assert.doesNotMatch(environment.text, /secret|branchpoint|worker/i);
      assert.equal(existsSync('/tmp/program'), false);
    });

    it('survives programs that end the interpreter', async () => {
      await fails(['import os', 'os.abort()'], /ended/);
      await prints('1 + 1', '2');
    });

    if (sandbox === 'bubblewrap') {
      it('leaves no daemon and no file of a program', async () => {
        const daemon = [
          'if os.fork() == 0:',
          '  os.setsid()',
          '  if os.fork() == 0:',
          '    while True: open("/tmp/late", "w")',
          '  os._exit(0)',
        ];
        await prints(['import os', ...daemon, 'print("parent done")'], 'parent done');
        await prints(
          ['import os', 'len([p for p in os.listdir("/proc") if p.isdigit()]), os.listdir("/tmp")'],
          "(3, ['program'])",
        );
      });

      it('keeps programs out of the resident interpreter', async () => {
        await fails(['import os', 'open("/proc/%d/mem" % os.getppid(), "r+b")'], /PermissionError/);
        await fails(
          ['import os', 'os.kill(os.getppid(), 9)'],
          /^The program ended the Python interpreter\.$/,
        );
        const stopped = await run(['import os', 'os.kill(os.getppid(), 19)']);
        assert.equal(stopped.outcome, 'timed-out');
        await prints('1 + 1', '2');
      });
    } else {
      it('gives JavaScript no way out', async () => {
        await fails('import js', /ModuleNotFoundError/);
        await fails('import pyodide_js', /ModuleNotFoundError/);
        const escape = 'to_js([1]).constructor.constructor("return process")()';
        await fails(['from pyodide.ffi import to_js', escape], /Code generation from strings disallowed/);
        await fails(['from pyodide.code import run_js', 'run_js("process")'], /ModuleNotFoundError/);
      });

      it('replaces an interpreter whose own files were changed', async () => {
        await run('open("/lib/python314.zip", "w")');
        await prints(['import tomllib', 'tomllib.loads("a = 1")'], "{'a': 1}");
      });

      it('refuses to run in a process that has rights', () => {
        const command = pyodideCommand(LIMITS);
        assert(typeof command !== 'string');
        const args = command.args.slice(command.args.indexOf('--no-warnings'));
        const { stderr, stdout } = spawnSync(command.command, args, { env: {}, input: '', encoding: 'utf8' });
        assert.match(stderr, /cannot lock a child process down/);
        assert.equal(stdout, '');
      });
    }

    it('leaves no process behind when it is closed', async function () {
      if (!existsSync('/proc/self/cmdline')) {
        console.log('      skipped: there is no /proc here to look for processes in.');
        return this.skip();
      }
      assert.notDeepEqual(leftBehind(), []);
      const running = run(['import time', 'time.sleep(60)']);
      await tool?.close();
      assert.equal((await running).outcome, 'error');
      // What was in the sandbox ends with it, but not in the same instant.
      for (let tries = 0; tries < 100 && leftBehind().length > 0; tries++)
        await new Promise(done => setTimeout(done, 20));
      assert.deepEqual(leftBehind(), []);
      await assert.rejects(run('1'), /closed/);
    });
  });
}

/** Examples of programs of the user's own: overlapping answers, nonsense, endings. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, afterEach, describe, it } from 'mocha';
import type { OwnProgram } from '../../../src/core/configTools.ts';
import { Program, type Answer } from '../../../src/worker/own/program.ts';

const LOOP = `
const { createInterface } = require('node:readline');
let count = 0;
const tell = message => console.log(JSON.stringify(message));
createInterface({ input: process.stdin }).on('line', line => { const q = JSON.parse(line); count++; if (q.probe) return tell({ id: q.id, up: true }); BODY });
`;

describe('program of one’s own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-own-'));
  after(() => rmSync(folder, { recursive: true }));
  let program: Program | undefined;
  afterEach(async () => {
    await program?.close();
    program = undefined;
  });
  const open = async (own: Partial<OwnProgram>, timeoutMs = 20_000): Promise<Program> => {
    const check = (answer: Answer): void => {
      if (answer.up !== true) throw new Error('It is not up.');
    };
    const options = { timeoutMs, probe: { probe: true }, check };
    program = new Program({ module: '', command: [], folder, ...own }, options);
    await program.open();
    return program;
  };
  /** Answers the probe, then does this with every question `q`. */
  const answering = (body: string, timeoutMs?: number): Promise<Program> =>
    open({ command: [process.execPath, '-e', LOOP.replace('BODY', body)] }, timeoutMs);
  const signal = new AbortController().signal;
  const ask = (request: object): Promise<Answer> => program!.ask(request, signal);

  it('gives every caller its own answer, in whatever order they come', async () => {
    await answering('setTimeout(() => tell({ id: q.id, got: q.n, count }), 60 - 20 * q.n)');
    const answers = await Promise.all([1, 2, 3].map(n => ask({ n })));
    assert.deepEqual(answers.map(({ got }) => got), [1, 2, 3]); // prettier-ignore
    assert.equal(answers.every(({ count }) => count === 4), true); // prettier-ignore
  });

  it('is started again after its end, and says how it ended and what it said', async () => {
    await answering(
      'if (q.n === 1) { console.error("out of luck"); process.exit(3); } tell({ id: q.id, count })',
    );
    await assert.rejects(ask({ n: 1 }), {
      name: 'PassingError',
      message: /ended with status 3\. It said: out of luck$/,
    });
    assert.deepEqual(await ask({ n: 2 }), { count: 2 });
    await assert.rejects(Promise.all([ask({ n: 2 }), ask({ n: 1 }), ask({ n: 3 })]), {
      name: 'PassingError',
    });
  });

  it('is ended where it writes what is no answer', async () => {
    const nonsense: [string, RegExp][] = [
      ['console.log("debug")', /it wrote "debug" to its standard output.*standard error/],
      ['tell({ id: 99 })', /it wrote "\{\\"id\\":99\}"/],
      ['tell([1])', /it wrote "\[1\]"/],
    ];
    for (const [body, message] of nonsense) {
      await answering(body);
      await assert.rejects(ask({}), { name: 'PassingError', message });
      await program?.close();
    }
  });

  it('is ended where it keeps a caller waiting, and others may ask again', async () => {
    await answering('if (q.n !== 1) tell({ id: q.id, count })', 300);
    const waiting = ask({ n: 1 });
    await assert.rejects(waiting, { name: 'LateError', message: /did not answer within 0\.3 seconds/ });
    assert.deepEqual(await ask({ n: 2 }), { count: 2 });
  });

  it('says that a call was called off, and not that it was late', async () => {
    await answering('if (q.n !== 1) tell({ id: q.id, count })');
    const ending = new AbortController();
    const waiting = program!.ask({ n: 1 }, ending.signal);
    const heard = assert.rejects(waiting, { name: 'Error', message: /was called off\.$/ });
    await ask({ n: 2 });
    ending.abort();
    await heard;
    assert.deepEqual(await ask({ n: 3 }), { count: 2 });
  });

  it('passes on the error that it answers', async () => {
    await answering('tell({ id: q.id, error: "no such word" })');
    await assert.rejects(ask({}), { name: 'Error', message: 'no such word' });
  });

  it('says at the start what is wrong', async () => {
    const node = (script: string): Partial<OwnProgram> => ({ command: [process.execPath, '-e', script] });
    const wrong: [Partial<OwnProgram>, RegExp][] = [
      [
        { command: ['no-such-program'] },
        /^no-such-program cannot be started: there is no program no-such-program to be found from \/.*\.$/,
      ],
      [{ command: ['ls'], folder: join(folder, 'none') }, /ls cannot be started/],
      [node('process.exit(4)'), /ended with status 4/],
      [node(LOOP.replace('up: true', 'up: false')), /It is not up/],
    ];
    for (const [own, message] of wrong) {
      await assert.rejects(open(own), { message });
      await program?.close();
    }
  });

  it('runs in its folder and leaves no process behind, nor what that started', async () => {
    const script = LOOP.replace(
      'BODY',
      'const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"]); tell({ id: q.id, pids: [process.pid, child.pid], at: process.cwd() })',
    );
    writeFileSync(join(folder, 'family.cjs'), script);
    await open({ command: [process.execPath, 'family.cjs'] });
    const { pids, at } = await ask({});
    assert.equal(at, folder);
    await program?.close();
    await assert.rejects(ask({}), /is closed/);
    const isAlive = (pid: number): boolean => {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    };
    for (let tries = 0; tries < 100 && (pids as number[]).some(isAlive); tries++)
      await new Promise(done => setTimeout(done, 20));
    assert.deepEqual((pids as number[]).filter(isAlive), []);
  });

  it('ends with its caller, also where a signal ends that one and the program hears of nothing', async () => {
    const beats = join(folder, 'deaf');
    const deaf = `setInterval(() => require('node:fs').appendFileSync(${JSON.stringify(beats)}, '.'), 20)`;
    const caller = join(folder, 'caller.mts');
    const own = { module: '', command: [process.execPath, '-e', deaf], folder };
    const program = pathToFileURL(join(import.meta.dirname, '../../../src/worker/own/program.ts')).href;
    writeFileSync(
      caller,
      `import { Program } from ${JSON.stringify(program)};
      void new Program(${JSON.stringify(own)}, { timeoutMs: 60000, probe: {}, check: () => undefined }).open();`,
    );
    const child = spawn(process.execPath, [caller], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    while (!existsSync(beats)) await new Promise(done => setTimeout(done, 20));
    child.kill('SIGINT');
    assert.deepEqual(await ended, [null, 'SIGINT']);
    const before = statSync(beats).size;
    await new Promise(done => setTimeout(done, 120));
    assert.equal(statSync(beats).size, before, 'its heart still beats');
  });

  it('takes along what it started where it ends by itself', async () => {
    const beats = join(folder, 'beats');
    const script = LOOP.replace(
      'BODY',
      `require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => require('node:fs').appendFileSync('beats', '.'), 20)"], { stdio: "ignore" }).unref();
      const wait = setInterval(() => { if (require("node:fs").existsSync("beats")) process.exit(5); }, 20);`,
    );
    writeFileSync(join(folder, 'mother.cjs'), script);
    await open({ command: [process.execPath, 'mother.cjs'] });
    await assert.rejects(ask({}), /ended with status 5/);
    let before = -1;
    for (let looks = 0; looks < 20 && statSync(beats).size > before; looks++) {
      before = statSync(beats).size;
      await new Promise(done => setTimeout(done, 100));
    }
    assert.equal(statSync(beats).size, before, 'its heart still beats');
  });

  it('is ended where it writes a line without end', async () => {
    await answering('const more = () => process.stdout.write("x".repeat(1 << 20), more); more();');
    await assert.rejects(ask({}), { name: 'PassingError', message: /it wrote a line without end/ });
  });

  it('is closed although what it started has left it, and keeps its output open', async () => {
    const script = LOOP.replace(
      'BODY',
      'const child = require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => 0, 5000)"], { detached: true, stdio: "inherit" }); tell({ id: q.id, pid: child.pid })',
    );
    writeFileSync(join(folder, 'daemon.cjs'), script);
    await open({ command: [process.execPath, 'daemon.cjs'] });
    const { pid } = await ask({});
    await program?.close();
    // It lives still: the end was not waited for.
    process.kill(pid as number, 'SIGKILL');
  });

  describe('as a module', () => {
    const module = (name: string, text: string): Partial<OwnProgram> => {
      writeFileSync(join(folder, name), text);
      return { module: join(folder, name) };
    };

    it('answers, prints without harm, and throws', async () => {
      await open(
        module(
          'good.mjs',
          `console.log('loaded');
          export default async ({ probe, n }) => {
            console.log('asked');
            process.stdout.write('still');
            if (probe) return { up: true };
            if (n === 1) throw new Error('no luck');
            if (n === 4) return { twice: 8n };
            return n === 2 ? 3 : { twice: 2 * n };
          };`,
        ),
      );
      assert.deepEqual(await ask({ n: 21 }), { twice: 42 });
      await assert.rejects(ask({ n: 1 }), /^Error: Error: no luck \(good\.mjs:6:\d+\)$/);
      await assert.rejects(ask({ n: 2 }), /It returned no object/);
      await assert.rejects(ask({ n: 4 }), /BigInt/);
      assert.deepEqual(await ask({ n: 5 }), { twice: 10 });
    });

    it('says at the start what is wrong', async () => {
      const wrong: [string, string, RegExp][] = [
        ['none.mjs', 'export const reward = 1;', /no default export that is a function/],
        ['syntax.mjs', 'export default (', /SyntaxError/],
      ];
      for (const [name, text, message] of wrong) {
        await assert.rejects(open(module(name, text)), { message });
        await program?.close();
      }
    });
  });
});

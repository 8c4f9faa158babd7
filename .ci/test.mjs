/**
 * Runs all tests: unit, then in a real extension host, then end to end with the packaged extension in a real browser.
 * `node .ci/test.mjs [unit] [host] [e2e]`; files after a part's name run only those. Ends with one line `N passed, N failed, N skipped` and fails where a part does.
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(root, ...parts);
const node24 = at('.ci/node24.mjs');
const mocha = at('node_modules/mocha/bin/mocha.js');
const UNIT = ['test/*.test.ts', 'test/{core,protocol,run,worker,extension,webview,media}/**/*.test.ts'];
const E2E = ['test/e2e/*.test.mjs'];
const args = process.argv.slice(2);
const isFile = arg => arg.includes('.') || arg.includes('/');
const files = args.filter(isFile);
const total = { passing: 0, failing: 0, pending: 0 };
const isWindows = process.platform === 'win32';
/** Longer than any test may take. */
const SILENCE_MS = 5 * 60_000;
let running;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => (signal(name), process.exit(1)));

const PARTS = {
  unit: async () => run('Unit tests', [node24, mocha, ...(files.length > 0 ? files : UNIT)]),
  host: async () => {
    await run('Build', [at('.ci/build.mjs')]);
    await bundleHostTests();
    const workspace = at('out/workspace');
    await run('Workspace', [node24, at('test/host/workspace.ts'), workspace]);
    await run('Tests in a real extension host', [at('node_modules/@vscode/test-cli/out/bin.mjs')], {
      BRANCHPOINT_TEST_WORKSPACE: workspace,
    });
  },
  e2e: async () => {
    await run('Package', [at('.ci/package.mjs'), '--out', at('out/branchpoint.vsix')]);
    await run('End-to-end tests', [
      ...[node24, mocha, '--config', at('test/e2e/.mocharc.json')],
      ...(files.length > 0 ? files : E2E),
    ]);
  },
};

const wanted = args.filter(arg => !isFile(arg));
const unknown = wanted.find(name => !(name in PARTS));
if (unknown) throw new Error(`There is no part ${unknown}; there are ${Object.keys(PARTS).join(', ')}.`);
let failure;
for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) {
  try {
    await PARTS[name]();
  } catch (error) {
    failure ??= error;
    console.error(`\n${name}: ${error.message}`);
    if (total.failing === 0) total.failing = 1;
  }
}
console.log(`\n${total.passing} passed, ${total.failing} failed, ${total.pending} skipped`);
process.exit(failure ? 1 : 0);

/** mocha inside the extension host loads CommonJS; `vscode` and mocha come from there. */
async function bundleHostTests() {
  rmSync(at('out/host'), { recursive: true, force: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: files.length > 0 ? files : ['test/host/suite/*.test.ts'],
    outdir: 'out/host',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    external: ['vscode', 'mocha'],
    define: { 'import.meta.dirname': '__dirname' },
    logLevel: 'warning',
  });
}

/** Runs one program, shows what it prints and counts what mocha says; one that prints nothing for long hangs, and is ended. */
function run(title, args, environment = {}) {
  console.log(`\n${title}`);
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
      // A group of its own, so that all that it started ends with it.
      detached: !isWindows,
    });
    running = child;
    const hangs = () => {
      console.error(`\n${title}: nothing was heard for ${SILENCE_MS / 60_000} minutes.`);
      signal('SIGTERM');
      setTimeout(signal, 10_000, 'SIGKILL').unref();
    };
    let silence = setTimeout(hangs, SILENCE_MS);
    child.stdout.setEncoding('utf8');
    let rest = '';
    child.stdout.on('data', text => {
      clearTimeout(silence);
      silence = setTimeout(hangs, SILENCE_MS);
      process.stdout.write(text);
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) count(line);
    });
    child.on('exit', code => {
      clearTimeout(silence);
      count(rest);
      if (code === 0) done();
      else fail(new Error(`${title} ended with ${code}.`));
    });
  });
}

function signal(name) {
  try {
    if (running) process.kill(isWindows ? running.pid : -running.pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function count(line) {
  const match = /^\s*(\d+) (passing|failing|pending)\b/.exec(stripVTControlCharacters(line));
  if (match) total[match[2]] += Number(match[1]);
}

/**
 * A real VS Code for tests: its server as a child process, and its workbench in a headless browser. Knows nothing of
 * Branchpoint. Ends only what it started, by process id, and removes its temporary folder.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { end, processesOf } from '../processes.mjs';
import { findBrowser, setUpHost } from './setup.mjs';

const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'git.enabled': false,
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
};

/** Folder of the server's program, and the Node that runs it. */
export function hostProgram(which = 'current') {
  const host = setUpHost(which);
  const program = join(host, 'node_modules/code-server/lib/vscode');
  return {
    node: join(host, `node_modules/node-linux-${process.arch}/bin/node`),
    server: join(program, 'out/server-main.js'),
    version: JSON.parse(readFileSync(join(program, 'package.json'), 'utf8')).version,
  };
}

/** A temporary home for one VS Code, the current one or the minimum. `extensions` is its extensions folder, kept where it is given. */
export function makeHome({ settings = {}, extensions, host = 'current' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'branchpoint-vscode-'));
  const user = join(folder, 'user');
  mkdirSync(join(user, 'User'), { recursive: true });
  writeFileSync(join(user, 'User/settings.json'), JSON.stringify({ ...QUIET, ...settings }));
  return { host, folder, user, extensions: extensions ?? join(folder, 'extensions') };
}

/** Installs a VSIX into a home. */
export function installExtension(home, vsix) {
  const { node, server } = hostProgram(home.host);
  const args = [
    server,
    '--accept-server-license-terms',
    '--server-data-dir',
    home.folder,
    '--user-data-dir',
    home.user,
    '--extensions-dir',
    home.extensions,
    '--install-extension',
    resolve(vsix),
  ];
  const { status, stdout, stderr } = spawnSync(node, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The VSIX could not be installed:\n${stdout}${stderr}`);
  return stdout;
}

/** Starts the server. With `driver` the workbench obeys a test run's payload, and shows no toasts. */
export async function startServer(home, { driver = false, trust = true, environment = {} } = {}) {
  const { node, server } = hostProgram(home.host);
  const port = await freePort();
  const args = [
    server,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--without-connection-token',
    '--accept-server-license-terms',
    '--server-data-dir',
    home.folder,
    '--user-data-dir',
    home.user,
    '--extensions-dir',
    home.extensions,
    '--telemetry-level',
    'off',
    '--reconnection-grace-time',
    '1',
  ];
  if (driver) args.push('--enable-smoke-test-driver');
  if (trust) args.push('--disable-workspace-trust');
  // The server's sockets and temporary files go into its own folder, so that they go away with it.
  const temporary = join(home.folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const env = { ...process.env, ...environment, XDG_RUNTIME_DIR: home.folder, TMPDIR: temporary };
  delete env.ELECTRON_RUN_AS_NODE;
  delete env.VSCODE_IPC_HOOK_CLI;
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const keep = data => (log = (log + data).slice(-20_000));
  child.stderr.on('data', keep);
  const exited = new Promise(done => child.once('exit', done));
  await new Promise((done, fail) => {
    child.stdout.on(
      'data',
      data => /Extension host agent started|Web UI available/.test(keep(data)) && done(),
    );
    void exited.then(code => fail(new Error(`The VS Code server ended with ${code}.\n${log}`)));
  });
  return {
    authority: `127.0.0.1:${port}`,
    pid: child.pid,
    log: () => log,
    exited,
    async close() {
      await stop(child, exited);
      await childrenGone(temporary);
    },
  };
}

/** Starts a browser with one page. */
export async function startBrowser({ width = 1400, height = 900 } = {}) {
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
  const context = await browser.newContext({ viewport: { width, height } });
  const page = await context.newPage();
  return { browser, page, close: () => browser.close() };
}

/** Address of the workbench on a folder. */
export function workbenchUrl(server, folder, payload = []) {
  const query = folder ? `folder=${encodeURIComponent(resolve(folder))}` : 'ew=true';
  const extra = [...payload, ['skipWelcome', 'true'], ['skipReleaseNotes', 'true']];
  return `http://${server.authority}/?${query}&payload=${encodeURIComponent(JSON.stringify(extra))}`;
}

export function removeHome(home) {
  if (existsSync(home.folder))
    rmSync(home.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

function freePort() {
  return new Promise(done => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** The server's own children outlive it for a moment and write their logs, which would bring a removed home back. */
async function childrenGone(temporary) {
  const left = () => processesOf(temporary).filter(({ line }) => line.includes('--type='));
  for (const limit = Date.now() + 5000; left().length > 0 && Date.now() < limit;) await wait(50);
  left().forEach(end);
}

async function stop(child, exited) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exited;
  clearTimeout(timer);
}

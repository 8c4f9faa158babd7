#!/usr/bin/env node
/**
 * Runs its arguments with a Node that has node:sqlite with FTS5 and type stripping (>= 22.18): this one where it is new
 * enough, else the one from the optional dependency. Passes signals on and exits as its child did.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);
const bundled = fileURLToPath(
  new URL(`../node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url),
);
if (!isNewEnough && !existsSync(bundled)) {
  console.error(
    `Branchpoint needs Node 22.18 or newer; this is ${process.versions.node}. Install a current Node and try again.`,
  );
  process.exit(1);
}
const child = spawn(isNewEnough ? process.execPath : bundled, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code ?? 1)));

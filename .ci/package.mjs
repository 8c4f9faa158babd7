/**
 * Builds one VSIX with only the target's native files, offline: `node .ci/package.mjs [--target linux-x64] [--out FILE]`.
 * Knows nothing of what is in the bundles. Ends with the file's name and size.
 */
import { mkdirSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
    out: { type: 'string' },
  },
});
const out = values.out ?? join(root, 'out', `branchpoint-${values.target}.vsix`);
mkdirSync(dirname(out), { recursive: true });

run([join(root, '.ci/build.mjs'), '--production', '--target', values.target]);
const target = values.target === 'none' ? [] : ['--target', values.target];
run([
  join(root, 'node_modules/@vscode/vsce/vsce'),
  'package',
  '--no-dependencies',
  '--skip-license',
  '--allow-missing-repository',
  '--no-rewrite-relative-links',
  ...target,
  '--out',
  out,
]);
console.log(`${out} ${(statSync(out).size / 1e6).toFixed(1)} MB`);

function run(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args[0]} failed:\n${stdout}${stderr}`);
}

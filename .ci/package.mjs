/**
 * Builds one VSIX with only the target's native files, offline: `node .ci/package.mjs [--target linux-x64] [--out FILE]`; with `--all`
 * one for every platform that onnxruntime-node has native files for, and one without any, which can show runs but not train.
 * Knows nothing of what is in the bundles. Ends with each file's name and size, and fails where one is too big.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const HERE = `${process.platform}-${process.arch}`;
/** A VSIX is downloaded by every user at every update. */
const MOST_BYTES = 60e6;
const { values } = parseArgs({
  options: {
    target: { type: 'string', default: HERE },
    out: { type: 'string' },
    all: { type: 'boolean', default: false },
  },
});
if (values.all) for (const target of [...targets(), 'none']) pack(target, defaultOut(target));
else pack(values.target, values.out ?? defaultOut(values.target));
// What the last package was built for may not run here.
if (values.all || values.target !== HERE) run([join(root, '.ci/build.mjs')]);

function targets() {
  const native = join(root, 'node_modules/onnxruntime-node/bin/napi-v6');
  return readdirSync(native).flatMap(platform =>
    readdirSync(join(native, platform)).map(arch => `${platform}-${arch}`),
  );
}

function defaultOut(target) {
  return join(root, 'out', `branchpoint-${target === 'none' ? 'universal' : target}.vsix`);
}

function pack(target, out) {
  mkdirSync(dirname(out), { recursive: true });
  run([join(root, '.ci/build.mjs'), '--production', '--target', target]);
  run([
    join(root, 'node_modules/@vscode/vsce/vsce'),
    'package',
    '--no-dependencies',
    '--skip-license',
    '--allow-missing-repository',
    '--no-rewrite-relative-links',
    ...(target === 'none' ? [] : ['--target', target]),
    '--out',
    out,
  ]);
  const { size } = statSync(out);
  console.log(`${out} ${(size / 1e6).toFixed(1)} MB`);
  if (size > MOST_BYTES) throw new Error(`${out} has ${size} bytes; at most ${MOST_BYTES} are allowed.`);
}

function run(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args[0]} failed:\n${stdout}${stderr}`);
}

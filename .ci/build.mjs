/**
 * Bundles the extension, the worker, its child programs and the webviews into dist/, with the files that they open at run
 * time. Knows nothing of what they do. `--target linux-x64` takes that platform's native files (default: this one's; `none` for none);
 * `--production` minifies.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(root, ...parts);
const { values } = parseArgs({
  options: {
    production: { type: 'boolean', default: false },
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
  },
});

/** onnxruntime-node finds its native file beside its own sources; in a bundle it stands in dist/native. */
const nativeRuntime = {
  name: 'native-runtime',
  setup(build) {
    build.onLoad({ filter: /onnxruntime-node[\\/]dist[\\/]binding\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(
        /require\(`[^`]*onnxruntime_binding\.node`\)/,
        'require(require("node:path").join(__dirname, "native", `${process.platform}-${process.arch}`, "onnxruntime_binding.node"))',
      );
      if (contents === source)
        throw new Error('onnxruntime-node/dist/binding.js no longer requires its native file as expected.');
      return { contents, loader: 'js' };
    });
  },
};

/** parquetjs-lite's generated types assign to names that nobody declared, which strict code, as bundles are, refuses. */
const declaredTypes = {
  name: 'declared-types',
  setup(build) {
    build.onLoad({ filter: /parquetjs-lite[\\/]gen-nodejs[\\/]parquet_types\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(/^(\w+) = module\.exports\.\1 =/gm, 'var $1 = module.exports.$1 =');
      if (contents === source) throw new Error(`${path} no longer assigns to undeclared names as expected.`);
      return { contents, loader: 'js' };
    });
  },
};

/** parquetjs-lite and its node-int64 make buffers in a way that Node warns of where it does not come out of a node_modules folder, as in bundles. */
const plainBuffers = {
  name: 'plain-buffers',
  setup(build) {
    build.onLoad({ filter: /(thrift-lite|node-int64)[\\/]\w+\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replaceAll('new Buffer(', 'bufferOf(');
      const bufferOf =
        'const bufferOf = (of, encoding) => typeof of === "number" ? Buffer.alloc(of) : Buffer.from(of, encoding);';
      return { contents: contents === source ? source : `${contents}\n${bufferOf}\n`, loader: 'js' };
    });
  },
};

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: values.production,
  sourcemap: values.production ? false : 'linked',
  logLevel: 'warning',
  outdir: 'dist',
};
const node = {
  ...shared,
  platform: 'node',
  format: 'cjs',
  target: 'node22',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.dirname': '__dirname' },
  // jsonc-parser's CommonJS form is UMD, which cannot be bundled; its ES modules can.
  mainFields: ['module', 'main'],
};
const browser = {
  ...shared,
  platform: 'browser',
  format: 'iife',
  target: 'es2023',
  tsconfig: 'webview/tsconfig.json',
  loader: { '.svg': 'text' },
};

rmSync(at('dist'), { recursive: true, force: true });
const entries = JSON.parse(readFileSync(at('.ci/entries.json'), 'utf8'));
await Promise.all([
  esbuild.build({
    ...node,
    entryPoints: entries.host,
    external: ['vscode'],
    plugins: [declaredTypes, plainBuffers],
  }),
  esbuild.build({
    ...node,
    entryPoints: entries.worker,
    plugins: [nativeRuntime, declaredTypes, plainBuffers],
  }),
  esbuild.build({ ...browser, entryPoints: entries.webview }),
]);

for (const file of readdirSync(at('dist')).filter(name => name.endsWith('.cjs')))
  if (readFileSync(at('dist', file), 'utf8').includes('new Buffer('))
    throw new Error(`dist/${file} still has "new Buffer(", of which Node would warn users.`);

if (values.target !== 'none') {
  const [platform, arch] = values.target.split('-');
  const native = at('node_modules/onnxruntime-node/bin/napi-v6', platform, arch);
  if (!existsSync(native)) throw new Error(`onnxruntime-node has no native files for ${values.target}.`);
  cpSync(native, at('dist/native', values.target), { recursive: true });
}
mkdirSync(at('dist/pyodide'), { recursive: true });
for (const file of entries.pyodide) cpSync(at('node_modules/pyodide', file), at('dist/pyodide', file));
for (const file of ['codicon.css', 'codicon.ttf'])
  cpSync(at('node_modules/@vscode/codicons/dist', file), at('dist/webview', file));

const schema = spawnSync(process.execPath, [at('.ci/node24.mjs'), at('.ci/schema.ts')], { encoding: 'utf8' });
if (schema.status !== 0) throw new Error(`The config schema could not be written:\n${schema.stderr}`);
writeFileSync(at('dist/config.schema.json'), schema.stdout);

/** What a packaged extension consists of: for each platform its own native files, nothing that only developers need, and no more bytes than allowed. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { after, before, describe, it } from 'mocha';

const VSIX = 'out/branchpoint.vsix';

describe('the package', () => {
  let folder;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'branchpoint-'))));
  after(() => rmSync(folder, { recursive: true }));

  it('has this platform’s native files only, and nothing that only developers need', () => {
    const names = [...filesIn(VSIX).keys()];
    assert.deepEqual(platformsOf(names), [`${process.platform}-${process.arch}`]);
    const unwanted = /node_modules|\.map$|\.ts$|sample\/make|extension\/(src|test|webview|\.ci)\//;
    assert.deepEqual(
      names.filter(name => unwanted.test(name)),
      [],
    );
    for (const wanted of [
      'dist/extension.cjs',
      'dist/branchpoint.cjs',
      'media/sample/sample.branchpoint.json',
    ])
      assert.ok(names.includes(`extension/${wanted}`), wanted);
  });

  it('is at most 60 MB', () => {
    assert.ok(readFileSync(VSIX).length <= 60e6);
  });

  it('is built for another platform with that platform’s native files, from the same checkout and offline', () => {
    const out = join(folder, 'other.vsix');
    const { status, stderr } = spawnSync(
      process.execPath,
      ['.ci/package.mjs', '--target', 'win32-x64', '--out', out],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    const files = filesIn(out);
    const names = [...files.keys()];
    assert.deepEqual(platformsOf(names), ['win32-x64']);
    assert.ok(names.includes('extension/dist/native/win32-x64/onnxruntime.dll'));
    assert.match(files.get('extension.vsixmanifest')().toString(), /TargetPlatform="win32-x64"/);

    // Installed here by mistake, it says so in a sentence.
    for (const name of names.filter(name => /^extension\/dist\/\w+\.cjs$/.test(name)))
      writeFileSync(join(folder, basename(name)), files.get(name)());
    const told = spawnSync(
      process.execPath,
      [
        ...[join(folder, 'branchpoint.cjs'), 'train', 'media/sample/sample.branchpoint.json'],
        ...['--out', join(folder, 'runs'), '--steps', '1'],
      ],
      { encoding: 'utf8' },
    );
    assert.equal(told.status, 1);
    assert.match(told.stdout + told.stderr, /has no ONNX Runtime for linux-x64: it can show runs/);
    assert.doesNotMatch(told.stdout + told.stderr, /\n\s+at /);
  });
});

const platformsOf = names => [
  ...new Set(names.flatMap(name => /^extension\/dist\/native\/([^/]+)\//.exec(name)?.[1] ?? [])),
];

/** Names in a ZIP file, from its directory, each with a function that reads the file. */
function filesIn(path) {
  const zip = readFileSync(path);
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06'));
  const files = new Map();
  for (let at = zip.readUInt32LE(end + 16), left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [name, extra, comment] = [28, 30, 32].map(offset => zip.readUInt16LE(at + offset));
    const [packed, start] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 42)];
    files.set(zip.toString('utf8', at + 46, at + 46 + name), () => {
      const from = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
      return inflateRawSync(zip.subarray(from, from + packed));
    });
    at += 46 + name + extra + comment;
  }
  return files;
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'mocha';

const root = join(import.meta.dirname, '..');

/** Which room may import which other rooms. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  protocol: ['core'],
  run: ['core', 'protocol'],
  worker: ['core', 'protocol', 'run'],
  extension: ['core', 'protocol', 'run'],
  webview: ['core', 'protocol'],
};

interface Import {
  from: string;
  to: string;
}

const files = [...list('src'), ...list('webview')].filter(
  path => path.endsWith('.ts') && !path.endsWith('.d.ts'),
);
const imports = files.flatMap(importsOf);

function list(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)));
}

function importsOf(from: string): Import[] {
  const source = readFileSync(join(root, from), 'utf8');
  return [
    ...source.matchAll(/^(?:import|export)\s+(?:type\s)?(?:[\w*{},\s]+?\sfrom\s+)?['"]([^'"]+)['"];/gm),
  ].map(match => {
    const to = match[1]!;
    return {
      from,
      to: to.startsWith('.') ? relative(root, join(root, dirname(from), to)) : to,
    };
  });
}

const roomOf = (path: string): string => (path.startsWith('webview/') ? 'webview' : path.split('/')[1]!);
const isOurs = (path: string): boolean => path.startsWith('src/') || path.startsWith('webview/');

describe('the house', () => {
  it('has files in every room, so that the checks below see something', () => {
    for (const room of Object.keys(MAY_IMPORT))
      assert.ok(
        files.some(file => roomOf(file) === room),
        room,
      );
    assert.ok(imports.length > 100);
  });

  it('lets imports go only in the direction of the architecture', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        isOurs(to) && roomOf(from) !== roomOf(to) && !MAY_IMPORT[roomOf(from)]!.includes(roomOf(to)),
    );
    assert.deepEqual(wrong, []);
  });

  it('imports only files that exist', () => {
    assert.deepEqual(
      imports.filter(({ to }) => isOurs(to) && !to.endsWith('.css') && !files.includes(to)),
      [],
    );
  });

  it('has no cycle of imports, those of types included', () => {
    const next = new Map<string, string[]>();
    for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      assert.ok(!trail.includes(file), `cycle: ${[...trail, file].join(' → ')}`);
      if (done.has(file)) return;
      for (const other of next.get(file) ?? []) visit(other, [...trail, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
  });

  it('keeps vscode in the extension, ONNX Runtime in one file, and node: out of core, protocol and webview', () => {
    assert.deepEqual(
      [...new Set(imports.filter(({ to }) => to === 'vscode').map(({ from }) => roomOf(from)))],
      ['extension'],
    );
    assert.equal(
      new Set(imports.filter(({ to }) => to === 'onnxruntime-node').map(({ from }) => from)).size,
      1,
    );
    assert.deepEqual(
      imports.filter(
        ({ from, to }) => to.startsWith('node:') && ['core', 'protocol', 'webview'].includes(roomOf(from)),
      ),
      [],
    );
  });

  it('begins every file with what it is', () => {
    assert.deepEqual(
      files.filter(file => !/^(#!.*\n)?\/\*\*/.test(readFileSync(join(root, file), 'utf8'))),
      [],
    );
  });
});

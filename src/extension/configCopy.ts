/** Copies of configurations: a clone with a name of its own, and the text of a configuration with every key. Knows nothing of VS Code. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits, modify } from 'jsonc-parser';
import type { Config } from '../core/config.ts';
import { mapPaths, pathFrom } from '../run/manifest.ts';

/** `<name>-2<suffix>`, with the smallest number from 2 that no file in the folder has; a number in the name is counted on. */
export function freshPath(folder: string, name: string, suffix: string): { path: string; name: string } {
  const base = name.replace(/-\d+$/, '');
  for (let number = 2; ; number++) {
    const fresh = `${base}-${number}`;
    const path = join(folder, `${fresh}${suffix}`);
    if (!existsSync(path)) return { path, name: fresh };
  }
}

/** The text with another name, its comments kept; runs of the clone are then told from those of the original. */
export function renamed(text: string, name: string): string {
  const edits = modify(text, ['name'], name, {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' },
    getInsertionIndex: () => 0,
  });
  return applyEdits(text, edits);
}

/** A configuration with every key, its paths as a file in the folder names them. */
export function configText(config: Config, folder: string): string {
  const there = mapPaths(config, path => pathFrom(folder, path));
  return `// Every key as a run had it.\n${JSON.stringify(there, null, 2)}\n`;
}

/** Says what a run's configuration file says otherwise by now than when the run began. Knows nothing of what is done about it. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { differencesOf } from '../core/runComparison.ts';
import { checkConfigText } from './configFile.ts';
import { FILES } from './layout.ts';
import { readManifest } from './manifest.ts';

/** A file that was changed, and the keys whose values it changes; none where it holds no configuration any more. */
export interface ConfigChange {
  file: string;
  keys: string[];
}

/**
 * Undefined where the file is gone, unknown, or says the same. What the command line said instead does not count: the text that the
 * run began with is compared with the text that is there.
 */
export function configChangeOf(runFolder: string): ConfigChange | undefined {
  const { configFile: file } = readManifest(runFolder);
  const texts = [join(runFolder, FILES.config), file ?? ''].map(textOf);
  const [before, now] = texts;
  if (file === undefined || before === undefined || now === undefined || before === now) return undefined;
  const [was, is] = [before, now].map(text => checkConfigText(text, file));
  if (!was || !is || 'problems' in was || 'problems' in is) return { file, keys: [] };
  const runs = [was, is].map(({ config }) => ({ config, hashes: {}, versions: {} }));
  const keys = differencesOf(runs).map(({ key }) => key);
  return keys.length === 0 ? undefined : { file, keys };
}

function textOf(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    // Gone, or not to be read: then nothing can be said of it, and nothing needs it.
    return undefined;
  }
}

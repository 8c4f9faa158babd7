/** Where the editor put the sample, and the run that it launched there. Knows nothing of the window. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FILES } from '../../src/run/layout.ts';
import { liveLock } from '../../src/run/lock.ts';

/** Path of the one configuration under a folder. */
export function sampleConfig(folder) {
  const paths = readdirSync(folder, { recursive: true }).filter(path => path.endsWith('.branchpoint.json'));
  const [path, other] = paths.filter(path => !path.includes('/runs/'));
  assert.ok(path && !other, paths.join('\n'));
  return join(folder, path);
}

/** However quick the machine is, the run must still go on when the story ends. */
export function goOnForLong(config) {
  const text = readFileSync(config, 'utf8');
  const longer = text.replace(/"steps": \d+/, '"steps": 4000');
  assert.notEqual(longer, text);
  writeFileSync(config, longer);
}

/** Folder of a run with a live worker, where there is one yet. */
export function liveRunIn(folder) {
  const lock = readdirSync(folder, { recursive: true }).find(path => basename(path) === FILES.lock);
  const found = lock && dirname(join(folder, lock));
  return found && liveLock(found) ? found : undefined;
}

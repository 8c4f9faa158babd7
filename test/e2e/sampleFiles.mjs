/** The sample as files: where the editor put it and what was launched there, or a project of it with recorded runs. Knows nothing of the window. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** A project with the sample's files and its recorded run. Returns the run's folder. */
export function makeProject(folder) {
  const sample = 'media/sample';
  cpSync(sample, folder, { recursive: true, filter: path => !/sample\/(make|run)(\/|$)/.test(path) });
  const run = join(folder, 'runs/recorded');
  cpSync(join(sample, 'run'), run, { recursive: true });
  return run;
}

/** Beside the recorded run one that differs in its learning rate and was interrupted after some steps. Returns its folder. */
export function makeOtherRun(recorded, { name, steps, learningRate }) {
  const folder = join(dirname(recorded), name);
  cpSync(recorded, folder, { recursive: true });
  const change = (file, edit) =>
    writeFileSync(join(folder, file), edit(readFileSync(join(folder, file), 'utf8')));
  change(FILES.manifest, text => {
    const manifest = JSON.parse(text);
    manifest.config.name = name;
    manifest.config.optimizer.learningRate = learningRate;
    return JSON.stringify({ ...manifest, name: `${name}-1` });
  });
  const upTo = text =>
    text
      .split('\n')
      .filter(line => line !== '' && JSON.parse(line).step <= steps)
      .map(line => `${line}\n`)
      .join('');
  change(FILES.events, upTo);
  change(FILES.trees, upTo);
  return folder;
}

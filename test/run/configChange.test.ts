/** What a run's configuration file says otherwise by now. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { configChangeOf } from '../../src/run/configChange.ts';
import { openRun } from '../../src/run/reader.ts';
import { runCommand, writeConfig, writeTasks } from '../fakes/commandLine.ts';
import { makeTinyModel } from '../fakes/tinyModel.ts';
import { inFolder } from './fixtures.ts';

describe('a configuration that was changed after its run began', () => {
  it('is told by its keys when the run is resumed, whatever the command line had said', () =>
    inFolder(async folder => {
      await makeTinyModel(join(folder, 'model'));
      writeTasks(folder);
      const file = writeConfig(folder, 'mine');
      const text = readFileSync(file, 'utf8');
      await runCommand('train', file, '--steps', '1');
      const run = join(folder, 'runs/mine-1');
      assert.equal(openRun(run).manifest.config.steps, 1);
      assert.equal(configChangeOf(run), undefined);
      writeFileSync(file, `// A remark.\n${text}`);
      assert.equal(configChangeOf(run), undefined, 'it says the same');
      writeFileSync(
        file,
        text.replace('"steps": 2', '"steps": 9').replace('"groupSize": 4', '"groupSize": 5'),
      );
      assert.deepEqual(configChangeOf(run), { file, keys: ['steps', 'rollout.groupSize'] });
      const { code, err } = await runCommand('resume', run);
      assert.equal(code, 0);
      assert.match(
        err,
        /^note: mine\.branchpoint\.json says otherwise by now \(steps, rollout\.groupSize\), but the run goes on as it began/,
      );
      writeFileSync(file, '{');
      assert.deepEqual(configChangeOf(run), { file, keys: [] });
      rmSync(file);
      assert.equal(configChangeOf(run), undefined);
    }));
});

/** Other reward settings for a run, from a file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import type { RewardConfig } from '../../src/core/configTools.ts';
import { readRewardFile } from '../../src/run/rewardFile.ts';
import { inFolder } from './fixtures.ts';

describe('a file of reward settings', () => {
  async function read(text: string): Promise<RewardConfig> {
    const config = structuredClone(defaults('arpo'));
    config.policy.path = 'policy';
    config.data.train = 'tasks.jsonl';
    config.reward.accuracy = 'f1';
    config.reward.custom.module = '/own.mjs';
    let found = config.reward;
    await inFolder(folder => {
      writeFileSync(join(folder, 'reward.json'), text);
      found = readRewardFile(join(folder, 'reward.json'), config);
    });
    return found;
  }

  it('changes the run’s where it holds reward keys', async () => {
    const { accuracy, custom } = await read('{ "accuracy": "exact" }');
    assert.deepEqual([accuracy, custom.module], ['exact', '/own.mjs']);
    assert.equal((await read('{ "custom": {} }')).custom.module, '');
  });

  it('takes their place where it is a whole config', async () => {
    const { accuracy, custom } = await read(
      '{ "policy": { "path": "p" }, "reward": { "accuracy": "exact" } }',
    );
    assert.deepEqual([accuracy, custom.module], ['exact', '']);
    const silent = await read('{ "policy": { "path": "p" } }');
    assert.deepEqual([silent.accuracy, silent.custom.module], ['auto', '']);
  });

  it('is refused with its line and key where it is wrong', async () => {
    await assert.rejects(
      read('{\n  "acuracy": "exact"\n}'),
      /reward\.json:2:\d+ reward\.acuracy is not a key/,
    );
    await assert.rejects(
      read('{\n  "reward": "exact"\n}'),
      /reward\.json:2:\d+ reward holds keys of its own/,
    );
  });
});

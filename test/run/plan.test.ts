import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { defaults } from '../../src/core/config.ts';
import { checkArithmetic } from '../../src/run/plan.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  script: string;
  tasksPerStep: number;
  groupSize: number;
  updatesPerStep: number;
  batch: number[];
}

describe('the plan of a step', () => {
  for (const { script, tasksPerStep, groupSize, updatesPerStep, batch } of goldenRows<Row>('batches'))
    it(`cuts it as the ${script} script does (V10)`, () => {
      const config = defaults('arpo');
      Object.assign(config.rollout, { tasksPerStep, groupSize });
      config.algorithm.updatesPerStep = updatesPerStep;
      const [check] = checkArithmetic(config, 10_000);
      const numbers = /= (\d+) a step, in (\d+) updates of about (\d+);/.exec(check!.message);
      assert.deepEqual(numbers?.slice(1).map(Number), batch);
    });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { initialOf, rootShare } from '../../src/core/preMonitoring.ts';
import { goldenRows } from '../golden/read.ts';

interface Row {
  total: number;
  root: number;
  tool: number;
  initial: number;
  share: number;
}

describe('entropy pre-monitoring', () => {
  for (const { total, root, tool, initial, share } of goldenRows<Row>('preMonitoring'))
    it(`starts ${initial} of ${total} from a prompt of entropy ${root} with turns of ${tool} (V4)`, () => {
      const found = rootShare(total, root, tool);
      assert.ok(Math.abs(found - share) < 1e-3, `${found}`);
      assert.equal(initialOf('upstream', total, found), initial);
      assert.equal(initialOf('paper', total, found), Math.max(1, Math.round(share)));
    });

  it('stays between 1 and the whole group', () => {
    for (const form of ['paper', 'upstream'] as const)
      for (const root of [-100, -3, 0, 3, 100]) {
        const initial = initialOf(form, 6, rootShare(6, root, 0));
        assert.ok(initial >= 1 && initial <= 6, `${form} ${root}: ${initial}`);
      }
  });
});

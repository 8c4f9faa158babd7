import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { countText, type CheckStatus } from '../../src/core/checkup.ts';

const counted = (...statuses: CheckStatus[]): string =>
  countText(statuses.map(status => ({ id: 'data', status, message: 'As it is.' })));

describe('the count of checks', () => {
  it('says in one word that all are ok, and else begins with the worst', () => {
    assert.equal(counted('ok', 'ok'), '2 checks, all ok');
    assert.equal(counted('ok', 'warning', 'error', 'ok'), '4 checks: 1 wrong, 1 to look at, 2 ok');
    assert.equal(counted('error'), '1 check: 1 wrong');
    assert.equal(counted(), '0 checks');
  });
});

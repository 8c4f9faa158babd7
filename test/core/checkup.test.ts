import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { checkupLines, countText, wrong, type CheckStatus } from '../../src/core/checkup.ts';

const counted = (...statuses: CheckStatus[]): string =>
  countText(statuses.map(status => ({ id: 'data', status, message: 'As it is.' })));

describe('checks as lines', () => {
  const lineOf = (message: string, line?: number): string =>
    checkupLines([
      wrong('data', message, { file: '/a/tasks.jsonl', ...(line !== undefined && { line }) }),
    ])[0]!;

  it('name the place once, where the message begins with it and where it does not', () => {
    assert.equal(
      lineOf('/a/tasks.jsonl, row 2: answer is missing.', 2),
      '✗ data  /a/tasks.jsonl:2 row 2: answer is missing.',
    );
    assert.equal(lineOf('/a/tasks.jsonl has no rows.'), '✗ data  /a/tasks.jsonl has no rows.');
    assert.equal(lineOf('It is empty.', 7), '✗ data  /a/tasks.jsonl:7 It is empty.');
  });
});

describe('the count of checks', () => {
  it('says in one word that all are ok, and else begins with the worst', () => {
    assert.equal(counted('ok', 'ok'), '2 checks, all ok');
    assert.equal(counted('ok', 'warning', 'error', 'ok'), '4 checks: 1 wrong, 1 to look at, 2 ok');
    assert.equal(counted('error'), '1 check: 1 wrong');
    assert.equal(counted(), '0 checks');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { decimals, duration, number, signed, spoken } from '../../../webview/shared/format.ts';

describe('numbers as people read them', () => {
  it('shows what was not measured as a dash, never as 0', () => {
    assert.equal(number(undefined), '–');
    assert.equal(number(Number.NaN), '–');
    assert.equal(number(0), '0');
  });

  it('keeps three significant digits or so, with a true minus', () => {
    assert.equal(number(0.1234), '.12');
    assert.equal(number(-12.345), '−12.3');
    assert.equal(number(0.00123), '.0012');
    assert.equal(number(0.00499), '.005');
    assert.equal(number(1234567), '1,234,567');
    assert.deepEqual([999, 1000, -12345.6].map(number), ['999', '1,000', '−12,346']);
    assert.equal(number(0.0000021), '2.1e−6');
    assert.equal(number(-0.0004), '−4.0e−4');
  });

  it('has a zero before the point where it is read aloud or stands before a unit', () => {
    assert.deepEqual([0.1234, -0.5, 0.00123, 1, 10.04, undefined].map(spoken), [
      ...['0.12', '−0.50', '0.0012', '1', '10.0', '–'],
    ]);
  });

  it('gives numbers in a column the same digits after the point', () => {
    assert.deepEqual(
      [1, 0.545, -0.125, undefined].map(one => decimals(one)),
      ['1.00', '.55', '−.13', '–'],
    );
  });

  it('signs an advantage', () => {
    assert.deepEqual([1.214, -0.9, 0].map(signed), ['+1.21', '−.90', '0']);
  });

  it('says a duration in the two units that matter', () => {
    assert.deepEqual([3.21, 42, 200, 7500].map(duration), ['3.2 s', '42 s', '3 min 20 s', '2 h 5 min']);
  });
});

/** Fields by the examples of the wire format's own description. */
import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { double, float, integer, message, string } from '../../src/core/protobuf.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('fields of protocol buffers', () => {
  it('are written as the format’s description has them', () => {
    assert.equal(hex(integer(1, 150)), '089601');
    assert.equal(hex(string(2, 'testing')), '120774657374696e67');
    assert.equal(hex(message(3, [integer(1, 150)])), '1a03089601');
  });

  it('have numbers beyond 32 bits, negative ones, and fields beyond 15', () => {
    assert.equal(hex(integer(1, 2 ** 40)), '08808080808020');
    assert.equal(hex(integer(1, -2)), '08feffffffffffffffff01');
    assert.equal(hex(integer(16, 1)), '800101');
  });

  it('have floating-point numbers in little-endian order', () => {
    assert.equal(hex(float(2, 1)), '150000803f');
    assert.equal(hex(double(1, 1)), '09000000000000f03f');
  });
});

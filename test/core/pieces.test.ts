import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  decodePieces,
  encodePieces,
  makePieces,
  pieceOf,
  textOf,
  textOffsets,
} from '../../src/core/pieces.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
/** ' a', then 🦙 (F0 9F A6 99) in two pieces, then 'b'. */
const pieces = makePieces([text(' a'), bytes(0xf0, 0x9f), bytes(0xa6, 0x99), text('b'), bytes()]);

describe('pieces', () => {
  it('give each id its bytes, and an id outside the vocabulary none', () => {
    assert.deepEqual([...pieceOf(pieces, 1)], [0xf0, 0x9f]);
    assert.equal(pieceOf(pieces, 4).length, 0);
    assert.equal(pieceOf(pieces, 5).length, 0);
    assert.equal(pieceOf(pieces, -1).length, 0);
  });

  it('decode a character that two tokens share', () => {
    assert.equal(textOf(pieces, [0, 1, 2, 3]), ' a🦙b');
    assert.equal(textOf(pieces, [0, 1]), ' a\ufffd');
  });

  it('give such a character to the token that completes it', () => {
    assert.deepEqual([...textOffsets(pieces, [0, 1, 2, 3])], [0, 2, 2, 4, 5]);
    assert.deepEqual([...textOffsets(pieces, [0, 1])], [0, 2, 3]);
  });

  it('come back from their buffer, also at an odd address', () => {
    const encoded = encodePieces(pieces);
    const shifted = new Uint8Array(encoded.length + 1);
    shifted.set(encoded, 1);
    assert.deepEqual(decodePieces(shifted.subarray(1)), pieces);
  });

  it('are refused where the buffer is cut or its offsets descend', () => {
    const encoded = encodePieces(pieces);
    for (const length of [0, 3, 10, encoded.length - 1])
      assert.throws(() => decodePieces(encoded.subarray(0, length)), /piece table/);
    const twisted = encoded.slice();
    twisted[8] = 99;
    assert.throws(() => decodePieces(twisted), /offsets/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { intStream } from '../extension/random.ts';
import { cut, shorten, wrap, wrappedRange } from '../../src/core/wrap.ts';

describe('wrap', () => {
  it('breaks after the last space of a line’s second half, else at the width', () => {
    assert.deepEqual(wrap('aaaa bbb ccc', 10), { text: 'aaaa bbb \nccc', breaks: [9] });
    assert.deepEqual(wrap('aaaabbbbcccc', 5), { text: 'aaaab\nbbbcc\ncc', breaks: [5, 10] });
    assert.deepEqual(wrap('a bbbbbbbb', 6).breaks, [6]);
    assert.deepEqual(wrap('short\nlines\n', 10), { text: 'short\nlines\n', breaks: [] });
  });

  it('never breaks inside a surrogate pair', () => {
    assert.deepEqual(wrap('aaa😀b', 4), { text: 'aaa\n😀b', breaks: [3] });
  });

  it('maps every range of 200 random texts to the same characters, whatever was added between', () => {
    const next = intStream(3);
    for (let round = 0; round < 200; round++) {
      const text = Array.from({ length: next(80) }, () => 'ab \n😀é'[next(6)]).join('');
      const wrapped = wrap(text, 4 + next(12));
      const from = next(text.length + 1);
      const to = from + next(text.length - from + 1);
      const [start, end] = wrappedRange(wrapped, from, to);
      const added = wrapped.breaks.filter(at => at > from && at < to).length;
      assert.equal(end - start, to - from + added, `round ${round}`);
      if (added === 0) assert.equal(wrapped.text.slice(start, end), text.slice(from, to), `round ${round}`);
    }
  });

  it('cuts a long text, but no character', () => {
    assert.deepEqual(
      ['ab', 'abc', '😀😀'].map(text => cut(text, 3)),
      ['ab', 'abc', '😀…'],
    );
    assert.equal(cut('😀😀', 4), '😀😀');
  });

  it('are shortened to one line of at most the limit, the ellipsis included', () => {
    assert.equal(shorten(' a  b\nc', 10), 'a b c');
    assert.equal(shorten('abcdefghij', 5), 'abcd…');
    assert.equal(shorten('abc defghi', 5), 'abc…');
    assert.equal(shorten('abc😀defghi', 5), 'abc…', 'no half of a character');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { compare, normalise, parseNumber, wordF1 } from '../../src/core/answers.ts';

describe('answers', () => {
  it('reads numbers as people write them, and nothing else', () => {
    const read: [string, number | undefined][] = [
      ['1,234,567', 1234567],
      [' -3.50 ', -3.5],
      ['−3', -3],
      ['$12$', 12],
      ['1/2', 0.5],
      ['.5', 0.5],
      ['1e3', 1000],
      ['1/0', undefined],
      ['12,34', undefined],
      ['12 cm', undefined],
      ['', undefined],
      ['.', undefined],
      ['-', undefined],
      ['1e999', undefined],
      ['\\frac{1}{2}', undefined],
    ];
    for (const [text, value] of read) assert.equal(parseNumber(text), value, text);
  });

  it('normalises case, articles, punctuation and blanks', () => {
    assert.equal(normalise('  The Cat,\nand a “dog”. '), 'cat and “dog”');
  });

  it('takes no letters for an article inside a word of letters that are not ASCII', () => {
    assert.equal(normalise('the Doña Ana of Ağva'), 'doña ana of ağva');
    assert.equal(wordF1('ğva', 'Ağva'), 0);
  });

  it('counts repeated words as often as both sides have them', () => {
    assert.equal(wordF1('b b b', 'b b c'), 2 / 3);
  });

  it('takes the best reference, and choice A as text unless told F1 by the released code', () => {
    assert.equal(compare('NYC', ['New York', 'NYC'], 'exact'), 1);
    assert.equal(compare('a', ['A'], 'auto'), 1);
    assert.equal(compare('B', ['A'], 'f1'), 0);
    assert.equal(wordF1('A', 'A'), 0);
  });

  it('is 0, not F1, for words where a number is asked for', () => {
    assert.equal(compare('about 12', ['12'], 'number'), 0);
    assert.equal(compare('Paris', ['Paris'], 'number'), 0);
  });
});

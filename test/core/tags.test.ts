import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { callArgument, firstBlock, lastBoxed, resultText, tagOf } from '../../src/core/tags.ts';

describe('tags', () => {
  it('takes the text between the last closing tag and the nearest opening tag before it', () => {
    assert.equal(callArgument('<search> a </search> x <search> b\nc </search>', 'search'), 'b\nc');
    assert.equal(callArgument('<search> a <search> b </search>', 'search'), 'b');
    assert.equal(callArgument('a </search>', 'search'), '');
    assert.equal(callArgument('<search> a', 'search'), '');
    assert.equal(callArgument('<python>1</python>', 'search'), '');
  });

  it('names the tool of a stop string and writes results as ARPO does', () => {
    assert.equal(tagOf('</python>'), 'python');
    assert.equal(resultText('42'), ' <result>\n42\n</result>');
  });

  it('finds the first block and the last boxed value with balanced braces', () => {
    assert.equal(firstBlock('x <answer>a</answer> <answer>b</answer>', 'answer'), 'a');
    assert.equal(firstBlock('</answer><answer>b', 'answer'), undefined);
    assert.equal(lastBoxed('\\boxed{a} then \\boxed{\\frac{1}{2}} end'), '\\frac{1}{2}');
    assert.equal(lastBoxed('so $\\boxed 12$ it is'), '12');
    assert.equal(lastBoxed('\\boxed{1'), undefined);
    assert.equal(lastBoxed('nothing'), undefined);
  });
});

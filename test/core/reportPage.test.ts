import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { evaluationReport } from '../../src/core/evaluationReport.ts';
import { reportPage } from '../../src/core/reportPage.ts';
import { evaluationOf, right, wrong } from '../fakes/evaluations.ts';

const NASTY = `"><script src="http://evil.example/x.js">alert('1')</script><img onerror=x> & </pre>`;
const VOID = new Set(['!DOCTYPE', 'meta', 'rect']);

/** Reads the page strictly: returns its text, its tags and their attributes; fails on what is not well formed. */
function parse(html: string): { text: string; tags: Set<string>; attributes: Map<string, string[]> } {
  const style = /<style>([^]*?)<\/style>/.exec(html)!;
  assert.doesNotMatch(style[1]!, /url\(|@import|<|http/);
  const tags = new Set<string>();
  const attributes = new Map<string, string[]>();
  const open: string[] = [];
  let text = '';
  let at = 0;
  const page = html.replace(style[0], '');
  for (const found of page.matchAll(/<(\/?)([!\w]+)((?:\s+[\w-]+(?:="[^"<>]*")?)*)\s*(\/?)>/g)) {
    text += page.slice(at, found.index);
    at = found.index + found[0].length;
    const [, closes, tag, given, isClosed] = found;
    tags.add(tag!);
    for (const [, name, value] of given!.matchAll(/([\w-]+)(?:="([^"]*)")?/g))
      attributes.set(name!, [...(attributes.get(name!) ?? []), value ?? '']);
    if (closes) assert.equal(open.pop(), tag, page.slice(at - 80, at));
    else if (!VOID.has(tag!) && !isClosed) open.push(tag!);
  }
  text += page.slice(at);
  assert.deepEqual(open, []);
  assert.doesNotMatch(text, /[<>]/, 'no text is left unescaped');
  const decoded = text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
  return { text: decoded, tags, attributes };
}

describe('the page of a report', () => {
  const record = evaluationOf([
    [right(), wrong({ answer: NASTY, text: NASTY, reason: NASTY, pieces: [] })],
    [wrong(), wrong()],
  ]);
  record.outcomes[0]!.question = NASTY;
  record.outcomes[0]!.references = [NASTY];
  const other = evaluationOf([
    [wrong(), wrong()],
    [right(), right()],
  ]);
  other.outcomes[0]!.question = NASTY;
  const of = { run: NASTY, record };
  const html = reportPage(evaluationReport(of, { run: 'before', record: other }), record, other);

  it('is well formed, refers to nothing, runs nothing and escapes every text', () => {
    const { tags, attributes } = parse(html);
    for (const tag of ['script', 'img', 'link', 'iframe', 'a', 'base', 'object', 'form'])
      assert.ok(!tags.has(tag), tag);
    for (const [name, values] of attributes) {
      assert.doesNotMatch(name, /^(on\w+|src|href|srcset|action|xmlns)$/);
      for (const value of values) assert.doesNotMatch(value, /https?:|\/\//);
    }
  });

  it('has all sections, the failing samples’ text and both sides of what flipped', () => {
    const { text } = parse(html);
    for (const part of ['Accuracy', 'pass@k', 'Tool use', 'Lengths', 'Failures by reason', 'Provenance'])
      assert.ok(text.includes(part), part);
    assert.ok(text.includes(`── response ──\n${NASTY}`), 'text of a failing sample');
    assert.ok(text.includes('Flips against before · step-8'));
    assert.ok(text.includes('What is 1 + 4?'));
    assert.equal(
      text.split('# step-8 · task t1 (odd)').length - 1,
      4,
      'two failures, and both sides of a flip',
    );
  });

  it('says where nothing is wrong', () => {
    const fine = evaluationOf([[right()], [right()]]);
    assert.match(
      parse(reportPage(evaluationReport({ run: 'r', record: fine }), fine)).text,
      /None of 2 answers is wrong/,
    );
  });
});

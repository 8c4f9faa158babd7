import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { shell } from '../../src/extension/shell.ts';

const page = shell({
  view: 'tree',
  title: 'a"<b>',
  cspSource: 'https://own',
  nonce: 'N0',
  script: 'https://own/tree.js',
  styles: [{ href: 'https://own/tree.css' }, { href: 'https://own/codicon.css', id: 'icons' }],
});

describe('the page of a webview', () => {
  it('lets only its own script run, by nonce, and fetches nothing from elsewhere', () => {
    const policy = /content="(default-src[^"]*)"/.exec(page)![1]!;
    assert.equal(
      policy,
      "default-src 'none'; img-src https://own data:; font-src https://own; style-src https://own 'nonce-N0'; script-src 'nonce-N0'",
    );
    assert.equal(page.match(/<script/g)!.length, 1);
    assert.ok(page.includes('<script nonce="N0" src="https://own/tree.js">'));
    assert.ok(!/unsafe|\son\w+=|style="/.test(page));
  });

  it('says which view it is and escapes what it is given', () => {
    assert.ok(page.includes('<body data-view="tree">'));
    assert.ok(page.includes('<title>a&quot;&lt;b&gt;</title>'));
    assert.ok(page.includes('href="https://own/codicon.css" id="icons"'));
  });
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { element } from '../../../webview/shared/element.ts';

/** As much of a page as an element needs. */
const page = {
  createElement: () => {
    const attributes: Record<string, string> = {};
    return {
      attributes,
      setAttribute: (name: string, value: string) => void (attributes[name] = value),
      append: () => undefined,
    };
  },
};
const attributesOf = (given: Parameters<typeof element>[1]): unknown => element('div', given).attributes;

describe('an element', () => {
  const before = globalThis.document;
  beforeEach(() => Object.assign(globalThis, { document: page }));
  afterEach(() => Object.assign(globalThis, { document: before }));

  it('has what is true as HTML writes it, and as ARIA does: an empty aria-hidden hides nothing', () => {
    assert.deepEqual(attributesOf({ hidden: true, disabled: false, title: undefined }), { hidden: '' });
    assert.deepEqual(attributesOf({ 'aria-hidden': true, tabindex: 0 }), {
      'aria-hidden': 'true',
      tabindex: '0',
    });
  });
});

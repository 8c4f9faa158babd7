/** What a person does in the workbench, as verbs: palette, views, webviews. Waits on what is visible, never on time. */

const LONG = 60_000;

/** A person at a page that shows a workbench. */
export function userOf(page) {
  const command = async title => {
    await page.keyboard.press('F1');
    const input = page.locator('.quick-input-widget:not(.hidden) input.input, .quick-input-widget:visible input').first();
    await input.waitFor({ timeout: LONG });
    await page.keyboard.insertText(title);
    const row = page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    await row.waitFor({ timeout: LONG });
    await row.click();
  };
  return {
    page,
    command,
    /** Chooses a row of an open quick pick. */
    async pick(text) {
      const row = page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
      await row.waitFor({ timeout: LONG });
      await row.click();
    },
    async openSidebar(name) {
      const tab = page.getByRole('tab', { name: new RegExp(`^${name}`) }).first();
      await tab.waitFor({ timeout: LONG });
      if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
    },
    /** The frame of the webview that shows `selector` and, where given, whose text has `text`. */
    async view(selector, text) {
      return until(async () => {
        for (const frame of page.frames()) {
          const found = frame.locator(selector).first();
          if ((await visible(found)) && (text === undefined || (await found.innerText()).includes(text))) return frame;
        }
        return undefined;
      }, `a view that shows ${selector}${text === undefined ? '' : ` with “${text}”`}`);
    },
    row: text => page.locator('.pane-body .monaco-list-row', { hasText: text }).first(),
    reload: () => page.reload(),
  };
}

const visible = locator => locator.isVisible().catch(gone);

/** A frame may go away between two looks: then it shows nothing. */
function gone() {
  return false;
}

/** Looks again until `look` answers with something; fails with what was waited for. */
export async function until(look, what, limitMs = 90_000) {
  for (const end = Date.now() + limitMs; Date.now() < end; await new Promise(done => setTimeout(done, 150))) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`Waited ${limitMs / 1000} s in vain for ${what}.`);
}

/** What a person does in the workbench, as verbs: palette, views, webviews. Waits on what is visible, never on time. */

import { mkdirSync } from 'node:fs';

const LONG = 60_000;

/** A person at a page that shows a workbench. */
export function userOf(page) {
  page.setDefaultTimeout(LONG);
  const input = page.locator('.quick-input-widget:visible input').first();
  const choice = text => page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();

  /** The frame of the webview in sight that shows `selector`, with `text` in it where one is given. */
  const view = (selector, text) =>
    until(
      async () => {
        for (const frame of page.frames()) {
          const found = frame.locator(selector).first();
          if (!(await isVisible(found))) continue;
          if (text === undefined || (await textOf(found)).includes(text)) return frame;
        }
        return undefined;
      },
      `a view that shows ${selector}${text === undefined ? '' : ` with “${text}”`}`,
    );

  const command = async title => {
    await page.keyboard.press('F1');
    await input.waitFor();
    await input.fill(`>${title}`);
    await choice(title).click();
  };

  return {
    page,
    view,
    command,
    /** Leaves a picture of the window in out/. */
    async shoot(name) {
      mkdirSync('out', { recursive: true });
      await page.screenshot({ path: `out/e2e-${name}.png` });
      console.log(`    The window then: out/e2e-${name}.png`);
    },
    /** Chooses from an open quick pick by typing. */
    async pick(text) {
      await input.waitFor();
      await input.fill(text);
      await choice(text).click();
    },
    /** A click on the tab of what is shown already would close it: a window that opens may show it late. */
    openSidebar: name =>
      until(async () => {
        const title = page.locator('.part.sidebar .title-label', { hasText: name });
        if (await appears(title)) return true;
        await page
          .getByRole('tab', { name: new RegExp(`^${name}`) })
          .first()
          .click();
        return appears(title);
      }, `the side bar ${name}`),
    /** The dashboard of a run. */
    dashboard: run => view('body[data-view="dashboard"] h1', run),
    /** Waits until a chart tells a screen reader what `wanted` matches; the frame may be another one after a reload. */
    reads: (frame, chart, wanted) =>
      until(
        async () => {
          const labels = await frame
            .locator(`canvas[aria-label^="${chart}"]`)
            .evaluateAll(found => found.map(canvas => canvas.getAttribute('aria-label')))
            .catch(none);
          return labels.some(label => wanted.test(label));
        },
        `${chart}: ${wanted}`,
        180_000,
      ),
    tells: (frame, selector, wanted) =>
      until(async () => wanted.test(await textOf(frame.locator(selector).first())), `${selector}: ${wanted}`),
    sees: (frame, selector, text) =>
      until(
        async () => (await textOf(frame.locator(selector).first())).includes(text),
        `${selector} with “${text}”`,
      ),
    appears,
    row: text => page.locator('.pane-body .monaco-list-row', { hasText: text }).first(),
    /** By its command, so that the window keeps what is open; the browser's own reload may lose the last seconds. */
    async reload() {
      const loaded = page.waitForEvent('load');
      await command('Developer: Reload Window');
      await loaded;
      await page.locator('.monaco-workbench').waitFor();
    },
  };
}

/** True where it is in sight within a moment. */
const appears = locator =>
  locator
    .first()
    .waitFor({ timeout: 3000 })
    .then(
      () => true,
      () => false,
    );
const isVisible = locator => locator.isVisible().catch(() => false);
/** A frame may go away between two looks: then it shows nothing. */
const textOf = locator => locator.innerText({ timeout: 1000 }).catch(() => '');
const none = () => [];

/** Looks again until `look` answers with something; fails with what was waited for. */
export async function until(look, what, limitMs = 90_000) {
  for (const end = Date.now() + limitMs; Date.now() < end; await new Promise(done => setTimeout(done, 150))) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`Waited ${limitMs / 1000} s in vain for ${what}.`);
}

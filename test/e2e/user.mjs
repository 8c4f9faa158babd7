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

  /** One question may come right after another, in the same place. */
  const question = title =>
    page.locator('.quick-input-widget:visible .quick-input-title', { hasText: title });
  const asked = title => question(title).waitFor();

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
    /** The same, and whether it was there to choose from. */
    picks: text =>
      input
        .fill(text, { timeout: 5000 })
        .then(() => choice(text).click({ timeout: 5000 }))
        .then(
          () => true,
          () => false,
        ),
    /** Opens a file of the workspace by its name. */
    async openFile(name) {
      await page.keyboard.press('F1');
      await input.waitFor();
      await input.fill(name);
      await choice(name).click();
      await page.locator('.tab.active', { hasText: name }).waitFor();
    },
    /** Takes a choice of a list that comes right after another question: what is typed meanwhile may be lost. */
    take: text => choice(text).click(),
    /** Answers the question of that title. */
    async answer(title, text) {
      await asked(title);
      // A dialog for folders writes the path that it begins with when it has read it: over what was typed before.
      await until(async () => {
        await input.fill(text);
        await new Promise(done => setTimeout(done, 300));
        return (await input.inputValue()) === text;
      }, `“${text}” in the answer`);
      // A box that is late with the focus misses the key.
      await until(async () => {
        await input.press('Enter');
        return vanishes(question(title));
      }, `the end of the question “${title}”`);
    },
    /** Types an answer to the question of that title, and leaves it there. */
    async type(title, text) {
      await asked(title);
      await input.pressSequentially(text);
    },
    /** Chooses from the context menu of what is in sight. */
    async choose(target, entry) {
      await target.click({ button: 'right' });
      // A menu takes no click in its first moments: where it opened, the button was just let go.
      await page.getByRole('menuitem', { name: entry }).first().hover();
      await page.keyboard.press('Enter');
    },
    /** Selects a text in the active editor by its own search, and types another over it. */
    async replace(text, other) {
      await page.keyboard.press('Control+f');
      const find = page.locator('.editor-widget.find-widget.visible textarea').first();
      await find.waitFor();
      await find.fill(text);
      await page.locator('.find-widget.visible .matchesCount', { hasText: /^1 of/ }).first().waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.type(other);
    },
    /** A line of an editor that has the text. */
    line: text => page.locator('.view-line', { hasText: text }).first(),
    /** A row of any tree or list, by what a screen reader is told of it. */
    item: name => page.getByRole('treeitem', { name }).first(),
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
      // Together, so that a load that never comes is this step's failure and nobody else's.
      await Promise.all([page.waitForEvent('load'), command('Developer: Reload Window')]);
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
const vanishes = locator =>
  locator.waitFor({ state: 'hidden', timeout: 3000 }).then(
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

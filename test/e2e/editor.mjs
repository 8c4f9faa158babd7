/** The packaged extension in a VS Code of its own, with a person at its page. Knows nothing of what the person does. */
import { after, afterEach, before } from 'mocha';
import {
  installExtension,
  makeHome,
  removeHome,
  startBrowser,
  startServer,
  workbenchUrl,
} from '../host/workbench.mjs';
import { userOf } from './user.mjs';

/**
 * Opens it on `folder`, or without one: `host` names the VS Code, `settings` are the user's, `trust` is false for a workspace that
 * nobody has trusted. `close` ends all that was started and removes the VS Code's home; what fails to open leaves nothing either.
 */
export async function openEditor({ folder, host, settings, trust, size = [1680, 1000] } = {}) {
  const home = makeHome({ host, settings });
  const closers = [() => removeHome(home)];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    installExtension(home, 'out/branchpoint.vsix');
    const server = await startServer(home, { trust });
    closers.push(() => server.close());
    const browser = await startBrowser({ width: size[0], height: size[1] });
    closers.push(() => browser.close());
    const { page } = browser;
    await page.goto(workbenchUrl(server, folder));
    return { home, server, page, user: userOf(page), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * One editor for the tests of the suite around the call: `use` is given it before the first of them, and it is closed after the last.
 * A test that fails leaves a picture of its window under the suite's name.
 */
export function inOneEditor(name, options, use) {
  let editor;
  before(async () => {
    editor = await openEditor(await options());
    use(editor);
  });
  afterEach(async function () {
    if (this.currentTest.state === 'failed') await editor?.user.shoot(`${name}-failed`);
  });
  after(() => editor?.close());
}

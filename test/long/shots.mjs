/** Pictures of every view in three themes, from the packaged extension in a real VS Code. Knows nothing of what they should look like. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { userOf } from '../e2e/user.mjs';
import {
  installExtension,
  makeHome,
  removeHome,
  startBrowser,
  startServer,
  workbenchUrl,
} from '../host/workbench.mjs';

const THEMES = { dark: 'Dark 2026', light: 'Light 2026', contrast: 'Default High Contrast' };

/** View → what a person does until it is in sight. */
const VIEWS = {
  async dashboard({ user }) {
    await user.command('Branchpoint: Open Run Dashboard');
    await user.pick('recorded');
    await user.reads(await user.dashboard('recorded'), 'Reward', /at step 18/);
  },
};

/** Takes them into `folder`; returns how many. */
export async function shootViews({ project, vsix, folder }) {
  mkdirSync(folder, { recursive: true });
  let taken = 0;
  for (const [theme, name] of Object.entries(THEMES)) {
    const home = makeHome({ settings: { 'workbench.colorTheme': name } });
    let server, browser;
    try {
      installExtension(home, vsix);
      server = await startServer(home);
      browser = await startBrowser({ width: 1680, height: 1000 });
      const user = userOf(browser.page);
      await browser.page.goto(workbenchUrl(server, project));
      await user.openSidebar('Branchpoint');
      await user.row('recorded').waitFor();
      for (const [view, open] of Object.entries(VIEWS)) {
        await user.command('View: Close All Editors');
        await open({ user, page: browser.page, project });
        await browser.page.screenshot({ path: join(folder, `${theme}-${view}.png`) });
        taken++;
      }
    } finally {
      await browser?.close();
      await server?.close();
      removeHome(home);
    }
  }
  return taken;
}

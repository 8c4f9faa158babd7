/**
 * Recorded runs of every kind, in a workspace that nobody has trusted yet: they can be read, and nothing is started. The packaged
 * extension, a real browser.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'mocha';
import {
  installExtension,
  makeHome,
  removeHome,
  startBrowser,
  startServer,
  workbenchUrl,
} from '../host/workbench.mjs';
import { userOf } from './user.mjs';

const TRUST = { 'security.workspace.trust.enabled': true, 'security.workspace.trust.startupPrompt': 'never' };

describe('recorded runs in a restricted workspace', () => {
  let home, workspace, server, browser, user;

  before(async () => {
    workspace = mkdtempSync(join(tmpdir(), 'branchpoint-workspace-'));
    const made = spawnSync(process.execPath, ['test/host/workspace.ts', workspace], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    home = makeHome({ settings: TRUST });
    installExtension(home, 'out/branchpoint.vsix');
    server = await startServer(home, { trust: false });
    browser = await startBrowser({ width: 1400, height: 900 });
    user = userOf(browser.page);
    await browser.page.goto(workbenchUrl(server, workspace));
  });
  afterEach(async function () {
    if (this.currentTest.state === 'failed') await user?.shoot('recorded-failed');
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    if (home) removeHome(home);
    if (workspace) rmSync(workspace, { recursive: true, force: true });
  });

  const dashboardOf = async run => {
    await user.command('Branchpoint: Open Run Dashboard');
    await user.pick(run);
    return user.dashboard(run);
  };

  it('lists a whole, a torn, a young, an empty and a newer run, each with its state', async () => {
    await user.openSidebar('Branchpoint');
    for (const row of [
      /whole-1.*step 4\/4/s,
      /torn-1.*interrupted/s,
      /young-1.*step 1\/1/s,
      /empty-1.*interrupted.*step 0/s,
      /newer-1.*cannot be read/s,
    ])
      await user.row(row).waitFor();
  });

  it('shows one step as one point, a torn journal up to its last whole line, and an empty one as not logged', async () => {
    await user.reads(await dashboardOf('young-1'), 'Reward:', /mean [-−\d.]+ at step 1\b/);
    await user.reads(await dashboardOf('torn-1'), 'Reward:', /at step 2/);
    const empty = await dashboardOf('empty-1');
    await user.sees(empty, 'header', 'interrupted · step 0');
    await user.sees(empty, 'main', 'not logged');
  });

  it('starts nothing: a launch is refused and says how the workspace is trusted', async () => {
    await user.command('Branchpoint: Launch Run');
    const said = browser.page
      .locator('.notification-list-item-message', { hasText: 'trusted workspace' })
      .first();
    await said.waitFor();
    assert.match(await said.innerText(), /Launch Run: .*Workspaces: Manage Workspace Trust/);
  });
});

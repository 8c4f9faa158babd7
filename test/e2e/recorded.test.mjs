/**
 * Recorded runs of every kind, in a workspace that nobody has trusted yet: they can be read, and nothing is started. The packaged
 * extension, a real browser.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'mocha';
import { until } from './user.mjs';
import { inOneEditor } from './editor.mjs';

const TRUST = { 'security.workspace.trust.enabled': true, 'security.workspace.trust.startupPrompt': 'never' };

describe('recorded runs in a restricted workspace', () => {
  let workspace, page, user;

  inOneEditor(
    'recorded',
    () => {
      workspace = mkdtempSync(join(tmpdir(), 'branchpoint-workspace-'));
      const made = spawnSync(process.execPath, ['test/host/workspace.ts', workspace], { encoding: 'utf8' });
      assert.equal(made.status, 0, made.stderr);
      return { folder: workspace, settings: TRUST, trust: false, size: [1400, 900] };
    },
    editor => ({ page, user } = editor),
  );
  after(() => workspace && rmSync(workspace, { recursive: true, force: true }));

  const dashboardOf = async run => {
    // A view that comes late takes the focus, and the question goes away: it is asked again.
    await until(async () => {
      await user.command('Branchpoint: Open Run Dashboard');
      return user.picks(run);
    }, `the choice of ${run}`);
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

  it('brings a report and a comparison back when the window is loaded again', async () => {
    await user.command('Branchpoint: Open Evaluation Report');
    await user.pick('whole-1');
    await user.pick('step-');
    const heading = view => user.view(`body[data-view="${view}"] h1`);
    const report = await (await heading('evaluation')).locator('h1').innerText();
    await user.command('Branchpoint: Compare Runs…');
    await user.take('whole-1');
    await user.take('young-1');
    await page.keyboard.press('Enter');
    await user.sees(await heading('compare'), 'h1', 'Compare 2 runs');
    await user.reload();
    await user.sees(await heading('compare'), 'h1', 'Compare 2 runs');
    await user.reads(await heading('compare'), 'Reward', /whole-1.*young-1|young-1.*whole-1/s);
    await page.locator('.tab', { hasText: /whole-1 · step-/ }).click();
    await user.sees(await heading('evaluation'), 'h1', report);
  });

  it('starts nothing: a launch is refused and says how the workspace is trusted', async () => {
    await user.command('Branchpoint: Launch Run');
    const said = page.locator('.notification-list-item-message', { hasText: 'trusted workspace' }).first();
    await said.waitFor();
    assert.match(await said.innerText(), /Launch Run: .*Workspaces: Manage Workspace Trust/);
  });
});

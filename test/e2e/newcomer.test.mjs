/**
 * The newcomer's path, as a person walks it: the packaged extension in a fresh VS Code, a real browser, the real sample.
 * One story in order; each part begins where the last one ended.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, afterEach, describe, it } from 'mocha';
import { fold } from '../../src/core/fold.ts';
import { lastCheckpoint } from '../../src/run/checkpoint.ts';
import { FILES } from '../../src/run/layout.ts';
import { liveLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/reader.ts';
import { inOneEditor } from './editor.mjs';
import { goOnForLong, liveRunIn, sampleConfig } from './sampleFiles.mjs';
import { until } from './user.mjs';

describe('a newcomer', () => {
  let home, page, user;
  /** The run that was launched: its folder and its worker's process. */
  let run, pid;

  after(() => {
    if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  inOneEditor(
    'newcomer',
    () => ({}),
    editor => ({ home, page, user } = editor),
  );
  afterEach(function () {
    if (this.currentTest.state === 'failed' && run && existsSync(join(run, FILES.log)))
      console.log(readFileSync(join(run, FILES.log), 'utf8').slice(-2000));
  });
  const shoot = async name => {
    const folder = process.env.BRANCHPOINT_SHOTS;
    if (folder) await page.screenshot({ path: join(folder, `e2e-${name}.png`) });
  };

  it('opens the sample by the button of the empty view and sees its recorded run', async () => {
    await user.openSidebar('Branchpoint');
    await shoot('welcome');
    await page.getByRole('button', { name: 'Open Sample' }).click();
    await user.row('recorded').waitFor();
    const dashboard = await user.dashboard('recorded');
    await user.reads(dashboard, 'Reward', /at step \d+/);
    await user.reads(dashboard, 'Held-out accuracy', /sampled .* at step 0/);
  });

  it('reads beside it, without another click, why a branch was refused', async () => {
    const tree = await user.view('body[data-view="tree"] .card .verdict');
    const verdict = await tree.locator('.card .verdict').first().innerText();
    assert.match(verdict, /^P \.\d\d (< draw|≤ τ) \.\d\d → refused$/);
    await shoot('sample');
  });

  it('trains live by one button, reads device, sandbox and the time left, and sees points arrive', async () => {
    goOnForLong(sampleConfig(home.user));
    const recorded = await user.dashboard('recorded');
    await recorded.locator('vscode-button', { hasText: 'Train Live' }).click();
    run = await until(() => liveRunIn(home.user), 'a run folder with a worker');
    pid = liveLock(run).pid;
    const dashboard = await user.dashboard(basename(run));
    await user.reads(dashboard, 'Reward', /at step 1\b/);
    for (const told of [
      / cpu /,
      /python: \w+ with Python 3/,
      /(min|h|s) left/,
      /growing step \d+: \d+ segments/,
    ])
      await user.tells(dashboard, 'header', told);
    await user.tells(page, '.statusbar', /step \d+\/4000 .*(trees? done|learning)/);
    await user.reads(dashboard, 'Reward', /at step ([2-9]|\d\d)/);
    await user.reads(dashboard, 'Entropy', /at step ([2-9]|\d\d)/);
    await user.row(basename(run)).waitFor();
    await shoot('live');
  });

  it('opens the worst rollout of a point by a click on it', async () => {
    const dashboard = await user.dashboard(basename(run));
    await dashboard.locator('canvas[aria-label^="Reward:"]').click();
    const worst = dashboard.locator('.pinned [data-extreme="worst"]:enabled');
    await worst.waitFor();
    assert.match(await worst.getAttribute('aria-label'), /^Worst .*: open trajectory \d+ of tree \d+\.\d+$/);
    await worst.click();
    await page.locator('.view-line', { hasText: '# Tree' }).first().waitFor();
    await page.locator('.view-overlays .cdr[class*="ced-"]').first().waitFor();
  });

  it('reloads the window and sees the same run go on', async () => {
    const { step } = fold(await openRun(run).events());
    await user.reload();
    await user.openSidebar('Branchpoint');
    await user.row(basename(run)).waitFor();
    const dashboard = await user.dashboard(basename(run));
    const isLater = text => Number(/at step (\d+)[^\d]*$/.exec(text)?.[1]) > step;
    await user.reads(dashboard, 'Reward', { test: isLater, toString: () => `a step after ${step}` });
    assert.equal(liveLock(run)?.pid, pid);
    await shoot('reloaded');
  });

  it('opens a rollout tree and reads why a branch was refused', async () => {
    const { id, decision, mark } = await until(() => refused(run), 'a tree with a refused branch');
    await user.command('Branchpoint: Open Rollout Tree');
    await user.pick(basename(run));
    await user.pick(id);
    const tree = await user.view('body[data-view="tree"] svg .bar');
    await tree.locator(`[data-key="${mark}"]:has(.question.refuse)`).click();
    await user.sees(tree, '.card .outcome', 'Branch refused');
    await user.sees(
      tree,
      '.card .verdict',
      `P ${short(decision.probability)} < draw ${short(decision.draw)} → refused`,
    );
    for (const term of ['H₀', 'Hₜ', 'ΔH', 'P', 'draw', 'budget']) await user.sees(tree, '.card dl', term);
    await shoot('tree');
    await tree.locator('.card vscode-button', { hasText: 'Open as Text' }).click();
  });

  it('reads the trajectory as text: tinted tokens, and a token’s numbers on hover', async () => {
    // The text opens at what was asked for in the tree, so that its first lines may be out of sight.
    await page.locator('.tab.active', { hasText: '.trajectory' }).waitFor();
    await page.locator('.view-overlays .cdr[class*="ced-"]').first().waitFor();
    const word = page.locator('.view-line', { hasText: '<think>' }).first().locator('span span').first();
    const hover = page.locator('.monaco-hover:visible', { hasText: 'Log-probability, sampler' }).first();
    // Lenses that arrive push lines away from under the pointer: point again.
    await until(async () => {
      await page.mouse.move(1, 1);
      await word.hover();
      return user.appears(hover);
    }, 'a token’s hover');
    assert.match(await hover.innerText(), /Entropy\s+\d+\.\d{4} nats/);
    await shoot('trajectory');
  });

  it('stops the run, which saves a checkpoint and leaves no process behind', async () => {
    await user.command('Branchpoint: Stop Run');
    await until(async () => fold(await openRun(run).events()).status === 'stopped', 'the end of the run');
    await until(() => !isAlive(pid), 'the end of the worker');
    const { step } = fold(await openRun(run).events());
    const checkpoint = await lastCheckpoint(run);
    assert.equal(checkpoint.state.step, step);
    assert.ok(!existsSync(join(run, FILES.lock)));
    await user.row(/stopped/).waitFor();
    await shoot('stopped');
  });
});

/** A tree of the run with a branch that the gate refused, if possible one where rewards differ too, and the first of those questions. */
async function refused(folder) {
  const open = openRun(folder);
  const found = [];
  for (const { id } of await open.trees()) {
    const { decisions, paths } = await open.tree(id);
    const index = decisions.findIndex(({ outcome }) => outcome === 'refuse');
    const decision = decisions[index];
    const rewards = new Set(paths.map(({ reward }) => reward?.total));
    if (decision) found.push({ id, decision, mark: `s${decision.segment}d${index}`, tells: rewards.size });
  }
  return found.sort((a, b) => b.tells - a.tells)[0];
}

const short = value => value.toFixed(2).replace(/^0\./, '.');

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (error.code === 'ESRCH') return false;
    throw error;
  }
}

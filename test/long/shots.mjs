/** Pictures of every view in three themes, from the packaged extension in a real VS Code. Knows nothing of what they should look like. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOtherRun } from '../e2e/sampleFiles.mjs';
import { openEditor } from '../e2e/editor.mjs';

const THEMES = { dark: 'Dark 2026', light: 'Light 2026', contrast: 'Default High Contrast' };

/** A tree that branched, and one with a counterfactual. */
const [BRANCHED, GHOSTLY] = ['18.1', '18.3'];

/** View → what a person does until it is in sight. */
const VIEWS = {
  async explorer({ user }) {
    await user.choose(user.item(/^Run recorded/), 'Check Run');
    await user
      .item(/^Run recorded/)
      .locator('.monaco-tl-twistie')
      .click();
    await user.item(/^Checks, \d/).waitFor();
    for (const row of [/^Checks/, /^Evaluations/, /^Checkpoints/, /^Steps/, /^Step 18/]) {
      await user.item(row).locator('.monaco-tl-twistie').click();
    }
    await user.item(/^Tree 18\.3/).waitFor();
  },
  async dashboard({ user }) {
    await user.command('Branchpoint: Open Run Dashboard');
    await user.pick('recorded');
    const view = await user.dashboard('recorded');
    await user.reads(view, 'Reward', /at step 18/);
    await user.reads(view, 'Tool calls', /at step 18/);
  },
  async 'dashboard-below'({ user }) {
    await VIEWS.dashboard({ user });
    const view = await user.dashboard('recorded');
    await view.evaluate('document.scrollingElement.scrollTo(0, 1e6)');
    await user.reads(view, 'Held-out accuracy', /at step 18/);
  },
  async tree({ user }) {
    await openTree(user, BRANCHED);
  },
  async 'tree-ghost'({ user }) {
    const view = await openTree(user, GHOSTLY);
    await view.locator('g.untrained .bar').first().click();
    await user.tells(view, '.card .verdict', /samples earned/);
  },
  async trajectory({ user, page }) {
    await user.command('Branchpoint: Open Trajectory as Text');
    await user.pick('recorded');
    await user.pick(BRANCHED);
    await user.take('Trajectory 1');
    await user.line('# Tree').waitFor();
    await page.locator('.view-overlays .cdr[class*="ced-"]').first().waitFor();
  },
  async trajectories({ user }) {
    await user.command('Branchpoint: Browse Trajectories');
    await user.pick('recorded');
    const view = await user.view('body[data-view="trajectories"] .row.tree .question');
    await view.locator('input[type="search"]').fill('argentina');
    await view.locator('.line mark').first().waitFor();
  },
  async evaluation({ user }) {
    await user.command('Branchpoint: Open Evaluation Report');
    await user.pick('recorded');
    await user.take('step-18');
    const view = await user.view('body[data-view="evaluation"] .accuracy');
    await view.locator('select').selectOption({ label: 'step-0' });
    await user.sees(view, '[data-section="Flips"]', 'step-0');
  },
  async compare({ user }) {
    await user.item(/^Run recorded/).click();
    await user.item(/^Run again/).click({ modifiers: ['Control'] });
    await user.choose(user.item(/^Run again/), 'Compare Runs…');
    const view = await user.view('body[data-view="compare"] h1', 'Compare 2 runs');
    await user.reads(view, 'Reward', /again/);
  },
  async configuration({ user, page }) {
    await user.openFile('sample.branchpoint.json');
    await user.line('= 64 trajectories a step').waitFor();
    await page.locator('.codelens-decoration', { hasText: 'Launch' }).first().waitFor();
  },
  async rescored({ user, page }) {
    await user.command('Branchpoint: Re-score Rollouts…');
    await user.pick('recorded');
    await user.answer('Re-score Rollouts: steps', '10-18');
    await user.line('"formatPenalty": -1').click();
    await user.replace('-1,', '-0.5,');
    await page.locator('.codelens-decoration a', { hasText: 'Score Steps' }).click();
    await user.line('max |ΔA|').waitFor();
  },
  async walkthrough({ user, page }) {
    await user.command('Welcome: Open Walkthrough...');
    await user.pick('Train and Understand an Agent');
    await page.locator('.getting-started-step').first().waitFor();
  },
  async 'hover-run'({ user, page }) {
    await user.item(/^Run recorded/).hover();
    await hoverOf(page, 'Mean reward');
  },
  async 'hover-chart'({ user }) {
    await VIEWS.dashboard({ user });
    const view = await user.dashboard('recorded');
    await view.locator('canvas[aria-label^="Reward"]').first().hover();
    await view.locator('.readout:not([hidden])').first().waitFor();
  },
  async 'hover-token'({ user, page }) {
    await VIEWS.trajectory({ user, page });
    await user.line('<search>').hover({ position: { x: 14, y: 8 } });
    await hoverOf(page, 'Log-probability');
  },
  async 'hover-branching'({ user, page }) {
    await VIEWS.trajectory({ user, page });
    await user.line('── branching').hover({ position: { x: 60, y: 8 } });
    await hoverOf(page, 'Probability');
  },
  async 'hover-key'({ user, page }) {
    await VIEWS.configuration({ user, page });
    await user.line('"groupSize"').hover({ position: { x: 60, y: 8 } });
    await hoverOf(page, 'rajectories');
  },
  async 'hover-hint'({ user, page }) {
    await VIEWS.configuration({ user, page });
    await page.locator('.view-line span', { hasText: '= 64 trajectories' }).last().hover();
    await hoverOf(page, 'rajectories');
  },
  // Last, because its panel stays open.
  async problems({ user, page }) {
    await user.openFile('wrong.branchpoint.json');
    await user.command('Problems: Focus on Problems View');
    await page.locator('.markers-panel .monaco-list-row', { hasText: 'grupSize' }).first().waitFor();
  },
};

/** What hovering brings, in an editor or elsewhere. */
const hoverOf = (page, text) => page.locator('.monaco-hover:visible', { hasText: text }).first().waitFor();

async function openTree(user, id) {
  await user.command('Branchpoint: Open Rollout Tree');
  await user.pick('recorded');
  await user.pick(id);
  return user.view('body[data-view="tree"] svg .bar');
}

/** What the views show beside the recorded run: another run, a counterfactual, a configuration with mistakes. */
function prepare(project) {
  const recorded = join(project, 'runs/recorded');
  makeOtherRun(recorded, { name: 'again', steps: 12, learningRate: 0.007 });
  const place = [`--tree=${GHOSTLY}`, '--path=6', '--segment=15', '--token=0', '--samples=3', '--seed=1'];
  execFileSync(process.execPath, ['dist/branchpoint.cjs', 'branch', recorded, ...place], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const text = readFileSync(join(project, 'sample.branchpoint.json'), 'utf8');
  writeFileSync(
    join(project, 'wrong.branchpoint.json'),
    text
      .replace('"groupSize": 8', '"grupSize": 8')
      .replace('"train": "tasks/train.parquet"', '"train": "tasks/trian.parquet"')
      .replace('"updatesPerStep": 1', '"updatesPerStep": 3')
      .replace('"entropyTokens": 10', '"entropyTokens": "ten"'),
  );
}

/** Takes them into `folder`, or those of some views only; returns how many. */
export async function shootViews({ project, folder, views = Object.keys(VIEWS) }) {
  mkdirSync(folder, { recursive: true });
  prepare(project);
  let taken = 0;
  for (const [theme, name] of Object.entries(THEMES)) {
    const settings = { 'workbench.colorTheme': name };
    const { page, user, close } = await openEditor({ folder: project, settings });
    try {
      await user.openSidebar('Branchpoint');
      await user.row('recorded').waitFor();
      for (const view of views) {
        await user.command('View: Close All Editors');
        try {
          await VIEWS[view]({ user, page });
        } catch (error) {
          throw new Error(`${view} in ${theme}: ${error.message}`, { cause: error });
        } finally {
          writeFileSync(join(folder, `${theme}-${view}.png`), await restingPicture(page));
        }
        taken++;
      }
    } finally {
      await close();
    }
  }
  return taken;
}

/** Looks again until nothing moves any more: charts are painted, lenses have come, toasts have gone. What never rests is taken as it is. */
async function restingPicture(page) {
  let before;
  for (let tries = 0; tries < 12; tries++) {
    const picture = await page.screenshot();
    if (before?.equals(picture)) return picture;
    before = picture;
    await new Promise(done => setTimeout(done, 250));
  }
  return before;
}

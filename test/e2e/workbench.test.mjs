/**
 * What a person does all day, each feature once, with its numbers: the packaged extension, a real browser, a project with a recorded
 * run and one that was interrupted. What should be shown is worked out from the files.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'mocha';
import { change, plain } from '../../src/core/figures.ts';
import { fold } from '../../src/core/fold.ts';
import { matchesIn } from '../../src/core/trajectorySearch.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import { counterfactualIds, readCounterfactual } from '../../src/run/counterfactuals.ts';
import { readEvaluation } from '../../src/run/evaluations.ts';
import { FILES } from '../../src/run/layout.ts';
import { openRun } from '../../src/run/reader.ts';
import { inOneEditor } from './editor.mjs';
import { makeOtherRun, makeProject } from './sampleFiles.mjs';
import { until } from './user.mjs';

/** Steps of the run that was interrupted, and its learning rate. */
const STEPS = 12;
const RATE = 0.007;

describe('in the workbench', () => {
  let project, recorded, other, page, user;
  /** Of the recorded run. */
  let state, trees;

  inOneEditor(
    'workbench',
    async () => {
      project = mkdtempSync(join(tmpdir(), 'branchpoint-project-'));
      recorded = makeProject(project);
      other = makeOtherRun(recorded, { name: 'again', steps: STEPS, learningRate: RATE });
      const run = openRun(recorded);
      state = fold(await run.events());
      trees = await Promise.all((await run.trees()).map(({ id }) => run.tree(id)));
      return { folder: project };
    },
    editor => ({ page, user } = editor),
  );
  after(() => project && rmSync(project, { recursive: true, force: true }));

  const closeEditors = () => user.command('View: Close All Editors');

  it('lists runs with their numbers, filters them as one types, and takes a label and tags', async () => {
    await user.openSidebar('Branchpoint');
    const { mean } = state.summaries.at(-1).summary.reward;
    const early = state.summaries[STEPS - 1].summary.reward.mean;
    await user.item(`Run recorded, finished, step 18 of 18, mean reward ${mean.toFixed(2)}`).waitFor();
    await user.item(`Run again, interrupted, step ${STEPS} of 18, mean reward ${early.toFixed(2)}`).click();
    await page.keyboard.press('F2');
    await user.answer('Rename Run…', 'Steeper');
    await user.choose(user.item(/^Run Steeper \(again\)/), 'Tag Run…');
    await user.answer('Tag Run…', 'paper, seed 1');
    await user.item(/^Run Steeper \(again\), .*, tagged paper, seed 1$/).waitFor();
    assert.deepEqual(JSON.parse(readFileSync(join(other, FILES.label), 'utf8')), {
      label: 'Steeper',
      tags: ['paper', 'seed 1'],
    });
    await user.command('Branchpoint: Filter Runs…');
    await user.type('Filter Runs…', 'paper inter');
    await user.item(/^Run recorded/).waitFor({ state: 'detached' });
    await page.locator('.pane-body', { hasText: '1 of 2 runs match “paper inter”' }).first().waitFor();
    await page.keyboard.press('Enter');
    await user.command('Branchpoint: Show All Runs');
    await user.item(/^Run recorded/).waitFor();
  });

  it('clones the configuration of a run, and opens it', async () => {
    await user.choose(user.item(/^Run recorded/), 'Clone Configuration');
    await page.locator('.tab.active', { hasText: 'recorded-2.branchpoint.json' }).waitFor();
    const text = readFileSync(join(project, 'recorded-2.branchpoint.json'), 'utf8');
    assert.match(text, /"name": "recorded-2"/);
    assert.match(text, /"tasksPerStep": 4\b/);
  });

  it('shows what a configuration amounts to, tells a typo as a Problem, and mends it by its quick fix', async () => {
    await user.openFile('sample.branchpoint.json');
    const lenses = page.locator('.editor-instance .codelens-decoration').first();
    await user.tells(page, '.editor-instance .codelens-decoration', /Launch/);
    const titles = (await lenses.innerText()).split('|').map(title => title.trim());
    assert.deepEqual(titles, ['Launch', 'Dry Run', 'Validate', 'Clone']);
    await user.line('"tasksPerStep": 8→ 8 × 8 = 64 trajectories a step').waitFor();
    await user.line('"updatesPerStep": 1→ 1 update of 64 trajectories').waitFor();
    await user.line('"groupSize": 8').click();
    await user.replace('groupSize', 'grupSize');
    await user.command('Problems: Focus on Problems View');
    const problem = page.locator('.markers-panel .monaco-list-row', { hasText: 'grupSize' }).first();
    await problem.waitFor();
    await user.line('"grupSize": 8').click();
    await page.keyboard.press('Control+.');
    const fix = page.locator('.action-widget .monaco-list-row', {
      hasText: 'Change rollout.grupSize to rollout.groupSize',
    });
    await fix.waitFor();
    await page.keyboard.press('Enter');
    await problem.waitFor({ state: 'detached' });
    await user.line('"groupSize": 8').waitFor();
    await page.keyboard.press('Control+s');
    await page.keyboard.press('Control+j');
    await closeEditors();
  });

  it('walks a rollout tree by keys, and colours it by advantage and credit', async () => {
    const tree = trees.findLast(({ decisions }) =>
      ['branch', 'refuse'].every(wanted => decisions.some(({ outcome }) => outcome === wanted)),
    );
    await user.command('Branchpoint: Open Rollout Tree');
    await user.pick('recorded');
    await user.pick(tree.id);
    const view = await user.view('body[data-view="tree"] svg .bar');
    const beyond = await view
      .locator('.picture')
      .evaluate(one => one.scrollWidth - Math.max(one.clientWidth, one.firstElementChild.offsetWidth));
    assert.equal(beyond, 0, 'pixels that can be scrolled to and show nothing');
    await view.locator('[data-key="s0"] .bar').click();
    const first = tree.segments.findIndex(({ parent }) => parent === 0);
    const chosen = view.locator('svg [aria-selected="true"]');
    for (const [key, wanted] of [
      ['n', first],
      ['p', 0],
    ]) {
      await page.keyboard.press(key);
      await until(async () => (await chosen.getAttribute('data-key')) === `s${wanted}`, `segment ${wanted}`);
    }
    await page.keyboard.press('n');
    const { count } = tree.segments[first];
    await user.tells(view, '.card', new RegExp(`Turn 1[^]*tokens\\s+${count}, trained`));
    await view.locator('#tint label', { hasText: 'Advantage' }).click();
    await view.locator('#credit label', { hasText: 'Hard' }).click();
    const most = plain(Math.max(...tree.credit.hard.map(one => Math.abs(one ?? 0))), 2);
    await user.sees(view, '.legend', `Advantage −${most} … +${most}`);
    await closeEditors();
  });

  it('finds trajectories by text, and reads the one that it found', async () => {
    const query = { text: 'argentina', minimum: 1 };
    const found = trees.map(tree => matchesIn(tree, query).length).filter(Boolean);
    assert.ok(found.length > 0 && found.length < trees.length);
    await user.command('Branchpoint: Browse Trajectories');
    await user.pick('recorded');
    const view = await user.view('body[data-view="trajectories"] .row.tree .question');
    await user.sees(view, '.state [role="status"]', `${trees.length} trees`);
    await view.locator('input[type="search"]').fill(query.text);
    await view.getByLabel('Lowest reward').fill('1');
    const count = found.reduce((sum, one) => sum + one);
    await user.sees(
      view,
      '.state [role="status"]',
      `${count} trajectories in ${found.length} of ${trees.length} trees`,
    );
    await until(
      async () =>
        /argentina/i.test(
          await view
            .locator('.line mark')
            .first()
            .innerText()
            .catch(() => ''),
        ),
      'what was found, marked in the transcript',
    );
    await view.locator('vscode-button', { hasText: 'Open as Text' }).click();
    await page.locator('.tab.active', { hasText: /recorded \S+ path \d+/ }).waitFor();
    await user.line('argentina').waitFor();
  });

  it('cycles the overlay of a trajectory’s text, and compares it with its sibling', async () => {
    const [, id, path] = /recorded (\S+) path (\d+)/.exec(await page.locator('.tab.active').innerText());
    const lens = page.locator('.editor-instance .codelens-decoration', { hasText: 'Overlay:' }).first();
    await user.line('── ').click();
    await page.keyboard.press('Control+Home');
    for (const overlay of ['advantage', 'log-prob', 'mismatch', 'mask']) {
      await page.keyboard.press('e');
      await until(async () => (await lens.innerText()).includes(`Overlay: ${overlay} `), overlay);
    }
    await user.command('Branchpoint: Compare Trajectory with…');
    const tree = trees.find(one => one.id === id);
    const sibling = tree.paths.findIndex((_, index) => index !== Number(path));
    await user.pick(`Trajectory ${sibling}`);
    await page
      .locator('.tab.active', { hasText: `tree ${id} trajectory ${path} ↔ tree ${id} trajectory ${sibling}` })
      .waitFor();
    await page.locator('.monaco-diff-editor .view-line', { hasText: '# Tree' }).nth(1).waitFor();
    await closeEditors();
  });

  it('checks a run, and shows the results in the explorer', async () => {
    await user.choose(user.item(/^Run recorded/), 'Check Run');
    await user
      .item(/^Run recorded/)
      .locator('.monaco-tl-twistie')
      .click();
    const row = user.item(/^Checks, (?!not checked|running)/);
    await row.waitFor();
    const counts = [...(await row.getAttribute('aria-label')).matchAll(/(\d+) (wrong|to look at|ok)/g)];
    assert.ok(!counts.some(([, , word]) => word === 'wrong'), await row.getAttribute('aria-label'));
    await row.locator('.monaco-tl-twistie').click();
    const all = counts.reduce((sum, [, count]) => sum + Number(count), 0);
    const results = page.getByRole('treeitem', { name: /^Check \S+, (ok|to look at): / });
    await until(async () => (await results.count()) === all, `${all} results`);
    await row.locator('.monaco-tl-twistie').click();
  });

  it('branches from a step beside the training, and sees the ghost with its reward', async () => {
    const tree = trees.findLast(({ paths }) => paths.some(({ calls }) => calls > 0));
    await user.command('Branchpoint: Open Rollout Tree');
    await user.pick('recorded');
    await user.pick(tree.id);
    const view = await user.view('body[data-view="tree"] svg .bar');
    await view.locator('[data-key="s1"] .bar').click();
    await view.locator('vscode-button.branch-from').click();
    await user.pick('Samples…');
    await user.answer('Samples to draw', '2');
    await user.take('Draw 2 samples');
    await user.tells(view, '.card .verdict', /2 samples earned/);
    assert.ok((await view.locator('svg g.untrained').count()) >= 2);
    const [id] = counterfactualIds(recorded, tree.id);
    const { counterfactual } = readCounterfactual(recorded, id);
    const rewards = counterfactual.tree.paths.map(({ reward }) => reward.total);
    const mean = rewards.reduce((a, b) => a + b, 0) / 2;
    const original = tree.paths[counterfactual.of.path].reward.total;
    const difference = mean - original;
    assert.ok(segmentsOf(tree, counterfactual.of.path).includes(1));
    const [, said, was, by] =
      /earned (\S+) on average; the original, trajectory \d+, earned (\S+): difference (\S+)/.exec(
        await view.locator('.card .verdict').first().innerText(),
      );
    for (const [shown, value] of [
      [said, mean],
      [was, original],
      [by, difference],
    ])
      assert.ok(Math.abs(Number(shown.replace('−', '-')) - value) < 0.006, `${shown} for ${value}`);
    await closeEditors();
  });

  it('scores steps again under another reward, and shows what would have changed', async () => {
    const steps = [17, 18];
    const paths = trees.filter(({ step }) => steps.includes(step)).flatMap(tree => tree.paths);
    const meanOf = score => paths.reduce((sum, path) => sum + score(path.reward), 0) / paths.length;
    const before = meanOf(({ total }) => total);
    const after = meanOf(({ total, parts }) => total + (parts.format < 0 ? 0.5 : 0));
    await user.command('Branchpoint: Re-score Rollouts…');
    await user.pick('recorded');
    await user.answer('Re-score Rollouts: steps of recorded', steps.join('-'));
    await user.line('"formatPenalty": -1').click();
    await user.replace('-1,', '-0.5,');
    await user.line('"formatPenalty": -0.5,').waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'Score Steps 17-18 of recorded Again' }).click();
    await user
      .line(`recorded under other reward settings: ${paths.length} trajectories of 8 groups in 2 steps`)
      .waitFor();
    await user.line(`# mean reward ${change(before, 2)} → ${change(after, 2)}`).waitFor();
    await user.line('max |ΔA|').waitFor();
    await closeEditors();
  });

  it('opens the report of an evaluation with what flipped, and exports it as one page', async () => {
    const { summary } = await readEvaluation(recorded, 'step-18');
    const percent = value => (100 * value).toFixed(1);
    const [low, high] = summary.interval.map(percent);
    const accuracy = `${percent(summary.accuracy)} % [${low}, ${high}]`;
    await user.command('Branchpoint: Open Evaluation Report');
    await user.pick('recorded');
    await user.pick('step-18');
    const view = await user.view('body[data-view="evaluation"] .accuracy');
    assert.equal(await view.locator('.accuracy').first().innerText(), accuracy);
    await view.locator('select').selectOption({ label: 'step-0' });
    await user.sees(view, '[data-section="Flips"]', 'Against recorded · step-0');
    // The report is drawn anew when it is set against another: a click that began before ends on nothing.
    await until(async () => {
      await view.locator('vscode-button, button', { hasText: 'Export as HTML…' }).click();
      return user.appears(page.locator('.quick-input-title', { hasText: 'Export Evaluation as HTML…' }));
    }, 'the question where to');
    const file = join(project, 'runs/recorded-step-18.html');
    await user.answer('Export Evaluation as HTML…', file);
    await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('</html>\n'), 'the page');
    const html = readFileSync(file, 'utf8');
    assert.ok(html.includes(accuracy));
    assert.doesNotMatch(html, /<(script|link)|https?:\/\/(?!www\.w3\.org)/);
    await closeEditors();
  });

  it('sets two selected runs side by side: curves, outcome, and what differs', async () => {
    await user.item(/^Run recorded/).click();
    await user.item(/^Run Steeper/).click({ modifiers: ['Control'] });
    await user.choose(user.item(/^Run Steeper/), 'Compare Runs…');
    const view = await user.view('body[data-view="compare"] h1', 'Compare 2 runs');
    const final = until => {
      const last = state.summaries.filter(({ step }) => step <= until).slice(-5);
      return plain(last.reduce((sum, { summary }) => sum + summary.reward.mean, 0) / 5);
    };
    await until(async () => (await view.locator('.outcomes tbody tr').count()) === 2, 'both outcomes');
    const cells = await view
      .locator('.outcomes tbody tr')
      .evaluateAll(rows => rows.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent)));
    assert.deepEqual(cells.toSorted(), [
      ['Steeper', String(STEPS), final(STEPS)],
      ['recorded', '18', final(18)],
    ]);
    const differs = view.locator('.differences tbody tr', { hasText: 'optimizer.learningRate' });
    assert.match(await differs.innerText(), new RegExp(`\\b${RATE}\\b`));
    await view.locator('.segments label', { hasText: 'Tool calls' }).click();
    await user.reads(view, 'Reward', /tool calls/);
    await closeEditors();
  });

  it('opens rollouts of verl as a run that says what was not logged, and follows them', async () => {
    const folder = join(project, 'verl-rollouts');
    mkdirSync(folder);
    const write = (step, scores) =>
      writeFileSync(
        join(folder, `${step}.jsonl`),
        scores
          .map(score => {
            const input = 'user\nWhat is 6 * 7?\nassistant\n';
            return `${JSON.stringify({ input, output: `It is ${score ? 42 : 41}.`, gts: '42', score, step })}\n`;
          })
          .join(''),
      );
    write(1, [1, 0, 0, 0]);
    write(2, [1, 1, 0, 0]);
    await user.command('Branchpoint: Open Rollouts of verl or prime-rl…');
    await user.answer('Open Rollouts of verl', `${folder}/`);
    const view = await user.dashboard('verl-rollouts');
    await user.reads(view, 'Reward:', /0\.25 at step 1/);
    await user.reads(view, 'Entropy', /not logged/);
    write(3, [1, 1, 1, 0]);
    write(4, [1, 1, 1, 1]);
    await user.reads(view, 'Reward:', /0\.75 at step 3/);
    await user.item(/^Run verl-rollouts, imported from verl/).waitFor();
  });
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { commandId, PANELS, type ViewKind } from '../../../src/extension/names.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, closeEditors, hasPage, page, shoot, until, WHOLE } from './host.ts';

const frameOf = (kind: ViewKind): string => `body[data-view="${kind}"]`;
const inView = (kind: ViewKind, selector: string): Promise<string> =>
  page('text', { frame: frameOf(kind), selector }) as Promise<string>;

/** Names of the curves, with their first and last numbers, as a screen reader is told them. */
const curves = (): Promise<string[]> =>
  page('eval', {
    frame: frameOf('dashboard'),
    expression: `Array.from(document.querySelectorAll('.chart canvas'), canvas => canvas.getAttribute('aria-label') ?? '')`,
  }) as Promise<string[]>;

async function openTab(kind: ViewKind): Promise<vscode.Tab> {
  return until(
    () =>
      vscode.window.tabGroups.all
        .flatMap(({ tabs }) => tabs)
        .find(
          ({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(PANELS[kind]),
        ),
    `a panel of kind ${kind}`,
  );
}

/** A tree in which a branch was refused, and another was made and earned something else than the path that it left. */
async function refusedTree(): Promise<string> {
  const run = openRun(WHOLE());
  for (const { id } of await run.trees()) {
    const { decisions, credit } = await run.tree(id);
    const isRefused = decisions.some(({ outcome }) => outcome === 'refuse');
    const isMade = decisions.some(
      ({ child, path }) => child !== undefined && credit!.soft[child] !== credit!.soft[path],
    );
    if (isRefused && isMade) return id;
  }
  throw new Error('No recorded tree has both answers.');
}

const workbench = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration('workbench');
/** Name of the picture, of the theme, and of the class that webviews then have. */
const THEMES = [
  ['dark', 'Dark 2026', 'vscode-dark'],
  ['light', 'Light 2026', 'vscode-light'],
  ['contrast', 'Default High Contrast', 'vscode-high-contrast'],
] as const;
/** What is there when a view has drawn itself. */
const PAINTED = {
  openDashboard: { frame: frameOf('dashboard'), selector: '.chart canvas[aria-label*="at step 4"]' },
  openTree: { frame: frameOf('tree'), selector: 'svg .bar' },
  openTrajectory: { frame: undefined, selector: '.editor-instance .codelens-decoration' },
} as const;
const TWO_FRAMES =
  'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))';

describe('views', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await page('refused', {});
  });
  after(closeEditors);

  it('shows a run’s steps as curves, and their trees', async () => {
    await vscode.commands.executeCommand(commandId('openDashboard'), { runFolder: WHOLE() });
    await openTab('dashboard');
    const all = await until(async () => {
      const found = await curves();
      return found.some(label => label.includes('at step 4')) && found;
    }, 'curves up to step 4');
    assert.equal(all.length, 20);
    assert.ok(all.find(label => label.startsWith('Reward'))?.includes('at step 1'));
    assert.equal(await inView('dashboard', 'h1'), 'whole-1');
    assert.match(await inView('dashboard', 'header'), /finished · step 4 of 4/);
    const rows = await until(async () => {
      const trees = await page('count', { frame: frameOf('dashboard'), selector: '.tree-row' });
      return trees === 4 && inView('dashboard', '.trees');
    }, 'the trees of the last step');
    const entries = (await openRun(WHOLE()).trees()).filter(({ step }) => step === 4);
    for (const { question, id } of entries) {
      assert.ok(rows.includes(question), `${rows} names ${question}`);
      assert.ok(rows.includes(id), `${rows} names ${id}`);
    }
  });

  it('opens a tree from its row and says why a branch was refused', async () => {
    const tree = await refusedTree();
    await vscode.commands.executeCommand(commandId('openTree'), { runFolder: WHOLE(), tree });
    await openTab('tree');
    const expected = await openRun(WHOLE()).tree(tree);
    await until(
      async () =>
        (await page('count', { frame: frameOf('tree'), selector: 'svg .bar' })) === expected.segments.length,
      'a bar for every segment',
    );
    const index = expected.decisions.findIndex(({ outcome }) => outcome === 'refuse');
    const decision = expected.decisions[index]!;
    await page('click', {
      frame: frameOf('tree'),
      selector: `[data-key="s${decision.segment}d${index}"]:has(.question.refuse)`,
    });
    assert.equal(await inView('tree', '.card .outcome'), 'Branch refused');
    const two = (value: number): string => value.toFixed(2).replace(/^0/, '');
    assert.equal(
      await inView('tree', '.card .verdict'),
      `P ${two(decision.probability)} < draw ${two(decision.draw!)} → refused`,
    );
    for (const term of ['H₀', 'Hₜ', 'ΔH', 'P', 'draw', 'budget', 'rule'])
      assert.ok((await inView('tree', '.card dl')).includes(term), term);
  });

  it('switches the badges between soft and hard credit', async () => {
    await page('click', { frame: frameOf('tree'), selector: '#credit input[value="soft"]' });
    const badges = (): Promise<string> =>
      page('eval', {
        frame: frameOf('tree'),
        expression: `Array.from(document.querySelectorAll('svg .badge'), badge => badge.textContent).join(' ')`,
      }) as Promise<string>;
    const soft = await badges();
    await page('click', { frame: frameOf('tree'), selector: '#credit input[value="hard"]' });
    await until(async () => (await badges()) !== soft, 'other badges');
    assert.match(soft, /…|ø/, 'a shared segment has one soft advantage per trajectory');
    assert.doesNotMatch(await badges(), /…|ø/);
  });

  it('breaks no rule of its pages’ policy, and the policy refuses what it should', async () => {
    assert.deepEqual(await page('refused', {}), []);
    await page('eval', {
      frame: frameOf('tree'),
      expression: `document.body.setAttribute('style', 'margin: 0')`,
    });
    await until(
      async () => ((await page('refused', {})) as string[]).length > 0,
      'word of the inline style that was refused',
    );
  });

  const picture = process.env.BRANCHPOINT_SHOTS === undefined ? undefined : it;
  picture?.('is photographed in every kind of theme', async () => {
    const tree = await refusedTree();
    const target = { runFolder: WHOLE(), tree, path: 0 };
    for (const [name, theme, kind] of THEMES) {
      await workbench().update('colorTheme', theme, vscode.ConfigurationTarget.Global);
      for (const command of ['openDashboard', 'openTree', 'openTrajectory'] as const) {
        await vscode.commands.executeCommand(commandId(command), target);
        const { frame, selector } = PAINTED[command];
        await until(
          async () =>
            Number(await page('count', { selector, ...(frame && { frame: `${frame}.${kind}` }) })) > 0,
          `${selector} in theme ${theme}`,
        );
        await page('eval', { expression: TWO_FRAMES, ...(frame && { frame }) });
        await shoot(`${command.replace('open', '').toLowerCase()}-${name}`);
      }
    }
    await workbench().update('colorTheme', undefined, vscode.ConfigurationTarget.Global);
  });
});

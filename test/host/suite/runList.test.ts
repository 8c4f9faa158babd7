import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { App } from '../../../src/extension/app.ts';
import { commandId, type CommandName, RESOLVED_CONFIG, VIEWS } from '../../../src/extension/names.ts';
import { FILES } from '../../../src/run/layout.ts';
import {
  activated,
  at,
  closeEditors,
  foldRow,
  hasPage,
  page,
  row,
  rowLabels,
  shoot,
  unfold,
  until,
  WHOLE,
} from './host.ts';

const KEPT = (name: string): string => at('kept', name);
const run = (name: CommandName, ...args: unknown[]): Thenable<unknown> =>
  vscode.commands.executeCommand(commandId(name), ...args);

/** A run folder with the facts of another up to and with the first that `isLast` says; with all where it says none. */
function copyRun(folder: string, isLast: (line: string) => boolean = () => false): void {
  mkdirSync(folder, { recursive: true });
  cpSync(join(WHOLE(), FILES.manifest), join(folder, FILES.manifest));
  const lines = readFileSync(join(WHOLE(), FILES.events), 'utf8').split('\n');
  const end = lines.findIndex(isLast);
  writeFileSync(
    join(folder, FILES.events),
    end < 0 ? lines.join('\n') : lines.slice(0, end + 1).join('\n') + '\n',
  );
}

describe('the list of runs', function () {
  let app: App;

  before(async function () {
    if (!hasPage) this.skip();
    app = (await activated()).exports as App;
    mkdirSync(KEPT('empty-1'), { recursive: true });
    cpSync(join(WHOLE(), FILES.manifest), join(KEPT('empty-1'), FILES.manifest));
    copyRun(KEPT('single-1'), line => line.includes('"type":"step-finished"'));
    await vscode.commands.executeCommand(`${VIEWS.runs}.focus`);
    await run('addRunsFolder', vscode.Uri.file(KEPT('')));
  });

  after(async () => {
    await app.explorer.show({ filter: '', grouping: 'none' });
    await vscode.workspace
      .getConfiguration('branchpoint')
      .update('runsFolders', undefined, vscode.ConfigurationTarget.Workspace);
    for (const folder of [KEPT(''), at('many'), at('.vscode')])
      rmSync(folder, { recursive: true, force: true });
    await closeEditors();
    await app.runs.refresh();
  });

  it('shows the runs of a folder that was added, also one without a fact and one of a single step', async () => {
    assert.ok(await row('Run empty-1, interrupted, step 0 of 4'));
    assert.match(await row('Run single-1, interrupted, step 1 of 4'), /mean reward [\d.]+$/);
    await unfold('Run empty-1', 'Config (resolved)');
    assert.ok(!(await rowLabels()).some(label => label.startsWith('Steps')));
    await foldRow('Run empty-1');
    await unfold('Run single-1', 'Steps, 1');
    await foldRow('Run single-1');
  });

  it('shows a run’s checks, configuration, log and commit', async () => {
    await unfold('Run whole-1', 'Config (resolved), whole');
    const labels = await rowLabels();
    assert.ok(labels.includes('Checks, not checked yet'));
    assert.ok(labels.includes('Log, not recorded'));
    assert.ok(labels.some(label => /^Git, (not recorded|commit [0-9a-f]{7}\b)/.test(label)));
    await page('click', { selector: '.pane-body .monaco-list-row[aria-label^="Config (resolved)"]' });
    const document = await until(() => {
      const open = vscode.window.activeTextEditor?.document;
      return open?.uri.scheme === RESOLVED_CONFIG && open;
    }, 'the resolved configuration');
    assert.equal((JSON.parse(document.getText()) as { name: string }).name, 'whole');
    await foldRow('Run whole-1');
  });

  it('opens what differed from a run’s commit, from its row and from its dashboard', async () => {
    const runFolder = KEPT('empty-1');
    const diff =
      '--- a/reward.mjs\n+++ b/reward.mjs\n@@ -1 +1 @@\n-export const bonus = 0;\n+export const bonus = 1;\n';
    writeFileSync(join(runFolder, FILES.changes), diff);
    const opened = (): Promise<vscode.TextDocument> =>
      until(() => {
        const open = vscode.window.activeTextEditor?.document;
        return open?.uri.fsPath === join(runFolder, FILES.changes) && open;
      }, 'the diff');
    await run('openGitDiff', { runFolder });
    const document = await opened();
    assert.deepEqual([document.languageId, document.getText()], ['diff', diff]);
    await closeEditors();
    await run('openDashboard', { runFolder });
    const button = {
      frame: 'body[data-view="dashboard"]',
      selector: '[data-command="gitDiff"]:not([hidden])',
    };
    await until(async () => Number(await page('count', button)) > 0, 'the button');
    await page('click', button);
    await opened();
    await closeEditors();
  });

  it('takes a label and tags, which the folder keeps', async () => {
    await run('renameRun', { runFolder: KEPT('single-1'), label: 'One step' });
    await run('tagRun', { runFolder: KEPT('single-1'), tags: 'paper, seed 1' });
    await until(
      async () =>
        (await rowLabels()).some(label => /^Run One step \(single-1\),.*, tagged paper, seed 1$/.test(label)),
      'label and tags',
    );
    assert.deepEqual(JSON.parse(readFileSync(join(KEPT('single-1'), FILES.label), 'utf8')), {
      label: 'One step',
      tags: ['paper', 'seed 1'],
    });
  });

  it('is filtered by words of name, label, tag and status, and says so', async () => {
    await run('filterRuns', 'PAPER inter');
    await until(async () => {
      const labels = await rowLabels();
      return labels.length === 1 && labels[0]!.startsWith('Run One step');
    }, 'one row');
    assert.equal(app.explorer.view.description, '“PAPER inter”');
    assert.match(app.explorer.view.message ?? '', /^1 of \d+ runs match “PAPER inter”$/);
    await run('filterRuns', 'no such run');
    await until(
      async () => String(await page('text', { selector: '.pane-body' })).includes('No run matches'),
      'the way back',
    );
    await run('clearRunFilter');
    await row('Run whole-1');
    assert.equal(app.explorer.view.description, '');
  });

  it('is grouped by tag, status, configuration and day', async () => {
    await run('groupRuns', 'tag');
    await row('paper, 1 run');
    await row('Without a tag, ');
    await shoot('explorer-by-tag');
    await run('groupRuns', 'config');
    await row('whole, 3 runs');
    await run('groupRuns', 'day');
    await until(async () => (await rowLabels()).some(label => /^\d{4}-\d\d-\d\d, /.test(label)), 'a day');
    await run('groupRuns', 'status');
    await row('unreadable, 1 run');
    assert.equal(app.explorer.view.description, 'by status');
    await app.explorer.reveal(WHOLE());
    assert.deepEqual(app.explorer.selectedRuns, [WHOLE()]);
    await run('groupRuns', 'none');
  });

  it('lets two runs be selected and compared', async () => {
    // A click would also open the row, and what is under it would be selected next.
    const expandMode = vscode.workspace.getConfiguration('workbench');
    await expandMode.update('tree.expandMode', 'doubleClick', vscode.ConfigurationTarget.Global);
    await app.explorer.show({ filter: 'interrupted' });
    await row('Run One step');
    // A list that is drawn anew just then forgets a click, so that it is done again.
    const pair = await until(async () => {
      await page('click', {
        selector: '.pane-body .monaco-list-row[aria-label^="Run One step"] .monaco-highlighted-label',
      });
      await page('press', { key: 'Shift+ArrowDown' });
      return until(
        () => app.explorer.selectedRuns.length === 2 && app.explorer.selectedRuns,
        'two runs',
        1000,
      ).catch(() => undefined);
    }, 'two selected runs');
    await page('press', { key: 'Shift+F10' });
    const entries = await until(async () => {
      const found = (await page('eval', {
        expression: `[document, ...[...document.querySelectorAll('*')].flatMap(e => e.shadowRoot ?? [])]
          .flatMap(root => [...root.querySelectorAll('.monaco-menu .action-label')].map(e => e.textContent))`,
      })) as string[];
      return found.length > 5 && found;
    }, 'the menu');
    for (const title of ['Configuration Differences to…', 'Tag Run…', 'Delete Run…'])
      assert.ok(entries.includes(title), entries.join(', '));
    await shoot('explorer-menu');
    await page('press', { key: 'Escape' });
    await run(
      'diffConfigurations',
      { kind: 'run', runFolder: pair[0] },
      pair.map(runFolder => ({ kind: 'run', runFolder })),
    );
    const tab = await until(() => {
      const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
      return input instanceof vscode.TabInputTextDiff && input;
    }, 'the diff of two configurations');
    assert.equal(tab.original.scheme, RESOLVED_CONFIG);
    await app.explorer.show({ filter: '' });
    await expandMode.update('tree.expandMode', undefined, vscode.ConfigurationTarget.Global);
  });

  it('clones a run’s configuration beside the original', async () => {
    const path = String(await run('cloneConfiguration', { runFolder: WHOLE() }));
    try {
      assert.equal(path, at('recorded', 'tiny-2.branchpoint.json'));
      const text = readFileSync(path, 'utf8');
      assert.ok(text.startsWith('// A run of sums.'));
      assert.match(text, /"name": "tiny-2"/);
      assert.equal(vscode.window.activeTextEditor?.document.uri.fsPath, path);
    } finally {
      rmSync(path, { force: true });
    }
  });

  it('deletes a run only after it was told so, and none that is live', async () => {
    const folder = KEPT('gone-1');
    copyRun(folder);
    await app.runs.refresh();
    await row('Run gone-1');
    const asked: string[] = [];
    const answer = (isSure: boolean): void => {
      app.confirm = question => {
        asked.push(question);
        return Promise.resolve(isSure);
      };
    };
    const before = app.confirm;
    try {
      const lock = {
        pid: process.pid,
        socket: 'none',
        startedAt: '',
        token: 'x',
        host: hostname(),
        birth: '',
      };
      writeFileSync(join(folder, FILES.lock), JSON.stringify(lock));
      answer(true);
      await run('deleteRun', { runFolder: folder });
      assert.deepEqual([asked, existsSync(folder)], [[], true]);
      rmSync(join(folder, FILES.lock));
      answer(false);
      await run('deleteRun', { runFolder: folder });
      assert.ok(existsSync(folder));
      answer(true);
      await run('deleteRun', { runFolder: folder });
      assert.ok(!existsSync(folder));
      assert.deepEqual(asked, ['Delete gone-1 for good?', 'Delete gone-1 for good?']);
    } finally {
      app.confirm = before;
    }
    await until(
      async () => !(await rowLabels()).some(label => label.startsWith('Run gone-1')),
      'its row to go',
    );
  });

  it('has room for a thousand', async () => {
    for (let number = 1; number <= 1000; number++)
      copyRun(at('many', `many-${number}`), line => line.includes('"type":"step-finished"'));
    await run('addRunsFolder', vscode.Uri.file(at('many')));
    assert.ok(app.runs.list().length > 1000);
    await run('filterRuns', 'many-777');
    assert.ok(await row('Run many-777, interrupted, step 1 of 4'));
    await run('clearRunFilter');
    await until(
      async () => (await rowLabels()).filter(label => label.startsWith('Run ')).length > 10,
      'the rows',
    );
    await shoot('explorer-many');
  });
});

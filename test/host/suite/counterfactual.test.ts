import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { change as signedTo } from '../../../src/core/figures.ts';
import { summarizeChange, type PathChange } from '../../../src/core/likelihood.ts';
import { isIdentical } from '../../../src/core/replay.ts';
import type { Rescored } from '../../../src/core/rescore.ts';
import { payloadOf } from '../../../src/core/tags.ts';
import { segmentsOf } from '../../../src/core/tree.ts';
import type { App } from '../../../src/extension/app.ts';
import type { Branched } from '../../../src/extension/branchPlan.ts';
import { commandId, type CommandName, REPLAYED, RESCORED, TRAJECTORY } from '../../../src/extension/names.ts';
import type { ReplayOutcome } from '../../../src/extension/replayText.ts';
import { runProgram } from '../../../src/extension/workers.ts';
import { counterfactualIds } from '../../../src/run/counterfactuals.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, closeEditors, hasPage, page, shoot, SMALL, until, WHOLE } from './host.ts';

const run = <T>(name: CommandName, argument: unknown): Thenable<T> =>
  vscode.commands.executeCommand<T>(commandId(name), argument);
const active = (scheme: string): Promise<vscode.TextEditor> =>
  until(() => {
    const editor = vscode.window.activeTextEditor;
    return editor?.document.uri.scheme === scheme && editor;
  }, `an editor of ${scheme}`);

/** A place behind a tool's result. */
async function answered(
  runFolder: string,
): Promise<{ runFolder: string; tree: string; path: number; segment: number; result: string }> {
  const opened = openRun(runFolder);
  for (const { id } of await opened.trees()) {
    const tree = await opened.tree(id);
    const segment = tree.segments.findIndex(({ kind }) => kind === 'tool');
    const path = tree.paths.findIndex((_, index) => segmentsOf(tree, index).includes(segment));
    if (segment >= 0)
      return { runFolder, tree: id, path, segment, result: payloadOf(tree.segments[segment]!.text) };
  }
  throw new Error('No tree of the run has a tool’s result.');
}

describe('what might have been', () => {
  let folder: string;
  let runFolder: string;
  before(async () => {
    const { program } = (await activated()).exports as App;
    folder = mkdtempSync(join(tmpdir(), 'counterfactual-'));
    const small = JSON.parse(readFileSync(SMALL(), 'utf8')) as Record<string, object>;
    const home = dirname(SMALL());
    const config = {
      ...small,
      ...{ steps: 1, runs: folder, policy: { path: join(home, 'policy') } },
      data: { train: join(home, 'tasks.jsonl') },
      evaluation: {},
    };
    const file = join(folder, 'once.branchpoint.json');
    writeFileSync(file, JSON.stringify(config));
    const { code, err } = await runProgram(program(), ['train', file]);
    assert.equal(code, 0, err);
    runFolder = join(folder, 'small-1');
  });
  after(async () => {
    await closeEditors();
    rmSync(folder, { recursive: true });
  });

  it('is drawn from a step by a worker, and stands in the tree as a ghost', async () => {
    const trees = readFileSync(join(runFolder, 'trees.jsonl'), 'utf8');
    const place = { runFolder, tree: '1.0', path: 0, segment: 1 };
    const branched = await run<Branched>('branchFromHere', { ...place, token: 2, samples: 3, seed: 7 });
    assert.equal(branched.id, '1.0~1');
    assert.equal(branched.rewards.length, 3);
    assert.equal(branched.weights.checkpoint, 'step-000001');
    assert.deepEqual(counterfactualIds(runFolder), ['1.0~1']);
    assert.equal(readFileSync(join(runFolder, 'trees.jsonl'), 'utf8'), trees);
    if (!hasPage) return;
    const frame = 'body[data-view="tree"]';
    await until(
      async () => Number(await page('count', { selector: 'g.untrained', frame })) >= 3,
      'the ghosts of three samples',
    );
    await shoot('counterfactual');
  });

  it('is drawn with what is usual by one Enter, from a menu that says what that is', async function () {
    if (!hasPage) this.skip();
    const asking = run<Branched>('branchFromHere', { runFolder, tree: '1.0', path: 1, segment: 0 });
    const rows = '.quick-input-list .monaco-list-row';
    await until(async () => Number(await page('count', { selector: rows })) >= 4, 'the menu');
    const shown = (await page('text', { selector: '.quick-input-list' })) as string;
    assert.match(shown, /Draw 4 samples.*Begin again after the prompt/s);
    assert.match(shown, /Weights….*step-000001/s);
    await shoot('branch-menu');
    await page('press', { key: 'Enter' });
    const branched = await asking;
    assert.equal(branched.id, '1.0~2');
    assert.equal(branched.rewards.length, 4);
  });

  it('is left by Cancel: nothing of it stays', async function () {
    if (!hasPage) this.skip();
    const before = counterfactualIds(runFolder);
    // What other tests were told has buttons of its own.
    await vscode.commands.executeCommand('notifications.clearAll');
    const branching = run<Branched>('branchFromHere', {
      ...{ runFolder, tree: '1.0', path: 0, segment: 0 },
      // So many that they are not drawn before the button is found.
      ...{ samples: 8192, seed: 9 },
    });
    await vscode.commands.executeCommand('notifications.showList');
    const cancel =
      '.notifications-center .notification-list-item-buttons-container .monaco-button:has-text("Cancel")';
    await until(async () => Number(await page('count', { selector: cancel })) > 0, 'the button Cancel');
    await page('click', { selector: cancel });
    assert.equal(await branching, undefined);
    await vscode.commands.executeCommand('notifications.hideList');
    assert.deepEqual(counterfactualIds(runFolder), before);
  });

  it('goes on from a tool’s result that the user rewrites in a text of its own', async function () {
    if (!hasPage) this.skip();
    const app = (await activated()).exports as App;
    const { program } = app;
    // What the program is given is all that matters here: it draws elsewhere.
    const script = join(folder, 'told.cjs');
    const told = { id: '1.0~1', rewards: [], weights: { checkpoint: 'initial', step: 0 } };
    writeFileSync(
      script,
      `const { copyFileSync } = require('node:fs');
copyFileSync(process.argv.find(one => one.startsWith('--tool-result=')).slice(14), ${JSON.stringify(`${script}.given`)});
console.log(${JSON.stringify(JSON.stringify(told))});\n`,
    );
    await closeEditors();
    const { result, ...place } = await answered(WHOLE());
    const asking = run<Branched>('branchFromHere', place);
    const edit = '.quick-input-list .monaco-list-row[aria-label*="Edit the tool"]';
    await until(async () => Number(await page('count', { selector: edit })) > 0, 'the way to the result');
    await page('click', { selector: edit });
    assert.equal(await asking, undefined);
    const editor = await active('file');
    const { document } = editor;
    assert.equal(document.getText(), result);
    assert.equal(vscode.window.tabGroups.all.length, 1, 'no empty half beside the draft');
    await shoot('branch-draft');
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    await editor.edit(change => change.replace(all, 'forty-two'));
    app.program = () => ({ ...program(), script });
    try {
      assert.deepEqual(await run<Branched>('useDraft', document.uri), told);
    } finally {
      app.program = program;
    }
    assert.equal(readFileSync(`${script}.given`, 'utf8'), 'forty-two');
  });

  it('opens as text that says that nothing was trained on it', async () => {
    await run('openTrajectory', { runFolder, tree: '1.0~1', path: 2 });
    const { document } = await active(TRAJECTORY);
    assert.match(document.lineAt(0).text, /counterfactual.*nothing of it was trained on/i);
    assert.match(document.getText(), /── turn 1 · model · .* · not trained/);
    assert.equal(
      await run('branchFromHere', { runFolder, tree: '1.0~1', path: 2, segment: 1, samples: 1 }),
      undefined,
    );
  });

  it('is set against what was: a replay is identical, or a text says where it diverged and opens both sides', async () => {
    const same = await run<ReplayOutcome>('replayRollout', { runFolder, tree: '1.0', tools: 'stored' });
    assert.equal(same.weights.checkpoint, 'initial');
    assert.ok(same.trees.length === 1 && isIdentical(same.trees[0]!));
    // The same trees under another seed, which they were not drawn with.
    const differing = join(folder, 'changed-1');
    cpSync(runFolder, differing, { recursive: true });
    const manifest = readFileSync(join(differing, 'run.json'), 'utf8');
    writeFileSync(join(differing, 'run.json'), manifest.replace(/"seed": \d+/, '"seed": 99'));
    const found = await run<ReplayOutcome>('replayRollout', {
      runFolder: differing,
      tree: '1.0',
      path: 0,
      tools: 'stored',
    });
    const [parted] = found.trees[0]!.paths;
    assert.equal(parted!.cause?.kind, 'sampler');
    const { document } = await active(TRAJECTORY);
    const text = (await vscode.workspace.openTextDocument(document.uri)).getText();
    assert.match(text, /^# Drawn again to be compared/);
    await shoot('replay-diff');
    const shown = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === REPLAYED)!;
    assert.match(
      shown.lineAt(0).text,
      /^# changed-1, step 1, drawn again with the initial policy: 0 of 1 tree identical$/,
    );
    const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>(
      'vscode.executeLinkProvider',
      shown.uri,
    );
    assert.equal(shown.getText(links[1]!.range), 'trajectory 0');
    await vscode.window.showTextDocument(shown, { preview: false });
    await shoot('replay');
  });

  it('is told of a trajectory under two checkpoints, as its text with what became likelier', async () => {
    const checkpoints = ['initial', 'step-000001'];
    const change = await run<PathChange>('compareCheckpoints', {
      runFolder,
      tree: '1.0',
      path: 0,
      checkpoints,
    });
    const { change: total, tokens } = summarizeChange(await openRun(runFolder).tree('1.0'), 0, change);
    const { document } = await active(TRAJECTORY);
    const head = `# Δ log p from initial to step-000001: ${signedTo(total, 2)} over ${tokens} drawn tokens`;
    assert.ok(document.getText().includes(head), document.getText().slice(0, 600));
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
      'vscode.executeCodeLensProvider',
      document.uri,
    );
    assert.ok(lenses.some(({ command }) => command?.title.startsWith('Overlay: Δ log p')));
    const again = lenses.find(({ command }) => command?.title === 'Compare Checkpoints…')!.command!;
    assert.deepEqual(again.arguments, [{ runFolder, tree: '1.0', path: 0 }], 'another two can be chosen');
    const overlay = (): unknown => vscode.workspace.getConfiguration('branchpoint').get('trajectory.overlay');
    const before = overlay();
    await run('cycleOverlay', undefined);
    assert.equal(overlay(), before, 'what would not be seen is not changed');
    await shoot('checkpoints');
    assert.equal(
      await run('compareCheckpoints', { runFolder, tree: '1.0 replay 1', path: 0, checkpoints }),
      undefined,
    );
  });

  it('is told of other rewards, from a text with the run’s own settings that is edited and gone on with', async () => {
    await closeEditors();
    await run('rescoreRollouts', { runFolder: WHOLE(), steps: '1-2' });
    const editor = await active('file');
    const { document } = editor;
    assert.equal(document.languageId, 'jsonc');
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
      'vscode.executeCodeLensProvider',
      document.uri,
    );
    assert.ok(lenses.some(({ command }) => command?.title.includes('Score Steps 1-2 of whole-1 Again')));
    const at = document.getText().indexOf('"formatPenalty": -1');
    await editor.edit(edit =>
      edit.replace(
        new vscode.Range(document.positionAt(at), document.positionAt(at + '"formatPenalty": -1'.length)),
        '"formatPenalty": -0.5',
      ),
    );
    const found = await run<Rescored>('useDraft', document.uri);
    assert.equal(found.steps, 2);
    assert.ok(found.meanAfter > found.meanBefore);
    const shown = (await active(RESCORED)).document;
    assert.equal(vscode.window.tabGroups.all.length, 1, 'no empty half beside it');
    assert.match(
      shown.lineAt(0).text,
      /^# whole-1 under other reward settings: \d+ trajectories of \d+ groups in 2 steps$/,
    );
    const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>(
      'vscode.executeLinkProvider',
      shown.uri,
    );
    const named = links.filter(({ target }) => target?.scheme === 'command');
    assert.ok(named.length > 0);
    assert.equal(shown.getText(named[0]!.range), found.groups[0]!.tree);
    await shoot('rescored');
    // The same text again, of fewer steps: its groups are folded as they are now.
    const rewardFile = join(folder, 'other.reward.json');
    writeFileSync(rewardFile, '{ "formatPenalty": -0.25 }');
    const again = await run<Rescored>('rescoreRollouts', { runFolder: WHOLE(), steps: '2', rewardFile });
    assert.equal(again.steps, 1);
    assert.match(shown.lineAt(0).text, /groups in 1 step$/);
    const lines = shown.getText().split('\n');
    const unfolded = lines.flatMap((line, number) => (/^\s+\S/.test(line) ? [] : [number]));
    assert.ok(unfolded.length < lines.length);
    const inSight = (): number[] =>
      vscode.window.activeTextEditor!.visibleRanges.flatMap(({ start, end }) =>
        Array.from({ length: end.line - start.line + 1 }, (_, i) => start.line + i),
      );
    await until(() => inSight().every(line => unfolded.includes(line)), 'only the first line of every group');
  });
});

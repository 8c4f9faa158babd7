import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandId, PANELS } from '../../../src/extension/names.ts';
import { FILES } from '../../../src/run/layout.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, closeEditors, hasPage, page, shoot, until, WHOLE } from './host.ts';

const frame = `body[data-view="tree"]`;
const ask = (expression: string): Promise<unknown> => page('eval', { frame, expression });
const chosen = (): Promise<unknown> =>
  ask(`document.activeElement?.closest('[data-key]')?.dataset.key ?? ''`);
const bars = async (): Promise<number> => Number(await page('count', { frame, selector: 'svg .bar' }));
const titles = (): string[] =>
  vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(PANELS.tree))
    .map(({ label }) => label);

const show = (runFolder: string, tree: string): Thenable<unknown> =>
  vscode.commands.executeCommand(commandId('openTree'), { runFolder, tree });

/** A copy of the recorded run as it was while its last step grew, and the lines that were still to come. */
function growingRun(): { folder: string; tree: string; facts: string[]; trees: string[] } {
  const folder = join(mkdtempSync(join(tmpdir(), 'branchpoint-growing-')), 'growing-1');
  cpSync(WHOLE(), folder, { recursive: true });
  const lines = (name: string): string[] =>
    readFileSync(join(WHOLE(), name), 'utf8').split('\n').filter(Boolean);
  const facts = lines(FILES.events);
  const trees = lines(FILES.trees);
  const { id, step } = JSON.parse(trees.at(-1)!) as { id: string; step: number };
  const begun =
    1 +
    facts.findIndex(line => {
      const fact = JSON.parse(line) as { type: string; tree?: string; segment?: number };
      return fact.type === 'segment-grown' && fact.tree === id && fact.segment === 1;
    });
  const written = trees.filter(line => (JSON.parse(line) as { step: number }).step < step);
  writeFileSync(join(folder, FILES.events), text(facts.slice(0, begun)));
  writeFileSync(join(folder, FILES.trees), text(written));
  rmSync(join(folder, FILES.treeIndex), { force: true });
  return { folder, tree: id, facts: facts.slice(begun), trees: trees.slice(written.length) };
}

const text = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('');

describe('the rollout tree', function () {
  before(async function () {
    if (!hasPage) this.skip();
    await activated();
    await closeEditors();
  });
  after(closeEditors);

  it('is walked by keys, each of which moves what is focused and what the card says', async () => {
    const run = openRun(WHOLE());
    const { id } = (await run.trees()).find(({ branches }) => branches! > 0)!;
    const { segments } = await run.tree(id);
    await show(WHOLE(), id);
    await until(async () => (await bars()) === segments.length, 'a bar for every segment');
    await page('click', { frame, selector: '[data-key="s0"] .bar' });
    assert.equal(await chosen(), 's0');
    const walked: unknown[] = [];
    for (const key of ['n', 'n', 'p', 'p', 'End', 'Home', 'b']) {
      await page('press', { key });
      walked.push(await chosen());
    }
    const first = segments.findIndex(({ parent }) => parent === 0);
    assert.deepEqual(
      [walked[0], walked[2], walked[3], walked[5], walked[6]],
      [`s${first}`, `s${first}`, 's0', 's0', 's0'],
    );
    assert.notEqual(walked[4], 's0');
    await page('press', { key: 'Space' });
    await page('press', { key: 'n' });
    assert.match(String(await page('text', { frame, selector: '.card' })), /Turn 1[^]*Pinned[^]*Prompt/i);
    const item = `document.querySelector('[aria-selected="true"]')`;
    assert.deepEqual(
      await ask(
        `['role', 'aria-level', 'aria-posinset', 'tabindex'].map(name => ${item}.getAttribute(name)).concat(document.querySelectorAll('svg [tabindex="0"]').length)`,
      ),
      ['treeitem', '2', '1', '0', 1],
    );
    await page('press', { key: '?' });
    await until(
      async () => ask(`document.querySelector('dialog').open`) as Promise<boolean>,
      'the list of keys',
    );
    await page('press', { key: 'Escape' });
  });

  it('leads to the next tree of the step, and takes its tab along', async () => {
    const trees = await openRun(WHOLE()).trees();
    const at = trees.findIndex(({ step }, i) => trees[i + 1]?.step === step);
    await show(WHOLE(), trees[at]!.id);
    await until(() => titles().some(title => title.endsWith(`tree ${trees[at]!.id}`)), 'the tree');
    await until(
      async () => Number(await page('count', { frame, selector: '[data-way="nextTree"]:enabled' })) > 0,
      'a way to the next tree',
    );
    await page('click', { frame, selector: '[data-way="nextTree"]' });
    await until(
      () => titles().some(title => title.endsWith(`tree ${trees[at + 1]!.id}`)),
      'the next tree’s title',
    );
    await closeEditors();
  });

  it('grows while its step is under way, and loses neither the selection nor the place', async () => {
    const { folder, tree, facts, trees } = growingRun();
    await show(folder, tree);
    await until(async () => (await bars()) > 0, 'the first segments');
    const before = await bars();
    assert.match(String(await page('text', { frame, selector: 'header' })), /still growing/);
    await page('click', { frame, selector: '[data-key="s1"] .bar' });
    assert.equal(await chosen(), 's1');
    const isEnd = (line: string): boolean => /"type":"tree-finished"/.test(line);
    const ends = facts.findIndex(isEnd);
    const half = Math.floor(ends / 2);
    appendFileSync(join(folder, FILES.events), text(facts.slice(0, half)));
    await until(async () => (await bars()) > before, 'more segments');
    const middle = await bars();
    assert.equal(await chosen(), 's1');
    await shoot('tree-growing');
    appendFileSync(join(folder, FILES.events), text(facts.slice(half, ends)));
    await until(async () => (await bars()) > middle, 'still more segments');
    appendFileSync(join(folder, FILES.trees), text(trees));
    appendFileSync(join(folder, FILES.events), text(facts.slice(ends)));
    const written = await openRun(folder).tree(tree);
    await until(async () => (await bars()) === written.segments.length, 'all segments');
    await until(
      async () => /update used/.test(String(await page('text', { frame, selector: 'header' }))),
      'the credit',
    );
    assert.equal(await chosen(), 's1');
    await closeEditors();
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { LANGUAGE_TOOLS } from '../../../src/extension/names.ts';
import { openRun } from '../../../src/run/reader.ts';
import { activated, WHOLE } from './host.ts';

async function asked(tool: keyof typeof LANGUAGE_TOOLS, input: object): Promise<string> {
  const result = await vscode.lm.invokeTool(LANGUAGE_TOOLS[tool], { input, toolInvocationToken: undefined });
  return result.content.map(part => (part as vscode.LanguageModelTextPart).value).join('');
}

describe('the tools for language models', () => {
  before(activated);

  it('list the runs, read a step, and explain a branch by what the step named', async () => {
    assert.match(await asked('listRuns', {}), /whole-1/);
    const step = await asked('readStep', { run: 'whole-1' });
    assert.match(step, /^# Step \d+ of \d+/);
    const run = openRun(WHOLE());
    const trees = await Promise.all((await run.trees()).map(({ id }) => run.tree(id)));
    const { id } = trees.find(({ decisions }) => decisions.some(({ outcome }) => outcome === 'refuse'))!;
    const branch = await asked('explainBranch', { run: WHOLE(), tree: id });
    assert.match(branch, /P = clamp\(/);
    assert.match(branch, /→ refused/);
  });

  it('say what is there where a run or a step is not', async () => {
    await assert.rejects(asked('readStep', { run: 'no-such-run' }), /There is no run no-such-run/);
    await assert.rejects(asked('readStep', { run: 'whole-1', step: 9999 }), /no finished step 9999/);
  });
});

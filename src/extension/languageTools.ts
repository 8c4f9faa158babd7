/** What language models may read of runs: a list, a step, a branch. They start nothing and change nothing. Knows nothing of models. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { branchAccount, stepAccount } from '../core/accounts.ts';
import { fold } from '../core/fold.ts';
import { FailureError } from '../core/types.ts';
import { openRun } from '../run/reader.ts';
import type { RunSummary } from '../run/runs.ts';
import type { App } from './app.ts';
import { LANGUAGE_TOOLS, type LanguageToolName } from './names.ts';
import { runLabel } from './rows.ts';

type Input = Readonly<Record<string, unknown>>;
type Read = (app: App, input: Input) => Promise<string>;

const READ: Record<LanguageToolName, Read> = {
  async listRuns({ runs }) {
    await runs.refresh();
    const lines = runs.list().map(run => `- ${runLabel(run)}; created ${run.created}; folder ${run.folder}`);
    return lines.length > 0 ? lines.join('\n') : 'There is no run.';
  },
  async readStep(app, input) {
    const run = runNamed(app, input.run);
    const last = (await app.runs.state(run.folder)).summaries.at(-1)?.step;
    const step = input.step === undefined ? last : Number(input.step);
    const account =
      step === undefined
        ? undefined
        : stepAccount(fold(await openRun(run.folder).events({ headlines: true, step })), step);
    if (account === undefined)
      throw new FailureError({
        where: 'store',
        message: `${run.name} has no finished step${step === undefined ? '' : ` ${step}`}.`,
        ...(last !== undefined && { fix: `Its last finished step is ${last}.` }),
      });
    return account;
  },
  async explainBranch(app, input) {
    const run = runNamed(app, input.run);
    const segment = input.segment === undefined ? undefined : Number(input.segment);
    return branchAccount(await openRun(run.folder).tree(String(input.tree)), segment);
  },
};

/** By its folder, or by its name where only one has it. */
function runNamed({ runs }: App, name: unknown): RunSummary {
  const all = runs.list();
  const named = all.filter(run => run.folder === name || basename(run.folder) === name);
  const [found, other] = named;
  if (found && !other) return found;
  throw new FailureError({
    where: 'store',
    message: found ? `Several runs are called ${String(name)}.` : `There is no run ${String(name)}.`,
    fix: found
      ? `Name one by its folder: ${named.map(({ folder }) => folder).join(', ')}.`
      : `There are ${all.map(run => run.name).join(', ') || 'none'}.`,
  });
}

export function registerLanguageTools(app: App): vscode.Disposable {
  return vscode.Disposable.from(
    ...(Object.keys(READ) as LanguageToolName[]).map(name =>
      vscode.lm.registerTool<Input>(LANGUAGE_TOOLS[name], {
        async invoke({ input }) {
          const text = await READ[name](app, input);
          return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
        },
      }),
    ),
  );
}

/** What differed from the commit that a run was started at, as a text. Knows nothing of how it is recorded. */
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';
import { FILES } from '../run/layout.ts';
import { hasGitDiff, readManifest } from '../run/manifest.ts';
import type { App } from './app.ts';
import { COMMANDS } from './names.ts';
import { runOf } from './pickers.ts';
import { targetOf } from './target.ts';

export const GIT_COMMANDS = {
  async openGitDiff(app: App, argument: unknown): Promise<void> {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.openGitDiff.title);
    if (runFolder === undefined) return;
    if (!hasGitDiff(runFolder)) throw withoutDiff(runFolder);
    await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(join(runFolder, FILES.changes)));
  },
};

function withoutDiff(runFolder: string): FailureError {
  const { git } = readManifest(runFolder);
  const name = basename(runFolder);
  if (git === undefined)
    return new FailureError({
      where: 'store',
      message: `${name} recorded no Git diff, for its configuration was in no Git repository.`,
      fix: 'Keep configurations in a repository, so that their runs name its commit.',
    });
  const commit = git.commit.slice(0, 7);
  return new FailureError({
    where: 'store',
    message: git.isDirty
      ? `${name} recorded no Git diff: beside ${commit} there were only files that Git does not track, or more changes than are kept.`
      : `${name} recorded no Git diff: it was started from ${commit} as that is.`,
  });
}

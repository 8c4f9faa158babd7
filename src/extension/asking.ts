/** Lets the program do what a command asks, with its words as progress that can be cancelled. Knows nothing of what is asked. */
import * as vscode from 'vscode';
import type { App } from './app.ts';
import { unlinked } from './unlinked.ts';
import { failureOf, lastLine, runProgram } from './workers.ts';

/** Characters of an outcome that speaks of every token or trajectory. */
const KEPT = 1 << 28;

/** The last line of what the program printed, which is its outcome; undefined where it was cancelled. Rejects in the program's words. */
export async function askProgram(
  app: Pick<App, 'program'>,
  title: string,
  args: readonly string[],
): Promise<string | undefined> {
  const ending = new AbortController();
  const outcome = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: unlinked(title), cancellable: true },
    (progress, token) => {
      token.onCancellationRequested(() => ending.abort());
      const line = (message: string): void => progress.report({ message: unlinked(message) });
      return runProgram(app.program(), args, ending.signal, { line, kept: KEPT });
    },
  );
  if (ending.signal.aborted) return undefined;
  if (outcome.code !== 0) throw failureOf(outcome);
  return lastLine(outcome.out);
}

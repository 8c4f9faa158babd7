/** Lets the program do what a command asks, with its words as progress that can be cancelled. Knows nothing of what is asked. */
import * as vscode from 'vscode';
import type { App } from './app.ts';
import { unlinked } from './unlinked.ts';
import { failureOf, lastLine, runProgram } from './workers.ts';

/** Characters of an outcome that speaks of every token or trajectory. */
const KEPT = 1 << 28;

/** Something long as a message with its progress and a way to end it: then the signal is given. */
export const cancellable = <T>(
  title: string,
  work: (
    signal: AbortSignal,
    progress: vscode.Progress<{ message?: string; increment?: number }>,
  ) => Promise<T>,
): Thenable<T> =>
  vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: unlinked(title), cancellable: true },
    (progress, token) => {
      const ending = new AbortController();
      token.onCancellationRequested(() => ending.abort());
      return work(ending.signal, progress);
    },
  );

/** The last line of what the program printed, which is its outcome; undefined where it was cancelled. Rejects in the program's words. */
export const askProgram = (
  app: Pick<App, 'program'>,
  title: string,
  args: readonly string[],
): Thenable<string | undefined> =>
  cancellable(title, async (signal, progress) => {
    const line = (message: string): void => progress.report({ message: unlinked(message) });
    const outcome = await runProgram(app.program(), args, signal, { line, kept: KEPT });
    if (signal.aborted) return undefined;
    if (outcome.code !== 0) throw failureOf(outcome);
    return lastLine(outcome.out);
  });

/** Shows a failure once: one message, one action, and the whole of it in the log. Knows nothing of what failed. */
import * as vscode from 'vscode';
import type { Failure } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import { unlinked } from './unlinked.ts';

const SHOW_LOG = 'Show Log';

export interface Log extends Pick<vscode.LogOutputChannel, 'info' | 'warn' | 'error' | 'show'> {
  readonly name: string;
}

/** Tells the user; `what` is the sentence's subject: "Launch Run". Resolves when the message was answered or closed. */
export async function showFailure(log: Log, what: string, error: unknown): Promise<void> {
  const failure = toFailure(error);
  log.error(`${what}: ${inFull(failure)}`);
  if (error instanceof Error && failure.where === 'bug' && error.stack !== undefined) log.error(error.stack);
  const answer = await vscode.window.showErrorMessage(unlinked(`${what}: ${inFull(failure)}`), SHOW_LOG);
  if (answer === SHOW_LOG) log.show();
}

/** Tells the user something, which may speak of files; resolves with the action that he chose. */
export const tell = <A extends string>(message: string, ...actions: A[]): Thenable<A | undefined> =>
  vscode.window.showInformationMessage(unlinked(message), ...actions);

export const inFull = ({ message, fix }: Failure): string =>
  fix === undefined ? message : `${message} ${fix}`;

/** Where a promise that nobody waits for ends: its failure goes to the log. */
export function inBackground(log: Log, what: string, task: PromiseLike<unknown>): void {
  task.then(undefined, (error: unknown) => log.error(`${what}: ${inFull(toFailure(error))}`));
}

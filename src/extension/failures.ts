/** Shows a failure once: one message, one action, and the whole of it in the log. Knows nothing of what failed. */
import * as vscode from 'vscode';
import type { Failure } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import type { Absence } from './absent.ts';
import { commandId, COMMANDS, type CommandName } from './names.ts';
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

/** Says that there is nothing to choose from, and does what helps where the user chooses that. */
export const tellAbsence = ({ message, next, argument }: Absence): Promise<void> =>
  offer(message, next, argument);

/** Tells the user something with the command to go on with; resolves when that is done, or the message was closed. */
export async function offer(message: string, next: CommandName, argument?: object): Promise<void> {
  const { title } = COMMANDS[next];
  if ((await tell(message, title)) === title) await vscode.commands.executeCommand(commandId(next), argument);
}

export const inFull = ({ message, fix }: Failure): string =>
  fix === undefined ? message : `${message} ${fix}`;

/** Where a promise that nobody waits for ends: its failure goes to the log. */
export function inBackground(log: Log, what: string, task: PromiseLike<unknown>): void {
  task.then(undefined, (error: unknown) => log.error(`${what}: ${inFull(toFailure(error))}`));
}

/** Asks before something that cannot be taken back. Knows nothing of what it is. */
import * as vscode from 'vscode';

/** True where the user chose the action, named by a verb; the window waits for the answer. */
export type Confirm = (question: string, detail: string, action: string) => Promise<boolean>;

export const confirm: Confirm = async (question, detail, action) =>
  (await vscode.window.showWarningMessage(question, { modal: true, detail }, action)) === action;

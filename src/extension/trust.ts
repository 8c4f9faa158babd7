/** Refuses what starts programs in a workspace that the user does not trust. Knows nothing of the programs. */
import * as vscode from 'vscode';
import { FailureError } from '../core/types.ts';

/** `what` begins the sentence: "A run". */
export function mustBeTrusted(what: string): void {
  if (vscode.workspace.isTrusted) return;
  throw new FailureError({
    where: 'config',
    message: `${what} starts programs that its configuration names, so it needs a trusted workspace.`,
    fix: 'Trust this workspace (“Workspaces: Manage Workspace Trust”), then try again.',
  });
}

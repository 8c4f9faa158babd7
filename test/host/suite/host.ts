/** What tests inside the extension host share: the workspace's places, waiting on a condition, and the page outside. Knows nothing of a particular test. */
import { join } from 'node:path';
import * as vscode from 'vscode';

export const EXTENSION = 'branchpoint.branchpoint';

/** Where the workspace's parts are; `test/host/workspace.ts` makes them. */
export const at = (...parts: string[]): string =>
  join(vscode.workspace.workspaceFolders![0]!.uri.fsPath, ...parts);

export const WHOLE = (): string => at('recorded', 'whole-1');
export const TORN = (): string => at('recorded', 'torn-1');
export const SMALL = (): string => at('small', 'small.branchpoint.json');

export async function activated(): Promise<vscode.Extension<unknown>> {
  const extension = vscode.extensions.getExtension<unknown>(EXTENSION)!;
  await extension.activate();
  return extension;
}

/** Looks again until `look` answers with something; fails with what was waited for. */
export async function until<T>(
  look: () => T | undefined | false | PromiseLike<T | undefined | false>,
  what: string,
  limitMs = 150_000,
): Promise<T> {
  for (const end = Date.now() + limitMs; Date.now() < end;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  throw new Error(`Waited ${limitMs / 1000} s in vain for ${what}.`);
}

/** The page that shows the workbench; `frame` names an element of the webview that is meant. */
export interface PageActions {
  screenshot: { path: string };
  press: { key: string };
  type: { text: string };
  click: { selector: string; frame?: string };
  hover: { selector: string; frame?: string };
  text: { selector: string; frame?: string };
  count: { selector: string; frame?: string };
  eval: { expression: string; frame?: string };
  refused: object;
}

/** True where the page can be looked at; a desktop VS Code runs the other tests only. */
export const hasPage = process.env.VSCODE_UI_DRIVER !== undefined;

export async function page<A extends keyof PageActions>(action: A, ask: PageActions[A]): Promise<unknown> {
  const response = await fetch(process.env.VSCODE_UI_DRIVER!, {
    method: 'POST',
    body: JSON.stringify({ action, ...ask }),
  });
  const { ok, error } = (await response.json()) as { ok?: unknown; error?: string };
  if (error !== undefined) throw new Error(`${action} ${JSON.stringify(ask)}: ${error}`);
  return ok;
}

/** What screen readers are told of the rows that the run explorer shows, top to bottom. */
export async function rowLabels(): Promise<string[]> {
  return (await page('eval', {
    expression: `Array.from(document.querySelectorAll('.pane-body .monaco-list-row'))
      .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index)).map(row => row.getAttribute('aria-label') ?? '')`,
  })) as string[];
}

/** The row of the run explorer whose label begins so; waits for it. */
export async function row(label: string): Promise<string> {
  return until(async () => (await rowLabels()).find(found => found.startsWith(label)), `a row “${label}”`);
}

/** Opens a row, where it is not open yet, and waits for one under it. */
export async function unfold(label: string, child: string): Promise<void> {
  await row(label);
  if (await isOpen(label, false))
    await page('click', { selector: `${rowSelector(label)} .monaco-tl-twistie` });
  await row(child);
}

/** Closes a row that is open. */
export async function foldRow(label: string): Promise<void> {
  await until(() => isOpen(label, true), `an open row “${label}”`);
  await page('click', { selector: `${rowSelector(label)} .monaco-tl-twistie` });
  await until(() => isOpen(label, false), `a closed row “${label}”`);
}

const rowSelector = (label: string): string => `.pane-body .monaco-list-row[aria-label^="${label}"]`;

const isOpen = async (label: string, open: boolean): Promise<boolean> =>
  Number(await page('count', { selector: `${rowSelector(label)}[aria-expanded="${open}"]` })) > 0;

export const closeEditors = (): Thenable<unknown> =>
  vscode.commands.executeCommand('workbench.action.closeAllEditors');

/** A picture of the whole window, where somebody wants to see it: BRANCHPOINT_SHOTS=DIR. */
export async function shoot(name: string): Promise<void> {
  const folder = process.env.BRANCHPOINT_SHOTS;
  if (folder !== undefined && hasPage) await page('screenshot', { path: join(folder, `${name}.png`) });
}

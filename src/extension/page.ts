/** What every webview is made of: its page and its end of the conversation. Knows nothing of what it shows or asks. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Message, Port } from '../protocol/channel.ts';
import type { Log } from './failures.ts';
import { inBackground } from './failures.ts';
import { shell } from './shell.ts';
import { whileShown } from './starting.ts';

/** How long a page may take to say its first word, and how often it is loaded again. */
const PATIENCE_MS = 20_000;
const TRIES = 2;

/** Scripts may run, and files may be read from the extension's own folders only. */
const pageOptions = (extension: vscode.Uri): vscode.WebviewOptions => ({
  enableScripts: true,
  localResourceRoots: ['dist', 'media'].map(folder => vscode.Uri.joinPath(extension, folder)),
});

/**
 * Loads a panel's page, and again where its script did not start: a busy window loses the script of a page now and then, and
 * the page stays blank for good. `view` names the bundle in dist/webview. Settles when the page has said its first word, or is closed.
 */
export function showPage(
  panel: vscode.WebviewPanel,
  extension: vscode.Uri,
  { view, title, log }: { view: string; title: string; log: Log },
): Promise<void> {
  const { webview } = panel;
  webview.options = pageOptions(extension);
  const load = (): void => void (webview.html = pageOf(extension, webview, view, title));
  load();
  // A hidden page is loaded by the window itself, when it is shown.
  const watch = whileShown(
    () => {
      log.warn(`View: “${title}” did not start and is loaded again.`);
      load();
    },
    { patience: PATIENCE_MS, tries: TRIES },
  );
  watch.shown(panel.visible);
  panel.onDidChangeViewState(() => watch.shown(panel.visible));
  // These listeners end with the panel.
  return new Promise(begun => {
    webview.onDidReceiveMessage(() => {
      watch.started();
      begun();
    });
    panel.onDidDispose(() => {
      watch.shown(false);
      begun();
    });
  });
}

function pageOf(extension: vscode.Uri, webview: vscode.Webview, view: string, title: string): string {
  const asset = (name: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, 'dist', 'webview', name)).toString();
  return shell({
    view,
    title,
    cspSource: webview.cspSource,
    nonce: randomBytes(16).toString('hex'),
    script: asset(`${view}.js`),
    styles: [{ href: asset(`${view}.css`) }, { href: asset('codicon.css'), id: 'vscode-codicon-stylesheet' }],
  });
}

export function portOf(webview: vscode.Webview, log: Log): Port {
  return {
    post: message => inBackground(log, 'View', webview.postMessage(message)),
    listen(receive) {
      // The page is our own script under a strict policy; the channel drops what it has not asked for.
      const listening = webview.onDidReceiveMessage((message: Message) => receive(message));
      return () => void listening.dispose();
    },
  };
}

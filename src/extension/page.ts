/** What every webview is made of: its page and its end of the conversation. Knows nothing of what it shows or asks. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Message, Port } from '../protocol/channel.ts';
import type { Log } from './failures.ts';
import { inBackground } from './failures.ts';
import { shell } from './shell.ts';

/** Scripts may run, and files may be read from the extension's own folders only. */
export const pageOptions = (extension: vscode.Uri): vscode.WebviewOptions => ({
  enableScripts: true,
  localResourceRoots: ['dist', 'media'].map(folder => vscode.Uri.joinPath(extension, folder)),
});

/** `view` names the bundle in dist/webview. */
export function pageOf(extension: vscode.Uri, webview: vscode.Webview, view: string, title: string): string {
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

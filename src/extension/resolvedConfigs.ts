/** A run's configuration as it was resolved, as a read-only document. Knows nothing of who opens it. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import { readManifest } from '../run/manifest.ts';
import { RESOLVED_CONFIG } from './names.ts';

export const resolvedConfigUri = (runFolder: string): vscode.Uri =>
  vscode.Uri.from({
    scheme: RESOLVED_CONFIG,
    path: `/${basename(runFolder)}.json`,
    query: encodeURIComponent(runFolder),
  });

/** Paths are absolute: two runs that name the same file then say the same, wherever they are. */
export const registerResolvedConfigs = (): vscode.Disposable =>
  vscode.workspace.registerTextDocumentContentProvider(RESOLVED_CONFIG, {
    provideTextDocumentContent: ({ query }) =>
      `${JSON.stringify(readManifest(decodeURIComponent(query)).config, null, 2)}\n`,
  });

/** Turns the place that a check's result names into a document and a range in it. Knows nothing of when this is asked. */
import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { CheckResult } from '../core/checkup.ts';
import { FailureError } from '../core/types.ts';
import { placeOfKey } from '../run/configFile.ts';
import { FILES } from '../run/layout.ts';
import { openRun } from '../run/reader.ts';
import { placeOf, trajectoryOf, type CheckPlace } from './checkPlace.ts';
import { rangeIn, trajectoryUri, type Trajectories } from './trajectories.ts';

export interface CheckLocation {
  result: CheckResult;
  uri: vscode.Uri;
  range: vscode.Range;
}

export async function locate(
  subject: string,
  result: CheckResult,
  trajectories: Trajectories,
): Promise<CheckLocation> {
  const place = placeOf(subject, result);
  switch (place.kind) {
    case 'line':
      return { result, uri: vscode.Uri.file(place.file), range: wholeLine(place.line) };
    case 'key':
      return { result, uri: vscode.Uri.file(place.file), range: await keyRange(place.file, place.key) };
    case 'tree':
      return { result, ...(await treeRange(place, trajectories)) };
  }
}

/** From 1; an editor cuts the range to the line that it has. */
const wholeLine = (line: number): vscode.Range =>
  new vscode.Range(Math.max(0, line - 1), 0, Math.max(0, line - 1), Number.MAX_SAFE_INTEGER);

async function keyRange(file: string, key: string): Promise<vscode.Range> {
  const open = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === 'file' && uri.fsPath === file);
  if (open === undefined && !existsSync(file)) return wholeLine(1);
  const { line, column, length } = placeOfKey(open?.getText() ?? (await readFile(file, 'utf8')), key);
  return new vscode.Range(line - 1, column - 1, line - 1, column - 1 + length);
}

/** The token in a trajectory that holds it; a tree that cannot be shown is pointed at in the file that it was read from. */
async function treeRange(
  place: Extract<CheckPlace, { kind: 'tree' }>,
  trajectories: Trajectories,
): Promise<{ uri: vscode.Uri; range: vscode.Range }> {
  const { runFolder, tree: id, token } = place;
  try {
    const shown = trajectoryOf(await openRun(runFolder).tree(id), place);
    if (shown === undefined) return await treeLine(runFolder, id);
    const { path, segment } = shown;
    const uri = trajectoryUri({ runFolder, tree: id, path });
    const trajectory = await trajectories.look(uri);
    const { tokens, starts, ends, segments } = trajectory.layout;
    const at = token === undefined ? -1 : tokens.indexOf(token);
    if (at >= 0) return { uri, range: rangeIn(trajectory, starts[at]!, ends[at]!) };
    const heading = segments.find(candidate => candidate.segment === segment)?.heading ?? 0;
    return { uri, range: wholeLine(heading + 1) };
  } catch {
    // It cannot be read or laid out, which is what the result is about.
    return treeLine(runFolder, id);
  }
}

/** The tree's line in trees.jsonl; the first where it is not there. */
async function treeLine(runFolder: string, id: string): Promise<{ uri: vscode.Uri; range: vscode.Range }> {
  const file = join(runFolder, FILES.trees);
  const uri = vscode.Uri.file(file);
  const entries = await openRun(runFolder)
    .trees()
    .catch((error: unknown) => {
      if (error instanceof FailureError) return [];
      throw error;
    });
  const before = entries.find(entry => entry.id === id)?.offset ?? 0;
  return { uri, range: wholeLine(1 + (await lineFeeds(file, before))) };
}

/** Line feeds in the first bytes of a file. */
async function lineFeeds(file: string, bytes: number): Promise<number> {
  if (bytes === 0) return 0;
  let feeds = 0;
  for await (const chunk of createReadStream(file, { end: bytes - 1 }))
    for (const byte of chunk as Buffer) if (byte === 10) feeds++;
  return feeds;
}

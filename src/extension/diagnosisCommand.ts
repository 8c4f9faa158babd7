/** `Collect Diagnosis Bundle`: gathers what is known of a run and shows it as a text that the user may save or copy. Knows nothing of its form. */
import { cpus, freemem, homedir, release, totalmem } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { CheckResult } from '../core/checkup.ts';
import type { Failure } from '../core/types.ts';
import { toFailure } from '../protocol/channel.ts';
import type { WorkerStatus } from '../protocol/verbs.ts';
import { statOf } from '../run/disk.ts';
import { FILES } from '../run/layout.ts';
import { readSpan } from '../run/lines.ts';
import { connectWorker, liveLock } from '../run/lock.ts';
import { openRun } from '../run/reader.ts';
import type { App } from './app.ts';
import { diagnosis } from './diagnosis.ts';
import { COMMANDS } from './names.ts';
import { runOf } from './pickers.ts';
import { targetOf } from './target.ts';

export const DIAGNOSIS_COMMANDS = {
  async collectDiagnosis(app: App, argument: unknown): Promise<void> {
    const runFolder = await runOf(app, targetOf(argument), COMMANDS.collectDiagnosis.title);
    if (runFolder === undefined) return;
    const content = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: 'Collecting what is known of the run' },
      () => collected(app, runFolder),
    );
    const document = await vscode.workspace.openTextDocument({ language: 'markdown', content });
    await vscode.window.showTextDocument(document, { preview: false });
  },
};

async function collected(app: App, runFolder: string): Promise<string> {
  const log = join(runFolder, FILES.log);
  return diagnosis({
    runFolder,
    manifest: openRun(runFolder).manifest,
    state: await app.runs.state(runFolder),
    worker: await workerOf(runFolder),
    checks: await checksOf(app, runFolder),
    log: endOf(log),
    machine: {
      editor: `${vscode.env.appName} ${vscode.version}${vscode.env.remoteName === undefined ? '' : `, remote`}`,
      system: `${process.platform} ${process.arch} ${release()}, Node ${process.versions.node}`,
      processors: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
      memory: `${gigabytes(freemem())} free of ${gigabytes(totalmem())}`,
    },
    home: homedir(),
  });
}

async function workerOf(runFolder: string): Promise<WorkerStatus | Failure | undefined> {
  if (liveLock(runFolder) === undefined) return undefined;
  try {
    const { remote, close } = await connectWorker(runFolder);
    try {
      return await remote.status();
    } finally {
      close();
    }
  } catch (error) {
    return toFailure(error);
  }
}

/** What a check that cannot be made says is part of the diagnosis. */
async function checksOf(app: App, runFolder: string): Promise<readonly CheckResult[]> {
  try {
    return await app.checks.check(runFolder);
  } catch (error) {
    return [{ id: 'check', status: 'error', message: toFailure(error).message }];
  }
}

/** Bytes of a log that are read: its last lines are told. */
const LOG_BYTES = 1 << 18;

/** '' where there is no such file. */
function endOf(log: string): string {
  const size = statOf(log)?.size ?? 0;
  const read = Math.min(size, LOG_BYTES);
  return readSpan(log, size - read, read).toString('utf8');
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/**
 * The command that starts a resident Pyodide: Python as WebAssembly in a child process that may read nothing but Pyodide's
 * own files. Needs nothing installed. Knows nothing of programs, results or pools.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EXECUTE, EXECUTE_AFRESH } from './pythonSource.ts';
import type { ProgramLimits, ResidentCommand } from './resident.ts';

export interface PyodideCommand extends ResidentCommand {
  /** `Pyodide 314.0.7 (Python 3.14)`. */
  description: string;
}

/** The command, or a sentence that says why it cannot be made. */
export function pyodideCommand(limits: ProgramLimits): PyodideCommand | string {
  const folder = pyodideFolder();
  if (folder === undefined) return 'Pyodide is not installed beside Branchpoint.';
  const program = childProgram();
  const prelude = EXECUTE + EXECUTE_AFRESH;
  const bounds = {
    folder,
    prelude,
    timeoutMs: limits.timeoutMs,
    memoryMB: limits.memoryMB,
    outputBytes: limits.outputBytes,
  };
  return {
    command: process.execPath,
    args: [
      '--permission',
      ...[folder, program].map(path => `--allow-fs-read=${path}`),
      '--disallow-code-generation-from-strings',
      '--no-warnings',
      `--max-old-space-size=${limits.memoryMB}`,
      program,
      JSON.stringify(bounds),
    ],
    env: childEnvironment(),
    description: describe(folder),
  };
}

/** In the bundle the build put it beside the program; in the source tree it is a dependency. */
function pyodideFolder(): string | undefined {
  const beside = join(import.meta.dirname, 'pyodide');
  if (existsSync(join(beside, 'pyodide.mjs'))) return realpathSync(beside);
  try {
    const found = createRequire(join(import.meta.dirname, 'from.js')).resolve('pyodide/package.json');
    return realpathSync(dirname(found));
  } catch {
    return undefined;
  }
}

function childProgram(): string {
  const bundled = join(import.meta.dirname, 'pyodideChild.cjs');
  return realpathSync(existsSync(bundled) ? bundled : join(import.meta.dirname, 'pyodideChild.ts'));
}

/** The host's environment stays outside; Electron and Windows need one variable each to start at all. */
function childEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  if (process.versions.electron !== undefined) environment.ELECTRON_RUN_AS_NODE = '1';
  if (process.env.SystemRoot !== undefined) environment.SystemRoot = process.env.SystemRoot;
  return environment;
}

function describe(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const lock = JSON.parse(readFileSync(join(folder, 'pyodide-lock.json'), 'utf8')) as {
    info: { python: string };
  };
  return `Pyodide ${version} (Python ${lock.info.python.split('.').slice(0, 2).join('.')})`;
}

/**
 * The Python tool: chooses a sandbox that works here and answers programs as ARPO does. Never runs a program outside a
 * sandbox. Knows nothing of token streams, tags in text or how a sandbox is built.
 */
import { availableParallelism } from 'node:os';
import { FailureError, errorText } from '../../core/types.ts';
import { bubblewrapCommand } from './bubblewrap.ts';
import { pyodideCommand } from './pyodide.ts';
import { Resident, type ProgramLimits, type ProgramReport, type StreamReport } from './resident.ts';
import { Residents } from './residents.ts';
import type { Tool, ToolResult } from './tool.ts';

export interface PythonOptions extends ProgramLimits {
  sandbox: 'auto' | 'bubblewrap' | 'pyodide';
  /** Most programs at once. */
  concurrency: number;
}

/** What a policy reads of an error: the last lines of the traceback, but for lines of ^^^. upstream: all of it. */
const ERROR_LINES = 4;
const ERROR_CHARACTERS = 1_000;

/** A resident Python in bubblewrap starts in 0.1 s, Pyodide in 2 to 4 s of a core: the second must be worth waiting for. */
const BUBBLEWRAP_PATIENCE_MS = 20;
const PYODIDE_PATIENCE_MS = 500;

/**
 * A program's own limit is enforced by its sandbox. The pool's limit is this much longer, so that the first programs may wait
 * for a sandbox that is still starting.
 */
const START_ALLOWANCE_MS = 30_000;

interface Sandbox {
  description: string;
  residents: Residents;
  concurrency: number;
}

/**
 * Opens the tool with the first sandbox that works: bubblewrap, then Pyodide, which starts in the background. Throws a
 * FailureError that says why none does.
 */
export async function openPython(options: PythonOptions): Promise<Tool> {
  const { description, residents, concurrency } = await openSandbox(options);
  return {
    tag: 'python',
    description,
    concurrency,
    patienceMs: START_ALLOWANCE_MS,
    run: async (source, signal) => resultOf(await residents.run(source, signal), options),
    close: () => residents.close(),
  };
}

async function openSandbox(options: PythonOptions): Promise<Sandbox> {
  const reasons: string[] = [];
  if (options.sandbox !== 'pyodide') {
    const found = await openBubblewrap(options);
    if (typeof found !== 'string') return found;
    reasons.push(found);
  }
  if (options.sandbox !== 'bubblewrap') {
    const found = openPyodide(options);
    if (typeof found !== 'string') return found;
    reasons.push(found);
  }
  throw new FailureError({
    where: 'config',
    message: `tools.python.sandbox "${options.sandbox}" cannot be opened. ${reasons.join(' ')}`,
    fix: 'Install bubblewrap (0.8 or newer) and Python, set tools.python.sandbox to "auto", or set tools.python.enabled to false.',
  });
}

async function openBubblewrap(options: PythonOptions): Promise<Sandbox | string> {
  const command = await bubblewrapCommand(options);
  if (typeof command === 'string') return command;
  const first = new Resident(command, options);
  try {
    const version = await first.ready;
    const { concurrency } = options;
    const residents = new Residents(first, {
      command,
      limits: options,
      max: concurrency,
      patienceMs: BUBBLEWRAP_PATIENCE_MS,
    });
    return { description: `bubblewrap with Python ${version}`, residents, concurrency };
  } catch (error) {
    await first.end();
    return `bubblewrap does not work here (${errorText(error)}).`;
  }
}

function openPyodide(options: PythonOptions): Sandbox | string {
  const command = pyodideCommand(options);
  if (typeof command === 'string') return command;
  const concurrency = Math.min(options.concurrency, availableParallelism());
  const residents = new Residents(new Resident(command, options), {
    command,
    limits: options,
    max: concurrency,
    patienceMs: PYODIDE_PATIENCE_MS,
  });
  return { description: command.description, residents, concurrency };
}

/** ARPO's contract: what it printed if it ended well, else the error. */
function resultOf(report: ProgramReport, limits: ProgramLimits): ToolResult {
  switch (report.verdict) {
    case 'timed-out':
      return {
        outcome: 'timed-out',
        text: `The program did not end within ${limits.timeoutMs / 1000} seconds.`,
      };
    case 'memory':
      return { outcome: 'error', text: `The program needed more than ${limits.memoryMB} MB of memory.` };
    case 'processes':
      return { outcome: 'error', text: 'The program started too many processes.' };
    case 'crash':
      return { outcome: 'error', text: 'The program ended the Python interpreter.' };
    case 'output':
      return { outcome: 'too-large', text: textOf(report.stdout) || textOf(report.stderr) };
    case null:
      return report.status === 0 ? printed(report.stdout) : failed(report);
  }
}

function printed(stdout: StreamReport): ToolResult {
  const text = textOf(stdout);
  return { outcome: stdout.dropped > 0 ? 'too-large' : 'ok', text: text || 'The program printed nothing.' };
}

function failed(report: ProgramReport): ToolResult {
  const lines = textOf(report.stderr)
    .split('\n')
    .filter(line => !/^[\s^~]*$/.test(line))
    .slice(-ERROR_LINES)
    .join('\n')
    .slice(-ERROR_CHARACTERS)
    .trim();
  const sentence =
    report.status < 0
      ? `The program was ended by signal ${-report.status}.`
      : `The program exited with status ${report.status}.`;
  return { outcome: 'error', text: lines || sentence };
}

function textOf({ head, tail, dropped }: StreamReport): string {
  const mark = dropped > 0 ? `\n[… ${dropped} bytes left out …]\n` : '';
  return `${head}${mark}${tail}`.trim();
}

/**
 * The command that starts a resident Python in a bubblewrap sandbox: no network, no host files but the system's and
 * Python's own, its own processes, bounded scratch space. Knows nothing of programs, results or pools.
 */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EXECUTE, RESIDENT } from './pythonSource.ts';
import type { ProgramLimits, ResidentCommand } from './resident.ts';

const run = promisify(execFile);

/** The resident's own code has another file name than programs, so that tracebacks can leave it out. */
const START = 'import sys; exec(compile(sys.argv[2], "<resident>", "exec"))';

const SCRATCH_BYTES = 64 << 20;
const FILE_BYTES = 16 << 20;

/** Python as installed on this machine. */
interface Interpreter {
  executable: string;
  /** Folders that it needs besides the system's. */
  folders: string[];
}

/** The command, or a sentence that says why this machine cannot run it; whether the sandbox works is seen by starting it. */
export async function bubblewrapCommand(limits: ProgramLimits): Promise<ResidentCommand | string> {
  if (process.platform !== 'linux') return 'bubblewrap runs on Linux only.';
  const bubblewrap = findProgram('bwrap');
  if (bubblewrap === undefined) return 'bubblewrap is not installed.';
  const python = await findPython();
  if (typeof python === 'string') return python;
  const bounds = {
    memoryBytes: limits.memoryMB << 20,
    seconds: limits.timeoutMs / 1000,
    cpuSeconds: Math.ceil(limits.timeoutMs / 1000) + 1,
    fileBytes: FILE_BYTES,
    outputBytes: limits.outputBytes,
  };
  return {
    command: bubblewrap,
    args: [
      ...sandboxArgs(python),
      python.executable,
      '-c',
      START,
      JSON.stringify(bounds),
      EXECUTE + RESIDENT,
    ],
    // Programs can read the environment of the sandbox's first process.
    env: {},
  };
}

function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '/usr/bin:/bin').split(delimiter).filter(folder => folder !== '');
  return folders.map(folder => join(folder, name)).find(path => existsSync(path));
}

async function findPython(): Promise<Interpreter | string> {
  const question =
    'import json, sys; print(json.dumps([sys.version_info[:2] >= (3, 9), sys.executable, sys.prefix, sys.base_prefix]))';
  let reason = 'No Python 3 is installed.';
  for (const name of ['python3', '/usr/bin/python3']) {
    try {
      const { stdout } = await run(name, ['-I', '-c', question], { timeout: 20_000 });
      const [isNewEnough, executable, ...folders] = JSON.parse(stdout) as [boolean, string, string, string];
      const python = { executable, folders: foldersOf(executable, folders) };
      if (!isNewEnough) reason = 'Python is older than 3.9.';
      else if (python.folders.some(isTooWide)) reason = `Python lives in ${python.folders.join(', ')}.`;
      else return python;
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!missing) reason = `Python does not start (${String(error)}).`;
    }
  }
  return reason;
}

/** Where an interpreter outside /usr keeps itself: a virtual environment, and what it was made from. */
function foldersOf(executable: string, prefixes: readonly string[]): string[] {
  const folders = [...prefixes, dirname(dirname(realpathSync(executable)))];
  return [...new Set(folders)].filter(folder => folder !== '/usr' && !folder.startsWith('/usr/'));
}

/** A folder that holds much more than Python must not be shown to programs. */
const isTooWide = (folder: string): boolean =>
  `${homedir()}/`.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

function sandboxArgs({ folders }: Interpreter): string[] {
  const scratch = ['--size', String(SCRATCH_BYTES), '--tmpfs'];
  const env = { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8', PYTHONHASHSEED: '0', ...ONE_THREAD };
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ...['--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', ...['/bin', '/sbin', '/lib', '/lib32', '/lib64'].flatMap(systemFolder)],
    ...['--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache'],
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
    ...['--proc', '/proc', '--dev', '/dev', ...scratch, '/dev/shm', ...scratch, '/tmp'],
    ...folders.flatMap(folder => ['--ro-bind', folder, folder]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--',
  ];
}

/** Threads of numeric libraries would count against the program's memory and do not survive a fork. */
const ONE_THREAD = { OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };

/** On most systems /bin and its like are links into /usr; elsewhere they are folders of their own. */
function systemFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** Programs that no sandbox may suffer from, and what each may end in. */

import { homedir } from 'node:os';

export type Sandbox = 'bubblewrap' | 'pyodide';

export interface Hostile {
  name: string;
  lines: readonly string[];
  /** What `outcome: text` must match, where both sandboxes end it alike or each for itself. */
  ending: RegExp | Readonly<Record<Sandbox, RegExp>>;
}

/** What the programs are after; none may reach it. */
export interface Prey {
  /** A port on this machine that counts its visitors. */
  port: number;
  /** A file of the host, and the folder that it is in. */
  secret: string;
  folder: string;
}

type Ending = Hostile['ending'];
const program = (name: string, ending: Ending, ...lines: readonly string[]): Hostile => ({
  name,
  lines,
  ending,
});

const TIMED_OUT = /^timed-out: The program did not end within 1 seconds\.$/;
const NO_PROCESS = /^error: .*OSError: .*(Function not implemented|does not support processes)/s;
const NO_THREAD = /^error: .*can't start new thread/s;
const BOUNDED = /^error: .*(MemoryError|more than 256 MB|No space left|cannot fit)|^timed-out/s;

export const hostilePrograms = (prey: Prey): Hostile[] => [
  ...PROCESSES,
  ...MEMORY,
  ...TIME,
  ...files(prey),
  ...network(prey),
  ...INTERPRETER,
  ...OUTPUT,
];

const PROCESSES: readonly Hostile[] = [
  program(
    'forks without end',
    {
      bubblewrap: /^error: The program (started too many|needed more than 256)|^timed-out/,
      pyodide: TIMED_OUT,
    },
    'import os',
    'while True:',
    '  try: os.fork()',
    '  except OSError: pass',
  ),
  program(
    'leaves zombies',
    { bubblewrap: /^ok: made$/, pyodide: NO_PROCESS },
    'import os',
    'for i in range(20):',
    '  if os.fork() == 0: os._exit(0)',
    'print("made")',
  ),
  program(
    'leaves a daemon in a session of its own',
    { bubblewrap: /^ok: parent done$/, pyodide: NO_PROCESS },
    'import os',
    'if os.fork() == 0:',
    '  os.setsid()',
    '  if os.fork() == 0:',
    '    while True: open("/tmp/late", "w")',
    '  os._exit(0)',
    'print("parent done")',
  ),
  program(
    'starts a program',
    { bubblewrap: /^error: .*CalledProcessError/s, pyodide: NO_PROCESS },
    'import subprocess',
    'subprocess.run(["cat", "/etc/hostname"], check=True)',
  ),
  program(
    'kills the first process',
    { bubblewrap: /^ok: sent$/, pyodide: /^error: .*PermissionError/s },
    'import os',
    'os.kill(1, 9)',
    'print("sent")',
  ),
  program(
    'kills everything',
    {
      bubblewrap: /^error: The program ended the Python interpreter\.$/,
      pyodide: /^error: .*PermissionError/s,
    },
    'import os',
    'os.kill(-1, 9)',
  ),
  program(
    'is survived by a thread',
    { bubblewrap: TIMED_OUT, pyodide: NO_THREAD },
    'import threading, time',
    'def forever():',
    '  while True: time.sleep(0.01)',
    'threading.Thread(target=forever).start()',
  ),
  program(
    'is survived by a daemon thread',
    { bubblewrap: /^ok: done$/, pyodide: NO_THREAD },
    'import threading, time',
    'def forever():',
    '  while True: time.sleep(0.01)',
    'threading.Thread(target=forever, daemon=True).start()',
    'print("done")',
  ),
  program(
    'is deaf to signals',
    TIMED_OUT,
    'import signal',
    'for n in range(1, 32):',
    '  try: signal.signal(n, signal.SIG_IGN)',
    '  except (OSError, ValueError): pass',
    'while True: pass',
  ),
];

const MEMORY: readonly Hostile[] = [
  program('takes 10 GB at once', BOUNDED, 'bytearray(10**10)'),
  program('takes memory bit by bit', BOUNDED, 'x = []', 'while True: x.append(bytearray(10**7))'),
  program(
    'fills the scratch disk',
    BOUNDED,
    'x = b"x" * 10**7',
    'for i in range(99): open("/tmp/%d" % i, "wb").write(x)',
  ),
  program('calls itself for ever', /^error: .*RecursionError/s, 'def f(n): return f(n + 1)', 'f(0)'),
  program(
    'nests JSON a million deep',
    {
      bubblewrap: /^error: .*RecursionError/s,
      pyodide: /^error: .*(RecursionError|ended the Python interpreter)/s,
    },
    'import json',
    'json.loads("[" * 10**6)',
  ),
  program('nests source too deep', /^error: .*(SyntaxError|MemoryError)/s, 'eval("(" * 10**5 + ")" * 10**5)'),
  program('opens thousands of files', /^error: .*Too many open files|^ok: opened$/s,
    'import os',
    'fds = [os.open(".", os.O_RDONLY) for _ in range(2000)]',
    'print("opened")',
  ), // prettier-ignore
];

const TIME: readonly Hostile[] = [
  program('backtracks for ever', TIMED_OUT, 'import re', 're.match(r"(a+)+$", "a" * 60 + "b")'),
  program('computes a number of millions of digits', TIMED_OUT, 'len(str(7 ** (10 ** 8)))'),
  program('sleeps', TIMED_OUT, 'import time', 'time.sleep(60)'),
  program('waits for input', /^error: .*EOFError/s, 'input()'),
  program(
    'catches what would end it',
    TIMED_OUT,
    'while True:',
    '  try:',
    '    while True: pass',
    '  except BaseException: pass',
  ),
];

const files = ({ secret, folder }: Prey): Hostile[] => [
  program('reads a file of the host', /^error: .*FileNotFoundError/s, `open(${JSON.stringify(secret)}).read()`),
  program('lists a folder of the host', /^error: .*FileNotFoundError/s, 'import os', `os.listdir(${JSON.stringify(folder)})`),
  program('reads its home folder', /^ok: \['program'\]$|^error: .*FileNotFoundError/s, 'import os', 'os.listdir(os.path.expanduser("~"))'),
  // Where Python itself lives in it, that folder alone is there.
  program('reads the home folder of the user', /^ok: \[('[^']*')?\]$|^error: .*(FileNotFoundError|PermissionError)/s, 'import os', `os.listdir(${JSON.stringify(homedir())})`),
  program('reads the environment', /^ok: none$/, 'import os', 'os.environ.get("BRANCHPOINT_SECRET", "none")'),
  program('follows links out', /^error: .*FileNotFoundError/s,
    'import os',
    `os.symlink(${JSON.stringify(secret)}, "/tmp/program/link")`,
    'open("/tmp/program/link").read()',
  ),
  program('writes beside the secret', /^error: .*(FileNotFoundError|Read-only)/s, `open(${JSON.stringify(`${folder}/made`)}, "w")`),
  program('writes over the secret', /^error: .*(FileNotFoundError|Read-only)/s, `open(${JSON.stringify(secret)}, "w")`),
  program('reads the environment of the first process',
    { bubblewrap: /^ok: ''$/, pyodide: /^error: .*FileNotFoundError/s },
    'repr(open("/proc/1/environ").read())',
  ),
  program('opens the memory of its parent', /^error: .*(PermissionError|FileNotFoundError)/s,
    'import os',
    'open("/proc/%d/mem" % os.getppid(), "r+b")',
  ),
  program('locks folders that must be swept', /^ok: locked$/,
    'import os',
    'os.makedirs("/tmp/a/b")',
    'open("/tmp/a/b/c", "w").close()',
    'os.chmod("/tmp/a/b", 0)',
    'os.chmod("/tmp/a", 0)',
    'print("locked")',
  ),
  program('opens devices', /^ok: (\w+Error ?){4}$/,
    'import os',
    'for path in ["/dev/mem", "/dev/kmem", "/dev/sda", "/dev/kvm"]:',
    '  try: os.open(path, os.O_RDWR); print("opened", path)',
    '  except OSError as error: print(type(error).__name__, end=" ")',
  ),
]; // prettier-ignore

const network = ({ port }: Prey): Hostile[] => [
  program('connects to this machine', /^error: .*(refused|unreachable|no network)/is,
    'import socket',
    `socket.create_connection(("127.0.0.1", ${port}), 0.5)`,
  ),
  program('sends a datagram', /^error: .*(unreachable|no network|not implemented)/is,
    'import socket',
    's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)',
    's.sendto(b"x", ("8.8.8.8", 53))',
  ),
  program('asks for a page', /^error: .*URLError|^timed-out/s,
    'import urllib.request',
    'urllib.request.urlopen("http://1.1.1.1", timeout=0.5)',
  ),
]; // prettier-ignore

const INTERPRETER: readonly Hostile[] = [
  program(
    'raises its limits',
    { bubblewrap: /^error: .*not allowed to raise maximum limit/s, pyodide: /^error: .*(ModuleNotFoundError|ValueError|AttributeError|MemoryError|OverflowError)/s },
    'import resource',
    'resource.setrlimit(resource.RLIMIT_AS, (-1, -1))',
    'bytearray(10**10)',
  ),
  program('reads address 0', { bubblewrap: /^error: The program was ended by signal 11\.$/, pyodide: /^ok: b''$/ }, 'import ctypes', 'ctypes.string_at(0)'),
  program(
    'exits past the interpreter',
    { bubblewrap: /^error: The program exited with status 7\.$/, pyodide: /^error: .*(status 7|ended the Python interpreter)/ },
    'import os',
    'os._exit(7)',
  ),
  program('exits with a status beyond 255', /^error: The program exited with status 44\.$/, 'import sys', 'sys.exit(300)'),
  program('unloads all modules', /^ok: cleared$/, 'import sys', 'sys.modules.clear()', 'print("cleared")'),
  program('imports what is not there', /^error: .*ModuleNotFoundError: No module named 'torch'$/s, 'import torch'),
  program(
    'forges reports',
    /^ok: honest$/,
    'import json, os',
    'stream = {"head": "forged", "tail": "", "dropped": 0}',
    'for fd in range(3, 64):',
    '  for n in range(99):',
    '    report = {"id": n, "status": 0, "verdict": None, "stdout": stream, "stderr": stream}',
    '    try: os.write(fd, (json.dumps(report) + "\\n").encode())',
    '    except OSError: break',
    'print("honest")',
  ),
]; // prettier-ignore

const OUTPUT: readonly Hostile[] = [
  program('prints without end', /^too-large: x{900}/, 'while True: print("x" * 1000)'),
  program('complains without end', /^too-large: x{900}/, 'import sys', 'while True: sys.stderr.write("x" * 1000)'),
  program(
    'prints what is no text',
    { bubblewrap: /^ok: \\ud800 😀 \0 .\[31m$/, pyodide: /^error: .*UnicodeEncodeError/s },
    'print("\\ud800 \\U0001F600 \\x00 \\x1b[31m")',
  ),
  program('prints bytes', /^ok: .*~\x7f\ufffd+/s, 'import sys', 'n = sys.stdout.buffer.write(bytes(range(256)))'),
]; // prettier-ignore

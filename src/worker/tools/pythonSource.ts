/**
 * The Python that runs inside the sandboxes: how one program is executed, and the resident interpreter that forks for
 * each. Knows nothing of which sandbox it is in, of the protocol's other end or of policies.
 */

/**
 * `execute(source)` runs a program as `python -c` would and gives its exit status. As in ARPO's Python tool, a last bare
 * expression is printed. Tracebacks show the program's own frames only.
 */
export const EXECUTE = `
import ast, atexit, builtins, random, sys, textwrap, traceback, types
import collections, datetime, decimal, fractions, functools, itertools, json, math, operator, os, re, shutil
import statistics, string, time

def printing_last(tree):
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return tree
    value = last.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == 'print':
        return tree
    printed = ast.Call(func=ast.Name(id='print', ctx=ast.Load()), args=[value], keywords=[])
    last.value = ast.fix_missing_locations(ast.copy_location(printed, value))
    return tree

def unindented(source):
    lines = source.strip('\\n').split('\\n')
    if len(lines) > 1 and lines[0][:1].isspace():
        source = textwrap.dedent(source)
    return source.strip()

def own_frames(error):
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != '<string>':
        frames = frames.tb_next
    return frames

def status_of(stop):
    if stop.code is None or isinstance(stop.code, int):
        return int(stop.code or 0) & 255
    print(stop.code, file=sys.stderr)
    return 1

def evaluate(source):
    main = types.ModuleType('__main__')
    main.__dict__['__builtins__'] = builtins
    sys.modules['__main__'] = main
    random.seed(0)
    try:
        tree = ast.parse(unindented(source), '<string>')
        exec(compile(printing_last(tree), '<string>', 'exec'), main.__dict__)
        return 0
    except SystemExit as stop:
        return status_of(stop)
    except BaseException as error:
        traceback.print_exception(type(error), error, own_frames(error))
        return 1

def execute(source):
    status = evaluate(source)
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return status or 1
    return status
`;

/**
 * For a sandbox that keeps one interpreter for all programs: `execute_afresh(source)` also undoes what the program did to
 * modules, environment and files. What it does to the insides of shared classes and functions is not undone.
 */
export const EXECUTE_AFRESH = `
SCRATCH = '/tmp/program'
for name in ['js', 'pyodide_js']:
    sys.modules.pop(name, None)
MODULES = dict(sys.modules)
NAMESPACES = [(vars(module), dict(vars(module))) for name, module in MODULES.items()
              if isinstance(module, types.ModuleType) and name != '__main__']
CONTAINERS = [(sys.path, list(sys.path)), (sys.meta_path, list(sys.meta_path)), (sys.path_hooks, list(sys.path_hooks))]
ENVIRONMENT = dict(os.environ)
RECURSION_LIMIT = sys.getrecursionlimit()
HAS_REMAINS = False

def is_untouched(now, then):
    return len(now) == len(then) and now.keys() == then.keys() and all(map(operator.is_, now.values(), then.values()))

def remove_files():
    for folder in ['/tmp', '/home']:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)

def restore(own=globals(), keep=dict(globals())):
    own.update(keep)
    for now, then in NAMESPACES:
        if not is_untouched(now, then):
            now.clear()
            now.update(then)
    if not is_untouched(sys.modules, MODULES):
        sys.modules.clear()
        sys.modules.update(MODULES)
    for now, then in CONTAINERS:
        now[:] = then
    if dict(os.environ) != ENVIRONMENT:
        os.environ.clear()
        os.environ.update(ENVIRONMENT)
    sys.setrecursionlimit(RECURSION_LIMIT)
    os.chdir('/')
    try:
        remove_files()
    except (OSError, RecursionError):
        # Folders that were locked, or are too deep.
        own['HAS_REMAINS'] = True

def own_files():
    found = []
    for folder, folders, files in os.walk('/'):
        if folder == '/':
            folders[:] = [name for name in folders if name not in ('tmp', 'home', 'dev', 'proc')]
        for name in files:
            status = os.stat(os.path.join(folder, name))
            found.append((folder, name, status.st_size, status.st_mtime_ns))
        found.extend((folder, name) for name in folders)
    return found

OWN_FILES = own_files()

def is_spoiled():
    """Whether the program left files that cannot be removed, or changed those that Python itself lives on."""
    return HAS_REMAINS or own_files() != OWN_FILES

def execute_afresh(source):
    os.mkdir(SCRATCH)
    os.chdir(SCRATCH)
    try:
        return execute(source)
    finally:
        restore()
`;

/**
 * A resident interpreter for a process sandbox. It reads one JSON line per program and answers with one; each program
 * runs in a fork with its own limits and an empty scratch folder, and everything it started is killed when it ends.
 * What it must trust the sandbox for: a process namespace of its own (it kills by kill(-1)), read-only files, no network.
 */
export const RESIDENT = `
import ctypes, gc, resource, select, signal, threading

LIMITS = json.loads(sys.argv[1])
SCRATCH = '/tmp/program'
WRITABLE = ['/tmp', '/dev/shm']
KEPT = {folder: set(os.listdir(folder)) for folder in WRITABLE}
SLOW_TO_IMPORT = re.compile(r'^\\s*(?:import|from)\\s+(numpy|sympy)\\b', re.M)
HARD_OUTPUT = 16 << 20
MAX_PROCESSES = 32
PR_SET_DUMPABLE = 4
libc = ctypes.CDLL(None)

class Capture:
    """Keeps the first and the last bytes of a stream."""
    def __init__(self, fd):
        self.fd, self.half = fd, LIMITS['outputBytes'] // 2
        self.total, self.head, self.tail, self.open = 0, b'', b'', True
        os.set_blocking(fd, False)
    def read(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return False
        if not data:
            self.open = False
            return False
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-self.half:]
        return True
    def report(self):
        os.close(self.fd)
        return {'head': self.head.decode('utf-8', 'replace'), 'tail': self.tail.decode('utf-8', 'replace'),
                'dropped': self.total - len(self.head) - len(self.tail)}

def others():
    own = {'1', str(os.getpid())}
    return [pid for pid in os.listdir('/proc') if pid.isdigit() and pid not in own]

def kill_others():
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass

def excess():
    pages, pids = 0, others()
    for pid in pids:
        try:
            with open('/proc/%s/statm' % pid) as file:
                fields = file.read().split()
            pages += int(fields[1]) - int(fields[2])
        except (OSError, IndexError):
            continue
    if len(pids) > MAX_PROCESSES:
        return 'processes'
    return 'memory' if pages * resource.getpagesize() > LIMITS['memoryBytes'] else None

def limit(kind, value):
    resource.setrlimit(kind, (value, value))

def become_program(source, out, err):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, 256)
    os.mkdir(SCRATCH)
    os.chdir(SCRATCH)
    limit(resource.RLIMIT_AS, LIMITS['memoryBytes'])
    limit(resource.RLIMIT_CPU, LIMITS['cpuSeconds'])
    limit(resource.RLIMIT_NPROC, MAX_PROCESSES)
    limit(resource.RLIMIT_FSIZE, LIMITS['fileBytes'])
    limit(resource.RLIMIT_NOFILE, 64)
    limit(resource.RLIMIT_CORE, 0)
    sys.stdin = open(0, encoding='utf-8', closefd=False)
    sys.stdout = open(1, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
    sys.stderr = open(2, 'w', encoding='utf-8', errors='backslashreplace', closefd=False)
    sys.argv = ['-c']
    status = execute(source)
    threading._shutdown()
    sys.stdout.flush()
    os._exit(status)

def watch(pid, streams):
    """Until the program ends or must be ended: the verdict, None for an end of its own."""
    poll, ended = select.poll(), os.pidfd_open(pid)
    poll.register(ended, select.POLLIN)
    for stream in streams:
        poll.register(stream.fd, select.POLLIN)
    started = looked = time.monotonic()
    try:
        while True:
            ready = [fd for fd, _ in poll.poll(50)]
            for stream in streams:
                if stream.fd in ready and stream.open and not stream.read() and not stream.open:
                    poll.unregister(stream.fd)
                if stream.total > HARD_OUTPUT:
                    return 'output'
            if ended in ready:
                return None
            now = time.monotonic()
            if now - started > LIMITS['seconds']:
                return 'timed-out'
            if now - looked > 0.04:
                looked = now
                verdict = excess()
                if verdict is not None:
                    return verdict
    finally:
        os.close(ended)

def serve(source):
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become_program(source, out_end, err_end)
        finally:
            os._exit(70)
    os.close(out_end)
    os.close(err_end)
    streams = [Capture(out), Capture(err)]
    verdict = watch(pid, streams)
    kill_others()
    _, status = os.waitpid(pid, 0)
    for stream in streams:
        os.set_blocking(stream.fd, True)
        while stream.open and stream.read():
            pass
    return {'status': os.waitstatus_to_exitcode(status), 'verdict': verdict,
            'stdout': streams[0].report(), 'stderr': streams[1].report()}

def sweep():
    """Whether no process and no file of the last program is left; a resident that cannot say so is replaced by its keeper."""
    deadline = time.monotonic() + 2
    while others():
        if time.monotonic() > deadline:
            return False
        kill_others()
        time.sleep(0.001)
    try:
        remove_files()
        return True
    except (OSError, RecursionError):
        # Folders that were locked, or are too deep.
        return False

def remove_files():
    for folder in WRITABLE:
        for name in os.listdir(folder):
            if name not in KEPT[folder]:
                path = os.path.join(folder, name)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)

def tell(message):
    sys.stdout.write(json.dumps(message) + '\\n')
    sys.stdout.flush()

def main():
    # Without this a program could write into its parent's memory: they have the same user.
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    gc.collect()
    gc.freeze()
    if serve('1 + 1')['stdout']['head'] != '2\\n':
        raise RuntimeError('programs cannot be run')
    sweep()
    tell({'ready': '%d.%d.%d' % sys.version_info[:3]})
    for line in sys.stdin:
        request = json.loads(line)
        source = request['source']
        for name in SLOW_TO_IMPORT.findall(source):
            try:
                __import__(name)
            except ImportError:
                pass
        report = serve(source)
        tell({'id': request['id'], **report, 'isLast': not sweep()})

main()
`;

/**
 * Program of the child process that holds one Pyodide: reads one JSON line per program, answers with one. It runs with no
 * rights (see pyodide.ts) and refuses to start where it has any. Knows nothing of the protocol's other end.
 */
import { constants } from 'node:fs';
import { join } from 'node:path';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { ProgramReport, StreamReport, Verdict } from './resident.ts';

interface Bounds {
  /** Pyodide's folder. */
  folder: string;
  /** Python that defines `execute_afresh`. */
  prelude: string;
  timeoutMs: number;
  memoryMB: number;
  outputBytes: number;
}

/** The part of Pyodide that is used here. */
interface Pyodide {
  version: string;
  runPython(source: string): unknown;
  globals: { get(name: string): PythonFunction };
  setStdout(options: { write(bytes: Uint8Array): number }): void;
  setStderr(options: { write(bytes: Uint8Array): number }): void;
  setInterruptBuffer(buffer: unknown): void;
  unregisterJsModule(name: string): void;
}

const HARD_OUTPUT = 16 << 20;
const SIGINT = 2;
const ABANDONED_MS = 5_000;
const LOOK_MS = 50;
const TELL_AGAIN_MS = 300;

interface PythonFunction {
  (source?: string): unknown;
  /** Needs a runtime whose WebAssembly can be suspended (Node 24), and lets the program wait for promises, as asyncio.run does. */
  callPromising(source: string): Promise<number>;
}

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const bounds = JSON.parse(process.argv[2] ?? '') as Bounds;

/** Memory of this process before its first program. */
let restingBytes = 0;
// Pyodide shows both to programs.
process.argv.splice(1);

async function main(): Promise<void> {
  limitMemory(bounds.memoryMB << 20);
  closeDoors();
  const run = await start();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, source } = JSON.parse(line) as { id: number; source: string };
    tell({ id, ...(await run(source)) });
  }
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function start(): Promise<(source: string) => Promise<ProgramReport>> {
  const { loadPyodide } = (await import(pathToFileURL(join(bounds.folder, 'pyodide.mjs')).href)) as {
    loadPyodide(options: object): Promise<Pyodide>;
  };
  const pyodide = await loadPyodide({
    indexURL: bounds.folder,
    jsglobals: {},
    env: { HOME: '/tmp', PYTHONHASHSEED: '0', LANG: 'C.UTF-8', _: 'python' },
    stdin: () => null,
  });
  for (const name of ['js', 'pyodide_js']) pyodide.unregisterJsModule(name);
  pyodide.runPython(bounds.prelude);
  tell({ ready: String(pyodide.runPython('"%d.%d.%d" % sys.version_info[:3]')) });
  restingBytes = process.memoryUsage.rss();
  return runnerOf(pyodide);
}

/** Pyodide itself is no boundary: a program that reaches JavaScript must find nothing there. */
function closeDoors(): void {
  const inner = process as unknown as Record<string, unknown> & {
    permission?: { has(right: string): boolean };
  };
  // Emscripten asks for the constants in this old way, which the permission model refuses.
  inner.binding = (name: string): unknown => {
    if (name !== 'constants') throw new Error(`No binding ${name}.`);
    return { fs: constants };
  };
  const rights = ['fs.write', 'child', 'worker', 'addons', 'wasi', 'fs.read'];
  const isLocked = inner.permission !== undefined && !rights.some(right => inner.permission?.has(right));
  if (!isLocked || canMakeCode()) throw new Error('this runtime cannot lock a child process down');
  const global = globalThis as Record<string, unknown>;
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']) delete global[name];
  for (const name of ['getBuiltinModule', 'dlopen', 'kill', '_kill', 'loadEnvFile']) delete inner[name];
  closeNetwork();
}

/** The permission model of Node 24 says nothing of the network; Pyodide has a way to sockets that is off until asked for. */
function closeNetwork(): void {
  const require = createRequire(join(bounds.folder, 'from.js'));
  const refuse = (): never => {
    throw new Error('There is no network here.');
  };
  const close = (target: object, names: readonly string[]): void => {
    for (const name of names) Object.defineProperty(target, name, { value: refuse });
  };
  const prototypeOf = (module: string, name: string): object =>
    (require(module) as Record<string, { prototype: object }>)[name]?.prototype ?? {};
  close(prototypeOf('node:net', 'Socket'), ['connect']);
  close(prototypeOf('node:net', 'Server'), ['listen']);
  close(prototypeOf('node:dgram', 'Socket'), ['bind', 'connect', 'send']);
  for (const resolver of [
    prototypeOf('node:dns', 'Resolver'),
    prototypeOf('node:dns/promises', 'Resolver'),
  ]) {
    close(resolver, resolving(resolver));
  }
  for (const module of ['node:dns', 'node:dns/promises']) {
    const functions = require(module) as object;
    close(functions, resolving(functions));
  }
  syncBuiltinESMExports();
}

const resolving = (target: object): string[] =>
  Object.getOwnPropertyNames(target).filter(name => /^(?:resolve|reverse|lookup)/.test(name));

function canMakeCode(): boolean {
  try {
    Reflect.construct(Function, ['return true']);
    return true;
  } catch {
    return false;
  }
}

/** Makes memory growth beyond the limit fail, which Python tells the program as MemoryError. */
function limitMemory(limitBytes: number): void {
  const { WebAssembly } = globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } };
  const prototype = WebAssembly.Memory.prototype;
  const grow = prototype.grow;
  prototype.grow = function (this: Memory, pages: number): number {
    if (this.buffer.byteLength + pages * 65_536 > limitBytes) throw new RangeError('memory limit');
    return grow.call(this, pages);
  };
  Object.freeze(prototype);
}

function runnerOf(pyodide: Pyodide): (source: string) => Promise<ProgramReport> {
  const execute = pyodide.globals.get('execute_afresh');
  const isSpoiled = pyodide.globals.get('is_spoiled');
  const canSuspend = 'Suspending' in (globalThis as unknown as { WebAssembly: object }).WebAssembly;
  const watch = startWatch();
  let stdout = capture();
  let stderr = capture();
  const write = (stream: () => Capture) => (bytes: Uint8Array) => {
    stream().add(bytes);
    if (stream().total() > HARD_OUTPUT) watch.decide('output');
    return bytes.length;
  };
  pyodide.setStdout({ write: write(() => stdout) });
  pyodide.setStderr({ write: write(() => stderr) });
  // Python looks here every few instructions: that is how a program is told to end.
  pyodide.setInterruptBuffer({
    get 0() {
      return watch.signal();
    },
    set 0(_handled: number) {},
  });
  const runToEnd = async (source: string): Promise<{ status: number; isLast: boolean }> => {
    try {
      const status = canSuspend ? await execute.callPromising(source) : (execute(source) as number);
      // Memory that WebAssembly took is never given back: a child that grew large is replaced by its keeper.
      const isLarge = process.memoryUsage.rss() > restingBytes + (bounds.memoryMB << 19);
      return { status, isLast: isLarge || isSpoiled() === true };
    } catch (error) {
      // The signal may also hit what tidies up after the program.
      if (watch.end() === null) throw error;
      return { status: 1, isLast: true };
    }
  };
  return async source => {
    stdout = capture();
    stderr = capture();
    watch.begin();
    const ended = await runToEnd(source);
    return { ...ended, verdict: watch.end(), stdout: stdout.report(), stderr: stderr.report() };
  };
}

interface Watch {
  begin(): void;
  decide(verdict: Verdict): void;
  /** What Python is told when it looks: 0, or now and then the signal's number, for the first may fall on deaf ears. */
  signal(): number;
  end(): Verdict | null;
}

function startWatch(): Watch {
  let verdict: Verdict | null = null;
  let tellAt = 0;
  let deadline = Infinity;
  let lookAt = Infinity;
  const look = (now: number): void => {
    if (now > deadline) verdict ??= 'timed-out';
    if (now < lookAt) return;
    lookAt = now + LOOK_MS;
    // Files and what JavaScript keeps for Python are outside of its memory.
    if (process.memoryUsage.rss() > restingBytes + (bounds.memoryMB << 20)) verdict ??= 'memory';
    // Nobody is left who would end a program that does not listen.
    if (now > deadline + ABANDONED_MS) process.exit(70);
  };
  return {
    begin() {
      verdict = null;
      tellAt = 0;
      lookAt = Date.now() + LOOK_MS;
      deadline = Date.now() + bounds.timeoutMs;
    },
    decide(reason) {
      verdict ??= reason;
    },
    signal() {
      const now = Date.now();
      look(now);
      if (verdict === null || now < tellAt) return 0;
      tellAt = now + TELL_AGAIN_MS;
      return SIGINT;
    },
    end() {
      deadline = Infinity;
      lookAt = Infinity;
      return verdict;
    },
  };
}

interface Capture {
  add(bytes: Uint8Array): void;
  total(): number;
  report(): StreamReport;
}

/** Keeps the first and the last bytes of a stream. */
function capture(): Capture {
  const half = bounds.outputBytes >> 1;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;
  return {
    add(bytes) {
      total += bytes.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, bytes.subarray(0, room)]);
      if (bytes.length > room)
        tail = Buffer.concat([tail, bytes.subarray(Math.max(room, 0))]).subarray(-half);
    },
    total: () => total,
    report: () => ({
      head: head.toString(),
      tail: tail.toString(),
      dropped: total - head.length - tail.length,
    }),
  };
}

main().then(
  () => process.exit(0),
  (error: unknown) => process.stderr.write(String(error).slice(0, 1_000), () => process.exit(70)),
);

/**
 * A recording of tool calls as JSON lines, from which a run can be answered without its tools. Knows nothing of what the
 * tools are.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { FailureError, type Failure, type ToolOutcome } from '../../core/types.ts';
import { cut } from '../../core/wrap.ts';
import { append, close, makeFolder, openAppend, type AppendFile } from '../../run/disk.ts';
import { endOf, wholeLines } from '../../run/lines.ts';
import type { PooledResult, ToolPool, ToolResult } from './tool.ts';

/** What may have been recorded. A call that failed says nothing of its argument, so it is not. */
const OUTCOMES: readonly ToolOutcome[] = ['ok', 'error', 'timed-out', 'too-large', 'refused'];

interface Recording {
  /** What answered, by tag, in the words of the tools. */
  tools: Map<string, string>;
  /** By tag and argument; of several results the last. */
  results: Map<string, ToolResult>;
  /** Absent while nothing is recorded. */
  file?: AppendFile;
  users: number;
}

/** A run opens its tools twice, for training and for evaluations: both write in one recording. */
const open = new Map<string, Promise<Recording>>();

export interface CassetteOptions {
  mode: 'record' | 'replay' | 'replay-or-record';
  file: string;
  /** Opens the tools; never called by mode `replay`. */
  openPool(): Promise<ToolPool>;
  warn(failure: Failure): void;
}

/** Throws a FailureError that names file and line where the recording is broken, or missing though it shall be replayed. */
export async function openCassette(options: CassetteOptions): Promise<ToolPool> {
  const recording = await acquire(options.file, options.mode !== 'replay');
  try {
    if (options.mode === 'replay') return replayOnly(recording, options.file);
    const pool = await options.openPool();
    announce(recording, pool.describe());
    return recordingPool(pool, recording, options);
  } catch (error) {
    await release(options.file);
    throw error;
  }
}

function replayOnly(recording: Recording, file: string): ToolPool {
  return {
    tags: [...recording.tools.keys()],
    describe: () =>
      Object.fromEntries([...recording.tools].map(([tag, what]) => [tag, `recording of ${what}`])),
    call: (tag, argument) => {
      const found = recording.results.get(keyOf(tag, argument));
      return Promise.resolve({
        ...(found ?? miss(tag, argument)),
        latencyMs: 0,
        shared: found !== undefined,
      });
    },
    close: () => release(file),
  };
}

function recordingPool(pool: ToolPool, recording: Recording, options: CassetteOptions): ToolPool {
  const { mode, file, warn } = options;
  let isClosing = false;
  const keep = (tag: string, argument: string, { outcome, text }: ToolResult): void => {
    const known = recording.results.get(keyOf(tag, argument));
    const isNew = known?.outcome !== outcome || known.text !== text;
    if (isClosing || !isNew || !OUTCOMES.includes(outcome)) return;
    try {
      write(recording, { tag, argument, outcome, text });
      recording.results.set(keyOf(tag, argument), { outcome, text });
    } catch (error) {
      const message = `A call of ${tag} was not recorded: ${(error as Error).message}`;
      warn({ where: 'store', message, fix: 'Make room for the file of tools.cassette.' });
    }
  };
  return {
    ...pool,
    async call(tag, argument): Promise<PooledResult> {
      const found = mode === 'record' ? undefined : recording.results.get(keyOf(tag, argument));
      if (found) return { ...found, latencyMs: 0, shared: true };
      const result = await pool.call(tag, argument);
      keep(tag, argument, result);
      return result;
    },
    async close() {
      isClosing = true;
      await pool.close();
      await release(file);
    },
  };
}

const miss = (tag: string, argument: string): ToolResult => ({
  outcome: 'failed',
  text: `The recording has no answer to this call of ${tag}: ${cut(argument, 200)}`,
});

const keyOf = (tag: string, argument: string): string => `${tag}\n${argument}`;

function write({ file }: Recording, line: object): void {
  if (!file) throw new Error('The recording is not open for writing.');
  append(file, Buffer.from(`${JSON.stringify(line)}\n`));
}

/** Says which tools answer from here on, where the recording does not say so yet. */
function announce(recording: Recording, tools: Readonly<Record<string, string>>): void {
  const added = Object.entries(tools).filter(([tag, what]) => recording.tools.get(tag) !== what);
  if (added.length === 0) return;
  write(recording, { tools: Object.fromEntries(added) });
  for (const [tag, what] of added) recording.tools.set(tag, what);
}

async function acquire(path: string, forWriting: boolean): Promise<Recording> {
  const reading = open.get(path) ?? readRecording(path, forWriting);
  open.set(path, reading);
  try {
    const recording = await reading;
    recording.users++;
    return recording;
  } catch (error) {
    open.delete(path);
    throw error;
  }
}

async function release(path: string): Promise<void> {
  const recording = await open.get(path);
  if (!recording || --recording.users > 0) return;
  open.delete(path);
  if (recording.file) close(recording.file);
}

async function readRecording(path: string, forWriting: boolean): Promise<Recording> {
  const recording: Recording = { tools: new Map(), results: new Map(), users: 0 };
  let end = 0;
  try {
    if (!forWriting || existsSync(path)) end = await readLines(path, recording);
    if (!forWriting) return recording;
    makeFolder(dirname(path));
    // What was torn when its writer was killed is cut off.
    recording.file = openAppend(path, end);
    return recording;
  } catch (error) {
    throw error instanceof FailureError
      ? error
      : refusal(path, `cannot be opened (${(error as Error).message}).`);
  }
}

/** The byte behind the last whole line. */
async function readLines(path: string, recording: Recording): Promise<number> {
  let number = 0;
  let end = 0;
  for await (const { lines } of wholeLines(path, 0))
    for (const line of lines) {
      number++;
      end = endOf(line);
      if (line.text.trim() !== '') readLine(line.text, `${path}:${number}`, recording);
    }
  return end;
}

function readLine(text: string, where: string, { tools, results }: Recording): void {
  const row = parsed(text, where);
  const { tag, argument, outcome, text: said } = row;
  if ('tools' in row && typeof row.tools === 'object' && row.tools !== null) {
    for (const [name, what] of Object.entries(row.tools)) tools.set(name, String(what));
    return;
  }
  const known = OUTCOMES.find(one => one === outcome);
  if (typeof tag !== 'string' || typeof argument !== 'string' || typeof said !== 'string' || !known)
    throw refusal(where, 'is neither {"tools": {…}} nor {"tag", "argument", "outcome", "text"}.');
  results.set(keyOf(tag, argument), { outcome: known, text: said });
}

function parsed(text: string, where: string): Record<string, unknown> {
  try {
    const row: unknown = JSON.parse(text);
    if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as Record<string, unknown>;
  } catch (error) {
    throw refusal(where, `is not JSON (${(error as Error).message}).`);
  }
  throw refusal(where, 'is no JSON object.');
}

const refusal = (where: string, why: string): FailureError =>
  new FailureError({
    where: 'config',
    message: `tools.cassette.file: ${where} ${why}`,
    fix: 'Name a recording that a run made, record one with tools.cassette.mode "record", or remove the line.',
  });

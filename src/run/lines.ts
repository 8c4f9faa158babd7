/** Whole lines of a growing text file, with their places. Knows nothing of what a line means. */
import * as fs from 'node:fs';
import { FailureError } from '../core/types.ts';

/** One line without its line feed. `offset` is its first byte in the file, `length` its bytes without the line feed. */
export interface Line {
  text: string;
  offset: number;
  length: number;
}

const CHUNK = 1 << 20;
/** Longer lines are not ours. */
const LONGEST = 1 << 28;
const LINE_FEED = 10;

/**
 * Whole lines from byte `from` on, a chunk of the file at a time; `next` is the byte behind the last of them. Bytes behind
 * the file's last line feed are a line that is still being written, or was torn: they are left alone.
 */
export async function* wholeLines(
  path: string,
  from: number,
): AsyncGenerator<{ lines: Line[]; next: number }> {
  for await (const { bytes, at, next } of wholeBytes(path, from)) yield { lines: split(bytes, at), next };
}

/** The same as bytes that are read from `at` on; the next ones take their place in memory. */
export async function* wholeBytes(
  path: string,
  from: number,
): AsyncGenerator<{ bytes: Buffer; at: number; next: number }> {
  const handle = await fs.promises.open(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(CHUNK);
    // What is kept of the chunk before: the beginning of a line.
    let rest = 0;
    let at = from;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, rest, buffer.length - rest, at + rest);
      if (bytesRead === 0) return;
      const end = rest + bytesRead;
      const used = buffer.lastIndexOf(LINE_FEED, end - 1) + 1;
      if (used > 0) {
        yield { bytes: buffer.subarray(0, used), at, next: at + used };
        buffer.copyWithin(0, used, end);
      }
      rest = end - used;
      at += used;
      if (rest > LONGEST)
        throw new FailureError({ where: 'store', message: `${path}: the line at byte ${at} has no end.` });
      if (rest === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    }
  } finally {
    await handle.close();
  }
}

/** The file's last whole line, and the length of the file up to its end; no line where the file has none or is not there. */
export function lastWholeLine(path: string): { line?: Line; end: number } {
  const bytesOf = (size: number): { lines: Line[]; start: number; end: number } => {
    const start = Math.max(0, total - size);
    const lines = split(readSpan(path, start, total - start), start);
    return { lines, start, end: lines.length === 0 ? start : endOf(lines.at(-1)!) };
  };
  const total = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  for (let size = 1 << 16; ; size *= 8) {
    const { lines, start, end } = bytesOf(size);
    // The first line of a window that begins inside the file may be the end of a longer one.
    if (lines.length > (start > 0 ? 1 : 0)) return { line: lines.at(-1)!, end };
    if (start === 0) return { end };
  }
}

/** Bytes of a span; fewer where the file ends before. */
export function readSpan(path: string, offset: number, length: number): Buffer {
  if (length === 0) return Buffer.alloc(0);
  const handle = fs.openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const read = fs.readSync(handle, bytes, done, length - done, offset + done);
      if (read === 0) break;
      done += read;
    }
    return bytes.subarray(0, done);
  } finally {
    fs.closeSync(handle);
  }
}

/** Byte behind the line feed of a line. */
export const endOf = ({ offset, length }: Line): number => offset + length + 1;

/** The lines of a span that begins at byte `at` of a file; bytes behind the last line feed are left out. */
export function split(bytes: Buffer, at: number): Line[] {
  const lines: Line[] = [];
  for (let start = 0; ;) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end < 0) return lines;
    lines.push(lineOf(bytes, { start, end, at }));
    start = end + 1;
  }
}

/** The line from byte `start` of a span up to its line feed at `end`; the span begins at byte `at` of a file. */
export const lineOf = (
  bytes: Buffer,
  { start, end, at }: { start: number; end: number; at: number },
): Line => ({ text: bytes.toString('utf8', start, end), offset: at + start, length: end - start });

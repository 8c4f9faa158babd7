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
  const handle = await fs.promises.open(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let restAt = from;
    const chunk = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK, restAt + rest.length);
      if (bytesRead === 0) return;
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const lines = split(bytes, restAt);
      const used = lines.length === 0 ? 0 : endOf(lines.at(-1)!) - restAt;
      rest = bytes.subarray(used);
      restAt += used;
      if (rest.length > LONGEST)
        throw new FailureError({
          where: 'store',
          message: `${path}: the line at byte ${restAt} has no end.`,
        });
      if (lines.length > 0) yield { lines, next: restAt };
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
    lines.push({ text: bytes.toString('utf8', start, end), offset: at + start, length: end - start });
    start = end + 1;
  }
}

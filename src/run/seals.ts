/** Tells where a line of a file has lost the checksum that its writer gave it. Knows nothing of what a line means. */
import { FailureError } from '../core/types.ts';
import { readSpan, type Line } from './lines.ts';
import { isSealed, LONGEST_SEAL } from './shape.ts';

/**
 * Looks at lines that follow each other from byte `from` of a file on. Who writes checksums writes them on every line: damage may take
 * one away, and what it guards with it, so that a line without one is refused after a line with one. The line before the first is
 * looked up in the file, so that one line read by itself is judged as in a reading of the whole file.
 */
export function watchSeals(path: string, from = 0): (line: Pick<Line, 'text' | 'offset'>) => void {
  let wasSealed: boolean | undefined;
  return ({ text, offset }) => {
    const sealedNow = isSealed(text);
    if (!sealedNow && (wasSealed ?? isSealedBefore(path, from)))
      throw new FailureError({
        where: 'store',
        message: `${path}, byte ${offset}: the line has lost its checksum.`,
        fix: 'Restore the file from a copy.',
      });
    wasSealed = sealedNow;
  };
}

/** Whether the line that ends before a byte has a checksum; false at the file's beginning. */
function isSealedBefore(path: string, from: number): boolean {
  const length = Math.min(from, LONGEST_SEAL + 1);
  return isSealed(
    readSpan(path, from - length, length)
      .toString('latin1')
      .replace(/\n$/, ''),
  );
}

/** What the user calls a run: a label and tags, in a file of their own beside what happened. Knows nothing of who shows them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FailureError } from '../core/types.ts';
import { statOf, writeAtomically } from './disk.ts';
import { FILES } from './layout.ts';
import type { Shape } from './shape.ts';
import { list, optional, record, text } from './shape.ts';

export interface Label {
  /** In place of the folder's name; absent where the user gave none. */
  label?: string;
  /** In the user's order, each once. */
  tags: string[];
}

const labelShape: Shape<Label> = record<Label>({ label: optional(text), tags: list(text) });

/** No label and no tags where there is no such file. Throws a FailureError where it is not one of ours. */
export async function readLabel(runFolder: string): Promise<Label> {
  const path = join(runFolder, FILES.label);
  // Most runs have none, and an error that is thrown and caught takes longer than the question.
  if (!statOf(path)) return { tags: [] };
  try {
    return labelShape(JSON.parse(await readFile(path, 'utf8')), path);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new FailureError({
      where: 'store',
      message: `${path} is not JSON: ${error.message}`,
      fix: 'Correct the file, or remove it and name the run again.',
    });
  }
}

/** Replaces the run's label and tags; one that is empty or said twice is left out. Throws where the folder is no run of ours. */
export function writeLabel(runFolder: string, { label, tags }: Label): void {
  if (!statOf(join(runFolder, FILES.manifest)))
    throw new FailureError({
      where: 'store',
      message: `${runFolder} was written by another program: nothing is kept in it.`,
    });
  const name = label?.trim() ?? '';
  const kept: Label = {
    ...(name !== '' && { label: name }),
    tags: [...new Set(tags.map(tag => tag.trim()).filter(tag => tag !== ''))],
  };
  writeAtomically(join(runFolder, FILES.label), `${JSON.stringify(kept)}\n`);
}

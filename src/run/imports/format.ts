/** What the importer must know of a foreign program's files, and how their values are read. Knows no program. */
import { FailureError } from '../../core/types.ts';
import { cut } from '../../core/wrap.ts';
import type { Sample } from './sample.ts';

/** One file of rollouts of one step. */
export interface StepFile {
  step: number;
  path: string;
}

export interface Format {
  source: string;
  /** The folder's files of rollouts, ascending by step; none where it is not of this format. Reads no content. */
  filesIn(folder: string): StepFile[];
  /** Whether a file that begins so is one of this format; `head` may end inside its first row. */
  begins(head: string): boolean;
  /** The rollouts of a row; throws a FailureError, without a place, where it lacks what makes it one. */
  samplesOf(row: Readonly<Record<string, unknown>>): Sample[];
}

export type Row = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const lacks = (what: string): FailureError =>
  new FailureError({ where: 'store', message: `the row ${what}` });

/** Numbers, truth values and texts of either as numbers: some writers turn all values into text. Undefined for the rest. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (value === 'True' || value === 'False') return Number(value === 'True');
  const number =
    typeof value === 'string' && value.trim() !== ''
      ? Number(value)
      : typeof value === 'number'
        ? value
        : NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** The accepted answers in a value of any shape: texts and numbers, in lists and fields too. */
export function answersIn(value: unknown): string[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap(answersIn);
  if (isRecord(value)) return Object.values(value).flatMap(answersIn);
  return [typeof value === 'string' ? value : JSON.stringify(value)];
}

/** What a row says beside its text and score, for a reader: short values only. */
export function aside(row: Row, left: readonly string[]): string {
  const said = Object.entries(row).flatMap(([name, value]) => {
    if (left.includes(name) || value === null || value === undefined) return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [`${name} ${cut(text, 120)}`];
  });
  return said.length === 0 ? '' : ` Logged beside it: ${said.join(', ')}.`;
}

/** What the program says it checked, and where each result points. Knows nothing of VS Code or of how things are checked. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../core/checkup.ts';
import { FailureError, type Tree } from '../core/types.ts';
import { pathsThrough } from '../core/tree.ts';
import { FILES } from '../run/layout.ts';
import { count, list, oneOf, optional, record, text } from '../run/shape.ts';

const checkup = record<{ checks: CheckResult[] }>({
  checks: list(
    record<CheckResult>({
      id: text,
      status: oneOf('ok', 'warning', 'error'),
      message: text,
      fix: optional(text),
      key: optional(text),
      file: optional(text),
      line: optional(count),
      tree: optional(text),
      path: optional(count),
      segment: optional(count),
      token: optional(count),
    }),
  ),
});

/** The results in the last line of what `check --json` printed; undefined where it printed none. */
export function readCheckup(out: string): CheckResult[] | undefined {
  const last = out.trimEnd().split('\n').at(-1)!;
  if (!last.startsWith('{')) return undefined;
  try {
    return checkup(JSON.parse(last), 'The check’s answer').checks;
  } catch (error) {
    const { message } = error as Error;
    throw new FailureError({ where: 'bug', message: `The check’s answer cannot be read: ${message}` });
  }
}

/** Where a result points: a key of a configuration, a line of a file (from 1), or something in a run's tree. */
export type CheckPlace =
  | { kind: 'key'; file: string; key: string }
  | { kind: 'line'; file: string; line: number }
  | ({ kind: 'tree'; runFolder: string; tree: string } & Pick<CheckResult, 'path' | 'segment' | 'token'>);

/** Every result has a place: one that names none is about the whole subject. */
export function placeOf(subject: string, result: CheckResult): CheckPlace {
  const { tree, path, segment, token, key, file, line } = result;
  const isRun = isFolder(subject);
  if (isRun && tree !== undefined)
    return {
      ...{ kind: 'tree', runFolder: subject, tree },
      ...(path !== undefined && { path }),
      ...(segment !== undefined && { segment }),
      ...(token !== undefined && { token }),
    };
  const own = isRun ? join(subject, FILES.manifest) : subject;
  if (file !== undefined && file !== subject && line !== undefined) return { kind: 'line', file, line };
  if (key !== undefined && !isRun) return { kind: 'key', file: subject, key };
  // A checkpoint is a folder, which no editor shows.
  if (file === undefined || isFolder(file)) return { kind: 'line', file: own, line: line ?? 1 };
  return { kind: 'line', file, line: line ?? 1 };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The trajectory to show a finding in, and the segment that it is about; undefined where the tree has none to show. */
export function trajectoryOf(
  tree: Tree,
  { path, segment, token }: Pick<CheckResult, 'path' | 'segment' | 'token'>,
): { path: number; segment?: number } | undefined {
  if (tree.segments.some(({ parent }, index) => parent >= index)) return undefined;
  const holds = ({ start, count }: { start: number; count: number }): boolean =>
    token !== undefined && token >= start && token < start + count;
  const within = segment ?? (token === undefined ? -1 : tree.segments.findIndex(holds));
  const through = within < 0 ? undefined : pathsThrough(tree)[within];
  const shown = through?.includes(path ?? -1) === true ? path : (through?.[0] ?? path ?? 0);
  if (shown === undefined || tree.paths[shown] === undefined) return undefined;
  return { path: shown, ...(within >= 0 && { segment: within }) };
}

/** What a check-up of a config or a run found, as the command line prints it and editors show it. Knows nothing of how it is found. */
import { counted } from './figures.ts';

/** `ok`: as it should be; `warning`: the run will work, but perhaps not as meant; `error`: it will not, or its data is broken. */
export type CheckStatus = 'ok' | 'warning' | 'error';

export interface CheckResult {
  /** What was looked at: data.rows, template, memory, … */
  id: string;
  status: CheckStatus;
  /** A sentence with the numbers. */
  message: string;
  fix?: string;
  /** Key of the config that it is about. */
  key?: string;
  /** Absolute path of the file that it is about, and the line in it, from 1. */
  file?: string;
  line?: number;
  /** A tree of the run, and the path, segment or token in it. */
  tree?: string;
  path?: number;
  segment?: number;
  token?: number;
}

type Extras = Omit<CheckResult, 'id' | 'status' | 'message'>;

export const ok = (id: string, message: string, extras: Extras = {}): CheckResult => ({
  ...{ id, status: 'ok', message },
  ...extras,
});
export const warning = (id: string, message: string, extras: Extras = {}): CheckResult => ({
  ...{ id, status: 'warning', message },
  ...extras,
});
export const wrong = (id: string, message: string, extras: Extras = {}): CheckResult => ({
  ...{ id, status: 'error', message },
  ...extras,
});

/** The first `most` results, and one in place of the others that counts them. */
export function upTo(most: number, results: readonly CheckResult[]): CheckResult[] {
  const [last] = results.slice(most);
  if (!last) return [...results];
  const { id, status } = last;
  return [
    ...results.slice(0, most),
    { id, status, message: `So it is in ${results.length - most} more places.` },
  ];
}

const MARKS: Readonly<Record<CheckStatus, string>> = { ok: '✓', warning: '!', error: '✗' };

/** A line for each check, its place and fix below it; and a last line that counts. */
export function checkupLines(checks: readonly CheckResult[]): string[] {
  const width = Math.max(...checks.map(({ id }) => id.length));
  const lines = checks.flatMap(({ id, status, message, fix, file, line }) => {
    const place =
      file === undefined || status === 'ok' ? '' : `${file}${line === undefined ? '' : `:${line}`} `;
    // A message that begins with its file goes on from the place.
    const said =
      place !== '' && file !== undefined && message.startsWith(file)
        ? message.slice(file.length).replace(/^[,:]? +/, '')
        : message;
    const head = `${MARKS[status]} ${id.padEnd(width)}  ${place}${said}`;
    return fix === undefined || status === 'ok' ? [head] : [head, `  ${' '.repeat(width)}  → ${fix}`];
  });
  return [...lines, '', countText(checks)];
}

/** How many results are as they should be, to look at and wrong: `6 checks, all ok`, `6 checks: 4 ok, 2 to look at`. */
export function countText(checks: readonly CheckResult[]): string {
  const count = (status: CheckStatus): number => checks.filter(check => check.status === status).length;
  const all = counted(checks.length, 'check');
  if (checks.length === 0) return all;
  if (count('ok') === checks.length) return `${all}, all ok`;
  const found = [
    [count('error'), 'wrong'],
    [count('warning'), 'to look at'],
    [count('ok'), 'ok'],
  ] as const;
  return `${all}: ${found.flatMap(([n, word]) => (n > 0 ? [`${n} ${word}`] : [])).join(', ')}`;
}

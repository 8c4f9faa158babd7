/**
 * Keeps counterfactuals in a run's folder, one sealed file each, apart from what was trained on, and reads them back. Knows nothing of
 * how one is grown; a reader sees a whole one or none.
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { isCounterfactual, type Counterfactual } from '../core/counterfactual.ts';
import type { TokenColumns, Tree } from '../core/types.ts';
import { FailureError } from '../core/types.ts';
import { makeFolder, removeInterrupted, statOf, writeNew } from './disk.ts';
import { FILES } from './layout.ts';
import { refuseNewer } from './manifest.ts';
import {
  count,
  isSealed,
  joined,
  number,
  oneOf,
  optional,
  parseLine,
  record,
  sealed,
  table,
  text,
} from './shape.ts';
import { columnsOf, encodeColumns, extentOf, treeText } from './trees.ts';
import { treeLine, type TreeLine } from './treeShape.ts';

/** A counterfactual with its tree as a line of trees.jsonl would have it, and the numbers of its tokens. */
export interface StoredCounterfactual {
  counterfactual: Counterfactual;
  tree: TreeLine;
  columns: TokenColumns;
}

const FORMAT = { major: 1, minor: 0 } as const;

type Stored = Omit<Counterfactual, 'tree'> & {
  format: { major: number; minor: number };
  tree: TreeLine;
  /** Base64 of the token columns, laid out as in tokens.bin. */
  columns: string;
};

const shape = record<Stored>({
  format: record<Stored['format']>({ major: count, minor: count }),
  id: text,
  trained: (value, place, name) => {
    if (value === false) return value;
    throw new FailureError({ where: 'store', message: `${joined(place, name)} should be false.` });
  },
  at: text,
  of: record<Counterfactual['of']>({ tree: text, path: count, segment: count, token: optional(count) }),
  result: optional(oneOf('edited', 'called again')),
  prefix: count,
  weights: record<Counterfactual['weights']>({ checkpoint: text, step: count, hash: text }),
  temperature: number,
  seed: count,
  seconds: number,
  versions: table(text),
  tree: treeLine,
  columns: text,
});

/** Gives it the next number of its tree and writes it whole, or throws and leaves nothing. */
export function writeCounterfactual(
  runFolder: string,
  given: Omit<Counterfactual, 'id' | 'trained'>,
  columns: TokenColumns,
): Counterfactual {
  const folder = join(runFolder, FILES.branches);
  makeFolder(folder);
  removeInterrupted(folder);
  for (let number = lastNumber(runFolder, given.of.tree) + 1; ; number++) {
    const id = `${given.of.tree}~${number}`;
    const counterfactual: Counterfactual = { id, trained: false, ...given, tree: { ...given.tree, id } };
    try {
      writeNew(join(folder, `${id}.json`), fileText(counterfactual, columns));
      return counterfactual;
    } catch (error) {
      // Another process took the number between the two calls.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Checked as a reader would: what cannot be read is not written. */
function fileText(counterfactual: Counterfactual, columns: TokenColumns): string {
  const tree: TreeLine = { ...counterfactual.tree, tokens: { offset: 0, ...extentOf(columns) } };
  const stored: Stored = {
    format: FORMAT,
    ...counterfactual,
    tree: JSON.parse(treeText(tree)) as TreeLine,
    columns: Buffer.from(encodeColumns(columns)).toString('base64'),
  };
  const json = JSON.stringify(stored);
  shape(JSON.parse(json), `Counterfactual ${counterfactual.id}`);
  return `${sealed(json)}\n`;
}

/** Ids of the counterfactuals of one tree, or of all, in the order in which they were made. */
export function counterfactualIds(runFolder: string, tree?: string): string[] {
  const folder = join(runFolder, FILES.branches);
  if (!statOf(folder)) return [];
  return fs
    .readdirSync(folder)
    .flatMap(name => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
    .filter(id => isCounterfactual(id) && (tree === undefined || treeOf(id) === tree))
    .sort((a, b) => treeOf(a).localeCompare(treeOf(b), 'en', { numeric: true }) || numberOf(a) - numberOf(b));
}

/** One counterfactual. Throws a FailureError with its file where there is none or it is not what was written. */
export function readCounterfactual(runFolder: string, id: string): StoredCounterfactual {
  const path = join(runFolder, FILES.branches, `${id}.json`);
  const broken = (message: string): FailureError =>
    new FailureError({
      where: 'store',
      message: `${path} ${message}`,
      fix: 'Remove it, or restore it from a copy.',
    });
  if (!isCounterfactual(id) || !statOf(path)) throw broken('does not exist.');
  const whole = fs.readFileSync(path, 'utf8');
  if (!whole.endsWith('\n') || !isSealed(whole.trimEnd()))
    throw broken('is not what was written: its end, with the checksum, is missing.');
  const json = parseLine({ text: whole.slice(0, -1), offset: 0 }, path);
  refuseNewer(json, path);
  const { format: _, columns, ...counterfactual } = shape(json, path);
  const bytes = Buffer.from(columns, 'base64');
  const { tree } = counterfactual;
  const notHeld = (why: string): FailureError => broken(`does not hold its tokens: ${why}`);
  return { counterfactual, tree, columns: columnsOf(bytes, tree.tokens, notHeld) };
}

/** All counterfactuals of a tree that can be read, and what is wrong with the others. */
export function readCounterfactuals(
  runFolder: string,
  tree: string,
): { counterfactuals: Counterfactual[]; failures: FailureError['failure'][] } {
  const counterfactuals: Counterfactual[] = [];
  const failures: FailureError['failure'][] = [];
  for (const id of counterfactualIds(runFolder, tree))
    try {
      counterfactuals.push(readCounterfactual(runFolder, id).counterfactual);
    } catch (error) {
      if (!(error instanceof FailureError)) throw error;
      failures.push(error.failure);
    }
  return { counterfactuals, failures };
}

const lastNumber = (runFolder: string, tree: Tree['id']): number =>
  Math.max(0, ...counterfactualIds(runFolder, tree).map(numberOf));

const treeOf = (id: string): string => id.slice(0, id.indexOf('~'));
const numberOf = (id: string): number => Number(id.slice(id.indexOf('~') + 1));

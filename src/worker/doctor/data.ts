/** Looks at a config's tasks: what is no task, what is there twice, what can be learned from. Knows nothing of tokens. */
import { extname } from 'node:path';
import { ok, upTo, warning, wrong, type CheckResult } from '../../core/checkup.ts';
import type { Config } from '../../core/config.ts';
import { countBy } from '../../core/countBy.ts';
import { whole } from '../../core/figures.ts';
import { FailureError, type Failure, type Task } from '../../core/types.ts';
import { readDataset, type Dataset } from '../dataset.ts';

/** Rows that are named one by one. */
const NAMED = 10;

export interface CheckedData {
  results: CheckResult[];
  train?: Dataset;
  heldOut?: Dataset;
}

export async function checkData(config: Config): Promise<CheckedData> {
  const train = await fileOf('data.train', config.data.train, config);
  const heldOut =
    config.data.heldOut === '' ? undefined : await fileOf('data.heldOut', config.data.heldOut, config);
  const both = train.dataset && heldOut?.dataset;
  return {
    results: [
      ...train.results,
      ...(heldOut?.results ?? []),
      ...(both ? [overlap(train.dataset!.tasks, both.tasks)] : []),
    ],
    ...(train.dataset && { train: train.dataset }),
    ...(heldOut?.dataset && { heldOut: heldOut.dataset }),
  };
}

/** One file's tasks and what is to be said of them; no tasks where it cannot be read. */
async function fileOf(
  key: string,
  file: string,
  { data }: Config,
): Promise<{ results: CheckResult[]; dataset?: Dataset }> {
  try {
    const read = await readDataset(file, data);
    return { results: fileResults(key, file, read), dataset: read.dataset };
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    const { message, fix } = error.failure;
    return { results: [wrong(key, message, { key, file, ...(fix !== undefined && { fix }) })] };
  }
}

function fileResults(
  key: string,
  file: string,
  { dataset, problems }: { dataset: Dataset; problems: readonly Failure[] },
): CheckResult[] {
  const { tasks, warnings } = dataset;
  const abilities = Object.entries(countBy(tasks.map(({ ability }) => ability || 'no ability')));
  const kinds = abilities.map(([ability, count]) => `${whole(count)} ${ability}`).join(', ');
  const broken = problems.map(({ message, fix }) =>
    wrong(key, message, { key, file, ...lineOf(file, message), ...(fix !== undefined && { fix }) }),
  );
  const doubts = warnings.map(({ message, fix }) =>
    warning(key, message, { key, file, ...(fix !== undefined && { fix }) }),
  );
  const rows =
    problems.length === 0 ? [ok(key, `${whole(tasks.length)} tasks are read: ${kinds}.`, { key, file })] : [];
  return [...rows, ...upTo(NAMED, broken), ...doubts, ...duplicates(key, file, tasks)];
}

/** Rows of JSON Lines are lines; those of Parquet have no line. */
function lineOf(file: string, message: string): { line?: number } {
  const row = /, row (\d+)/.exec(message)?.[1];
  return row === undefined || extname(file) === '.parquet' ? {} : { line: Number(row) };
}

/** Prompts that are there more than once; worse where their answers differ. */
function duplicates(key: string, file: string, tasks: readonly Task[]): CheckResult[] {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) groups.set(asked(task), [...(groups.get(asked(task)) ?? []), task]);
  const repeated = [...groups.values()].filter(({ length }) => length > 1);
  if (repeated.length === 0) return [ok(`${key}.duplicates`, 'No prompt is there twice.')];
  const torn = repeated.filter(
    group => new Set(group.map(({ references }) => references.join('\0'))).size > 1,
  );
  const [example] = torn.length > 0 ? torn : repeated;
  const names = example!.slice(0, 2).map(({ id }) => id);
  const message = `${repeated.length} prompts are there more than once, ${torn.length} of them with different answers; such as ${names.join(' and ')}.`;
  return [
    warning(`${key}.duplicates`, message, {
      key,
      file,
      fix: 'Leave the repeated rows out, or give them all their answers as a list.',
    }),
  ];
}

function overlap(train: readonly Task[], heldOut: readonly Task[]): CheckResult {
  const known = new Set(train.map(asked));
  const shared = heldOut.filter(task => known.has(asked(task)));
  if (shared.length === 0) return ok('data.overlap', 'No held-out prompt is trained on.');
  return warning(
    'data.overlap',
    `${shared.length} of ${heldOut.length} held-out prompts are trained on too, such as ${shared[0]!.id}.`,
    {
      key: 'data.heldOut',
      fix: 'Leave them out of one of the two files, or the evaluation measures memory.',
    },
  );
}

const asked = ({ messages }: Task): string => JSON.stringify(messages);

/** `export RUN --sft FILE`: a run's right trajectories as demonstrations. Knows nothing of how demonstrations are learned. */
import { resolve } from 'node:path';
import { responseText } from '../core/tree.ts';
import { FailureError, type Task, type Tree } from '../core/types.ts';
import { writeAtomically } from '../run/disk.ts';
import {
  numberOption,
  textOption,
  UsageError,
  writeJson,
  type Call,
  type ExitCode,
  type Io,
} from './commandLine.ts';
import { openDataset } from './dataset.ts';
import { ownRunOf } from './launch.ts';

/** A right trajectory, as a row of the file. */
export interface ExportedRow {
  /** Tree and path. */
  id: string;
  task: string;
  reward: number;
  conversations: { from: 'system' | 'human' | 'gpt'; value: string }[];
}

const SPEAKERS = { system: 'system', user: 'human', assistant: 'gpt' } as const;

export async function exportCommand(call: Call, io: Io): Promise<ExitCode> {
  const file = textOption(call, 'sft');
  if (file === undefined)
    throw new UsageError('export needs --sft FILE: the file that demonstrations are written to.');
  const each = numberOption(call, 'each', 1) ?? 1;
  const run = ownRunOf(call);
  const { data } = run.manifest.config;
  const tasks = new Map((await openDataset(data.train, data)).tasks.map(task => [task.id, task]));
  const rows: ExportedRow[] = [];
  for (const { id } of await run.trees()) rows.push(...rightRows(await run.tree(id), tasks));
  const chosen = best(rows, each);
  writeAtomically(resolve(file), chosen.map(row => `${JSON.stringify(row)}\n`).join(''));
  io.out.write(`${chosen.length} of ${rows.length} right trajectories are in ${resolve(file)}\n`);
  writeJson(call, io, { file: resolve(file), written: chosen.length, right: rows.length });
  return 0;
}

/** Trajectories that ended by a right answer, behind their task's messages. */
function rightRows(tree: Tree, tasks: ReadonlyMap<string, Task>): ExportedRow[] {
  const task = tasks.get(tree.task.id);
  if (!task)
    throw new FailureError({
      where: 'config',
      message: `The dataset has no task ${tree.task.id}, which tree ${tree.id} grew from.`,
      fix: 'Restore the data that the run began with.',
    });
  const said = task.messages.map(({ role, content }) => ({ from: SPEAKERS[role], value: content }));
  return tree.paths.flatMap(({ reward, stop }, path): ExportedRow[] =>
    reward?.correct && stop === 'answer'
      ? [
          {
            ...{ id: `${tree.id}/${path}`, task: task.id, reward: reward.total },
            conversations: [...said, { from: 'gpt', value: responseText(tree, path) }],
          },
        ]
      : [],
  );
}

/** At most so many of each task, no text twice, the highest reward first and then the earliest. */
export function best(rows: readonly ExportedRow[], each: number): ExportedRow[] {
  const byTask = new Map<string, ExportedRow[]>();
  for (const row of [...rows].sort((a, b) => b.reward - a.reward)) {
    const chosen = byTask.get(row.task) ?? [];
    const text = row.conversations.at(-1)!.value;
    const isNew = chosen.every(({ conversations }) => conversations.at(-1)!.value !== text);
    if (isNew && chosen.length < each) byTask.set(row.task, [...chosen, row]);
  }
  return [...byTask.values()].flat();
}
